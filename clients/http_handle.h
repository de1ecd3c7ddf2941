/* Shared by the files of the HTTP client. */
#ifndef TIDEMARK_CLIENTS_HTTP_HANDLE_H
#define TIDEMARK_CLIENTS_HTTP_HANDLE_H

#include <curl/curl.h>
#include <stdatomic.h>

#include "clients/http.h"
#include "clients/http_options.h"
#include "core/base/pool.h"

struct http {
	struct pool_slot slot; /* zeroed: it never rests */
	CURLM *multi;
	CURL *easy;
	struct http_options options;
	char *shown;
	struct http_pack *pack; /* since a body was packed */
	char detail[CURL_ERROR_SIZE];
	atomic_bool interrupted;
	bool heeds_stop; /* nobody can interrupt it yet */
	/* The transfer under way. */
	const struct http_request *request;
	struct http_response *response;
	struct curl_slist *headers;
	struct strbuf waiting;
	size_t taken; /* bytes of `waiting` */
	struct error failed; /* from the request's source or a callback */
	CURLcode result;
	bool active, over, head, paused;
};

#endif

#include "clients/http_errors.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"

#define EXCERPT_BYTES 300

/* A result in no row is UNKNOWN: it is tried again, but fewer times. */
static const struct {
	CURLcode result;
	enum error_code code;
} http_results[] = {
	{ CURLE_COULDNT_RESOLVE_PROXY, ERROR_TRANSIENT },
	{ CURLE_COULDNT_RESOLVE_HOST, ERROR_TRANSIENT },
	{ CURLE_COULDNT_CONNECT, ERROR_TRANSIENT },
	{ CURLE_OPERATION_TIMEDOUT, ERROR_TRANSIENT },
	{ CURLE_GOT_NOTHING, ERROR_TRANSIENT },
	{ CURLE_SEND_ERROR, ERROR_TRANSIENT },
	{ CURLE_RECV_ERROR, ERROR_TRANSIENT },
	{ CURLE_SEND_FAIL_REWIND, ERROR_TRANSIENT },
	{ CURLE_PARTIAL_FILE, ERROR_TRANSIENT },
	{ CURLE_SSL_CONNECT_ERROR, ERROR_TRANSIENT },
	{ CURLE_PEER_FAILED_VERIFICATION, ERROR_ACCESS },
	{ CURLE_SSL_CERTPROBLEM, ERROR_ACCESS },
	{ CURLE_SSL_CACERT_BADFILE, ERROR_ACCESS },
	{ CURLE_SSL_ISSUER_ERROR, ERROR_ACCESS },
	{ CURLE_SSL_CIPHER, ERROR_ACCESS },
	{ CURLE_WEIRD_SERVER_REPLY, ERROR_ACCESS },
	{ CURLE_UNSUPPORTED_PROTOCOL, ERROR_ACCESS },
	{ CURLE_BAD_CONTENT_ENCODING, ERROR_ACCESS },
	{ CURLE_URL_MALFORMAT, ERROR_CONFIG },
};

int http_fail(struct error *err, const char *shown, int result,
	      const char *detail)
{
	enum error_code code = ERROR_UNKNOWN;

	/* Also what libcurl says of a header beyond 100 KiB. */
	if (result == CURLE_OUT_OF_MEMORY)
		return error_set(err, ERROR_ACCESS,
				 "%s: its answer's head is too long, or there "
				 "is no memory for it",
				 shown);
	for (size_t i = 0; i < ARRAY_SIZE(http_results); i++) {
		if ((int)http_results[i].result == result)
			code = http_results[i].code;
	}
	return error_set(err, code, "%s: %s", shown,
			 *detail ? detail
				 : curl_easy_strerror((CURLcode)result));
}

enum error_code http_status_class(long status)
{
	switch (status) {
	case 401:
	case 403:
	case 404:
	case 407:
	case 507:
		return ERROR_ACCESS;
	case 408:
	case 425:
	case 429:
		return ERROR_TRANSIENT;
	case 413:
		return ERROR_DATA;
	case 501:
	case 505:
		return ERROR_UNKNOWN;
	default:
		break;
	}
	/* A peer that does not speak HTTP is not the server that is meant. */
	if ((status >= 300 && status < 400) || status < 100 || status >= 600)
		return ERROR_ACCESS;
	return status >= 500 && status < 600 ? ERROR_TRANSIENT : ERROR_UNKNOWN;
}

/* On one line, and as text whatever it was. */
static void http_flatten(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (iscntrl((unsigned char)text[i]))
			text[i] = isspace((unsigned char)text[i]) ? ' ' : '?';
	}
	utf8_repair(text);
	while (n && text[n - 1] == ' ')
		text[--n] = '\0';
}

void http_add_excerpt(struct strbuf *sb, const char *text, size_t n,
		      size_t most)
{
	/* One character more than is shown, so that none is cut. */
	size_t kept = n > most + 4 ? most + 4 : n;
	char *copy = xcalloc(kept + 1, 1);

	if (kept)
		memcpy(copy, text, kept);
	http_flatten(copy, kept);
	kept = strlen(copy);
	if (kept <= most) {
		strbuf_add(sb, copy, kept);
	} else {
		strbuf_add(sb, copy, utf8_cut(copy, most));
		strbuf_addstr(sb, "...");
	}
	free(copy);
}

static const char *http_advice(long status)
{
	if (status >= 300 && status < 400)
		return " (a redirect, which is not followed)";
	if (status == 413)
		return " (more at once than it, or a proxy before it, lets "
		       "through: lower batch.bytes)";
	return "";
}

int http_check(const struct http *h, const struct http_response *r,
	       struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	if (r->status >= 200 && r->status < 300)
		return 0;
	http_add_excerpt(&text, r->body.data, r->body.len, EXCERPT_BYTES);
	rc = error_set(err, http_status_class(r->status),
		       "%s answers HTTP %ld%s%s%s", http_shown(h), r->status,
		       http_advice(r->status), text.len ? ": " : "", text.data);
	if (err)
		snprintf(err->server_code, sizeof(err->server_code), "%ld",
			 r->status);
	strbuf_release(&text);
	return rc;
}

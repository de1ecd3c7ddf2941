/* libcurl's failures as struct error. */
#ifndef TIDEMARK_CLIENTS_HTTP_ERRORS_H
#define TIDEMARK_CLIENTS_HTTP_ERRORS_H

#include "core/base/error.h"

/* `result`: a CURLcode other than CURLE_OK; `detail`: libcurl's own words, or
 * "". */
int http_fail(struct error *err, const char *shown, int result,
	      const char *detail);

#endif

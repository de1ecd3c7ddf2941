#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/serve/notify_parts.h"

static int notify_post(const struct notify_settings *to, post_function post,
		       const char *text, struct error *err)
{
	const size_t n = strlen(text);
	const char *headers[] = { "Content-Type: application/json", NULL,
				  NULL };
	const struct post wanted = { .url = to->webhook,
				     .headers = headers,
				     .body = text,
				     .n = n,
				     .timeout_us = to->timeout_us,
				     .ca = to->ca };
	char hex[HMAC_HEX_SIZE], *signature = NULL;
	int rc = 0;

	if (to->secret && *to->secret) {
		rc = hmac_hex(hex, to->secret, text, n, err);
		if (!rc)
			headers[1] = signature =
				xstrfmt("X-Tidemark-Signature: sha256=%s", hex);
	}
	if (!rc)
		rc = post(&wanted, err);
	free(signature);
	return rc;
}

int notify_send(const struct notify_settings *to, post_function post,
		const char *text, struct error *err)
{
	return to->webhook ? notify_post(to, post, text, err)
			   : notify_command(to, text, err);
}

#include "destinations/common/connection.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void connection_copy(struct connection *dst, const struct connection *src)
{
	*dst = *src;
	dst->name = xstrdup(src->name);
	dst->password = xstrdup(src->password);
	dst->tls_ca = xstrdup(src->tls_ca);
	dst->tls_cert = xstrdup(src->tls_cert);
	dst->tls_key = xstrdup(src->tls_key);
	url_copy(&dst->url, &src->url);
}

void connection_release(struct connection *c)
{
	free(c->name);
	free(c->password);
	free(c->tls_ca);
	free(c->tls_cert);
	free(c->tls_key);
	url_release(&c->url);
	memset(c, 0, sizeof(*c));
}

const char *connection_no_session(struct destination *d)
{
	(void)d;
	return "";
}

#include "core/base/pool_count.h"

#include <string.h>

static void pool_key_add(struct strbuf *key, const char *part)
{
	strbuf_addf(key, "%zu:%s", part ? strlen(part) + 1 : 0,
		    part ? part : "");
}

void pool_key(struct strbuf *key, const struct connection *conn)
{
	pool_key_add(key, conn->name);
	pool_key_add(key, conn->url.text);
	pool_key_add(key, conn->password);
	pool_key_add(key, conn->tls_ca);
	pool_key_add(key, conn->tls_cert);
	pool_key_add(key, conn->tls_key);
	strbuf_addf(key, "%d %lld %lld %d ", (int)conn->tls_mode,
		    (long long)conn->connect_timeout_us,
		    (long long)conn->silence_timeout_us, conn->look);
}

/* A server without room for one more is asked again for a moment. */
static int pool_open_new(void **out, const struct pool_client *client,
			 const struct connection *conn, const char *key,
			 struct pool_slot *slot, void *ctx, struct error *err)
{
	struct error why = ERROR_INIT;
	int64_t until_us = 0;
	int rc;

	while ((rc = client->open(out, slot, ctx, &why)) &&
	       pool_is_full(&why) && pool_full(conn, &until_us)) {
		error_clear(&why);
		pool_replace(slot, conn, key);
	}
	if (rc && err && !err->code)
		*err = why;
	return rc;
}

int pool_open(void **out, const struct pool_client *client,
	      const struct connection *conn, const char *key, bool replaces,
	      void *ctx, struct error *err)
{
	struct pool_slot slot = { .key = NULL };
	void *rested = NULL;
	int rc = 0;

	if (replaces)
		pool_replace(&slot, conn, key);
	else
		rc = pool_take(&slot, conn, key, &rested, err);
	while (!rc && rested && !client->rouse(rested, ctx)) {
		client->end(rested);
		rc = pool_take(&slot, conn, key, &rested, err);
	}
	if (rc)
		return rc;
	if (!rested)
		return pool_open_new(out, client, conn, key, &slot, ctx, err);
	*out = rested;
	return 0;
}

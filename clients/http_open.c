#include <pthread.h>
#include <stdlib.h>

#include "clients/http_handle.h"
#include "clients/http_pack.h"
#include "core/base/alloc.h"
#include "core/base/stop.h"

static pthread_once_t http_once = PTHREAD_ONCE_INIT;

static void http_global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		alloc_die();
}

static struct http *http_new(const struct http_options *options,
			     const char *shown)
{
	struct http *h = xcalloc(1, sizeof(*h));

	pthread_once(&http_once, http_global_init);
	h->options = *options;
	h->shown = xstrdup(shown);
	strbuf_init(&h->waiting);
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	if (!h->multi || !h->easy)
		alloc_die();
	return h;
}

static void http_free(void *handle)
{
	struct http *h = handle;

	curl_easy_cleanup(h->easy);
	curl_multi_cleanup(h->multi);
	pool_leave(&h->slot);
	http_options_release(&h->options);
	free(h->shown);
	free(h);
}

struct http_wish {
	const struct connection *conn;
	const char *base, *shown;
};

static int http_open_new(void **out, struct pool_slot *slot, void *ctx,
			 struct error *err)
{
	const struct http_wish *wish = ctx;
	struct http_options options;
	struct http *h;
	int rc = http_options_init(&options, wish->conn, wish->base,
				   wish->shown, err);

	if (rc) {
		pool_leave(slot);
		return rc;
	}
	h = http_new(&options, wish->shown);
	h->slot = *slot;
	*out = h;
	return 0;
}

static bool http_is_fit(void *handle, void *ctx)
{
	(void)handle;
	(void)ctx;
	return true;
}

int http_open(struct http **out, const struct connection *conn,
	      const char *base, const char *shown, struct error *err)
{
	static const struct pool_client client = { http_is_fit, http_open_new,
						   http_free };
	struct http_wish wish = { conn, base, shown };
	struct strbuf key = STRBUF_INIT;
	void *session = NULL;
	int rc;

	pool_key(&key, conn);
	strbuf_addf(&key, "http %s %s", base, shown);
	rc = pool_open(&session, &client, conn, key.data, false, &wish, err);
	strbuf_release(&key);
	if (!rc)
		*out = session;
	return rc;
}

int http_open_apart(struct http **out, const struct connection *conn,
		    const char *base, const char *shown, struct error *err)
{
	struct http_options options;
	int rc = http_options_init(&options, conn, base, shown, err);

	if (!rc)
		*out = http_new(&options, shown);
	return rc;
}

int http_open_metadata(struct http **out, const struct connection *conn,
		       const char *host, const char *shown, struct error *err)
{
	struct http_options options;
	int rc = http_options_init_metadata(&options, conn, host, shown, err);

	if (!rc)
		*out = http_new(&options, shown);
	return rc;
}

/* Connections are kept. libcurl looks whether one is alive before it uses it
 * again. Nothing of the last user stays: a request brings its own headers. */
void http_close(struct http *h)
{
	if (!h)
		return;
	http_end(h);
	strbuf_release(&h->waiting);
	http_pack_free(h->pack);
	h->pack = NULL;
	h->heeds_stop = false;
	h->request = NULL;
	h->response = NULL;
	if (h->slot.key && !atomic_load(&h->interrupted) && !stop_requested())
		pool_give(&h->slot, h, http_free);
	else
		http_free(h);
}

void http_interrupt(struct http *h)
{
	atomic_store(&h->interrupted, true);
	curl_multi_wakeup(h->multi);
}

void http_heed_stop(struct http *h, bool on)
{
	h->heeds_stop = on;
}

const char *http_shown(const struct http *h)
{
	return h->shown;
}

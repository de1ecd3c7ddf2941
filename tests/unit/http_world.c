#include "tests/unit/http_world.h"

#include "core/base/clock.h"
#include "tests/unit/unit.h"

void world_open(struct world *w, const struct peer_answer *answers,
		int64_t silence_us)
{
	struct connection conn = { .connect_timeout_us = 5 * US_PER_SECOND,
				   .silence_timeout_us = silence_us };
	char *base;

	memset(w, 0, sizeof(*w));
	peer_start(&w->peer, answers);
	http_response_init(&w->response);
	base = xstrfmt("http://127.0.0.1:%u", w->peer.port);
	assert_int_equal(http_open(&w->http, &conn, base, "the peer", &w->err),
			 0);
	free(base);
}

void world_leave(struct world *w)
{
	http_close(w->http);
	peer_stop(&w->peer);
}

void world_close(struct world *w)
{
	http_response_release(&w->response);
	peer_release(&w->peer);
}

int world_do(struct world *w, const char *method, const char *body)
{
	struct http_request request = { .method = method,
					.path = "/x?y=1",
					.body = body,
					.n_body = body ? strlen(body) : 0 };

	return http_do(w->http, &request, 1000, &w->response, &w->err);
}

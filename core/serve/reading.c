#include "core/serve/reading.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/alloc.h"

struct reading {
	const struct serve_options *options;
	enum serve_reading why;
	pthread_t thread;
	struct generation *g; /* NULL: see `error` */
	struct error error;
	atomic_bool over;
};

static void *reading_main(void *arg)
{
	struct reading *r = arg;

	r->g = generation_new();
	if (r->options->read(r->options->ctx, r->why, r->g, &r->error)) {
		generation_leave(r->g);
		r->g = NULL;
	}
	atomic_store(&r->over, true);
	return NULL;
}

struct reading *reading_begin(const struct serve_options *options,
			      enum serve_reading why)
{
	struct reading *r = xcalloc(1, sizeof(*r));

	r->options = options;
	r->why = why;
	if (!pthread_create(&r->thread, NULL, reading_main, r))
		return r;
	free(r);
	return NULL;
}

enum serve_reading reading_why(const struct reading *r)
{
	return r->why;
}

bool reading_is_over(struct reading *r)
{
	return atomic_load(&r->over);
}

struct generation *reading_end(struct reading *r, struct error *err)
{
	struct generation *g;

	pthread_join(r->thread, NULL);
	g = r->g;
	*err = r->error;
	free(r);
	return g;
}

#include "core/sync/parts/foresight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Pipelines at one end: those nobody has asked about, in order, and those that
 * somebody is asking about. */
struct foresight_list {
	const struct pipeline_settings **left, **asked;
	size_t n_left, n_asked;
};

struct foresight {
	pthread_mutex_t lock;
	pthread_cond_t told;
	struct foresight_list lists[2]; /* enum foresight_end */
};

struct foresight *
foresight_new(const struct pipeline_settings *const *pipelines, size_t n)
{
	struct foresight *f = xcalloc(1, sizeof(*f));

	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->told, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(f->lists); i++) {
		struct foresight_list *l = &f->lists[i];

		l->left = xcalloc(n ? n : 1, sizeof(*l->left));
		l->asked = xcalloc(n ? n : 1, sizeof(*l->asked));
		l->n_left = n;
		if (n)
			memcpy(l->left, pipelines, n * sizeof(*l->left));
	}
	return f;
}

void foresight_free(struct foresight *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(f->lists); i++) {
		free(f->lists[i].left);
		free(f->lists[i].asked);
	}
	pthread_cond_destroy(&f->told);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static bool foresight_has(const struct pipeline_settings *const *list, size_t n,
			  const struct pipeline_settings *p, size_t *at)
{
	for (*at = 0; *at < n; ++*at)
		if (list[*at] == p)
			return true;
	return false;
}

static const struct connection *
foresight_connection(const struct pipeline_settings *p, enum foresight_end end)
{
	return end == FORESIGHT_SOURCE ? p->source : p->destination;
}

/* Keep those that are not taken, in their order. */
static size_t foresight_split(struct foresight_list *l, enum foresight_end end,
			      size_t at, const struct pipeline_settings **out)
{
	const struct connection *c = foresight_connection(l->left[at], end);
	size_t n = 0, kept = at;

	for (size_t i = at; i < l->n_left; i++) {
		const struct pipeline_settings *p = l->left[i];

		if (n < FORESIGHT_MOST && foresight_connection(p, end) == c) {
			out[n++] = p;
			l->asked[l->n_asked++] = p;
		} else {
			l->left[kept++] = p;
		}
	}
	l->n_left = kept;
	return n;
}

static void foresight_forget(struct foresight_list *l,
			     const struct pipeline_settings *p)
{
	size_t at;

	if (foresight_has(l->asked, l->n_asked, p, &at))
		l->asked[at] = l->asked[--l->n_asked];
}

size_t foresight_take(struct foresight *f, enum foresight_end end,
		      const struct pipeline_settings *p,
		      const struct pipeline_settings **out)
{
	struct foresight_list *l = f ? &f->lists[end] : NULL;
	size_t at, n = 0;

	if (!f)
		return 0;
	pthread_mutex_lock(&f->lock);
	while (foresight_has(l->asked, l->n_asked, p, &at))
		pthread_cond_wait(&f->told, &f->lock);
	if (foresight_has(l->left, l->n_left, p, &at))
		n = foresight_split(l, end, at, out);
	if (n == 1)
		foresight_forget(l, p);
	pthread_mutex_unlock(&f->lock);
	return n > 1 ? n : 0;
}

void foresight_told(struct foresight *f, enum foresight_end end,
		    const struct pipeline_settings *const *taken, size_t n)
{
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < n; i++)
		foresight_forget(&f->lists[end], taken[i]);
	pthread_cond_broadcast(&f->told);
	pthread_mutex_unlock(&f->lock);
}

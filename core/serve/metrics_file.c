#include "core/serve/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/by_name.h"
#include "core/base/clock.h"
#include "core/base/new_file.h"
#include "core/serve/metrics.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

/* Under its name, for settings may be read anew. */
struct metrics_sum {
	char *name;
	struct meter meter;
};

struct metrics_file {
	char *path;
	pthread_mutex_t lock; /* guards the sums */
	struct metrics_sum *sums;
	size_t n, capacity;
};

static int metrics_file_fail(const char *path, enum error_code code,
			     struct error *err)
{
	return error_set(err, code, "the metrics file %s cannot be written: %s",
			 path, strerror(errno));
}

static int metrics_file_put(const char *path, const char *text, size_t n)
{
	char *made = new_file_beside(path);
	int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int rc = -1, why;

	if (fd >= 0 && !fchmod(fd, 0644) && write(fd, text, n) == (ssize_t)n &&
	    (!n || !rename(made, path)))
		rc = 0;
	why = rc && !errno ? ENOSPC : errno;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && (rc || !n))
		unlink(made);
	free(made);
	errno = why;
	return rc;
}

/* Tried without touching what is there. */
static int metrics_file_check(const char *path, struct error *err)
{
	struct stat st;

	if (!*path || path[strlen(path) - 1] == '/')
		return error_set(err, ERROR_CONFIG,
				 "--metrics-file: \"%s\" is no name of a file",
				 path);
	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return error_set(err, ERROR_CONFIG,
				 "--metrics-file: %s is there, and is no plain "
				 "file; it would be replaced",
				 path);
	errno = 0;
	return metrics_file_put(path, "", 0)
		       ? metrics_file_fail(path, ERROR_CONFIG, err)
		       : 0;
}

int metrics_file_new(struct metrics_file **out, const char *path,
		     struct error *err)
{
	int rc = metrics_file_check(path, err);

	if (rc)
		return rc;
	*out = xcalloc(1, sizeof(**out));
	(*out)->path = xstrdup(path);
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

void metrics_file_free(struct metrics_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		free(f->sums[i].name);
	free(f->sums);
	free(f->path);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static const char *metrics_file_name(const void *list, size_t i)
{
	const struct metrics_file *f = list;

	return f->sums[i].name;
}

/* Lock held. The one of that name, which is added if there is none. */
static struct meter *metrics_file_meter(struct metrics_file *f,
					const char *name)
{
	size_t at;

	if (by_name_find(name, f, f->n, metrics_file_name, &at))
		return &f->sums[at].meter;
	f->sums = xgrow(f->sums, &f->capacity, f->n + 1, sizeof(*f->sums));
	memmove(&f->sums[at + 1], &f->sums[at], (f->n - at) * sizeof(*f->sums));
	f->n++;
	f->sums[at] = (struct metrics_sum){ .name = xstrdup(name) };
	return &f->sums[at].meter;
}

void metrics_file_follow(struct metrics_file *f,
			 const struct run_result *so_far)
{
	pthread_mutex_lock(&f->lock);
	meter_follow(metrics_file_meter(f, so_far->pipeline->name), so_far);
	pthread_mutex_unlock(&f->lock);
}

void metrics_file_ended(struct metrics_file *f, const struct run_result *r)
{
	pthread_mutex_lock(&f->lock);
	meter_end(metrics_file_meter(f, r->pipeline->name), r);
	pthread_mutex_unlock(&f->lock);
}

/* A store that does not answer is no reason to tell nothing. */
static void metrics_file_look(struct metrics_file *f, struct board_item *item,
			      struct store *store)
{
	const struct pipeline_settings *p = item->p;

	pthread_mutex_lock(&f->lock);
	item->meter = *metrics_file_meter(f, p->name);
	pthread_mutex_unlock(&f->lock);
	if (!store)
		return;
	status_look(p, store,
		    p->schedule.said
			    ? schedule_interval(&p->schedule, clock_now_us())
			    : 0,
		    &item->status);
	item->known = item->status.health_known;
	if (!item->known)
		status_result_release(&item->status);
}

int metrics_file_write(struct metrics_file *f, const struct settings *s,
		       const struct pipeline_settings *const *pipelines,
		       size_t n, struct error *err)
{
	struct board_item *items = xcalloc(n + 1, sizeof(*items));
	struct strbuf text = STRBUF_INIT;
	struct error ignored = ERROR_INIT;
	struct store *store = NULL;
	const struct board_view view = { .items = items, .n = n };
	int rc = 0;

	if (state_look(s->state, &store, &ignored))
		store = NULL;
	for (size_t i = 0; i < n; i++) {
		items[i].p = pipelines[i];
		metrics_file_look(f, &items[i], store);
	}
	metrics_write(&text, METRICS_PROMETHEUS, &view);
	errno = 0;
	if (metrics_file_put(f->path, text.data, text.len))
		rc = metrics_file_fail(f->path, ERROR_ACCESS, err);
	for (size_t i = 0; i < n; i++)
		if (items[i].known)
			status_result_release(&items[i].status);
	store_close(store);
	strbuf_release(&text);
	free(items);
	return rc;
}

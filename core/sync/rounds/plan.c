#include "core/sync/rounds/plan.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/alloc.h"
#include "core/base/by_name.h"
#include "core/base/engine.h"
#include "core/base/file_id.h"
#include "core/base/log.h"
#include "core/store/leases.h"

/* Open files of a pipeline that runs: its sessions or the files of a database,
 * and pipes. */
#define PLAN_FILES_EACH 8
/* The rest: the state store, modules, whatever is opened for a moment. */
#define PLAN_FILES_ASIDE 16

static char *plan_file(const struct connection *c)
{
	const struct url *url = &c->url;

	return engine_has(url->engine, ENGINE_FILE) && url->path
		       ? file_id(url->path)
		       : NULL;
}

/* Without a file it is the place that the URL names. */
static char *plan_target(const struct connection *c)
{
	char *file = plan_file(c);

	if (file || !engine_has(c->url.engine, ENGINE_ONE_WRITER))
		return file;
	return xstrdup(c->url.shown);
}

struct plan_started {
	const struct pipeline_settings *const *pipelines;
	struct job_need *needs;
	size_t *by_name; /* places, in the order of the names */
	size_t n;
};

static int plan_compare(const void *a, const void *b, void *ctx)
{
	const struct plan_started *s = ctx;

	return strcmp(s->pipelines[*(const size_t *)a]->name,
		      s->pipelines[*(const size_t *)b]->name);
}

static const char *plan_name(const void *list, size_t i)
{
	const struct plan_started *s = list;

	return s->pipelines[s->by_name[i]]->name;
}

static void plan_note(void *ctx, const char *name, int64_t at, bool broken)
{
	const struct plan_started *s = ctx;
	size_t place;

	(void)broken;
	if (by_name_find(name, s, s->n, plan_name, &place))
		s->needs[s->by_name[place]].last_us = at;
}

static void plan_find_starts(struct job_need *needs,
			     const struct pipeline_settings *const *pipelines,
			     size_t n, struct store *store)
{
	struct plan_started s = { pipelines, needs,
				  xcalloc(n, sizeof(*s.by_name)), n };
	struct error ignored = ERROR_INIT;

	for (size_t i = 0; i < n; i++)
		s.by_name[i] = i;
	qsort_r(s.by_name, n, sizeof(*s.by_name), plan_compare, &s);
	if (store_lease_starts(store, plan_note, &s, &ignored))
		log_debug("%s", ignored.message);
	free(s.by_name);
}

struct job_need *plan_new(const struct pipeline_settings *const *pipelines,
			  size_t n, struct store *store)
{
	struct job_need *needs = xcalloc(n ? n : 1, sizeof(*needs));

	for (size_t i = 0; i < n; i++) {
		needs[i].source = pipelines[i]->source;
		needs[i].destination = pipelines[i]->destination;
		needs[i].source_sessions =
			settings_sessions(pipelines[i], needs[i].source);
		needs[i].destination_sessions =
			settings_sessions(pipelines[i], needs[i].destination);
		needs[i].reads = plan_file(pipelines[i]->source);
		needs[i].writes = plan_target(pipelines[i]->destination);
	}
	if (store && n > 1)
		plan_find_starts(needs, pipelines, n, store);
	return needs;
}

static int plan_compare_places(const void *a, const void *b, void *ctx)
{
	const struct job_need *needs = ctx;

	return jobs_order(&needs[*(const size_t *)a],
			  &needs[*(const size_t *)b]);
}

struct foresight *
plan_foresight(const struct pipeline_settings *const *pipelines,
	       struct job_need *needs, size_t n)
{
	const struct pipeline_settings **ordered =
		xcalloc(n ? n : 1, sizeof(*ordered));
	size_t *places = xcalloc(n ? n : 1, sizeof(*places));
	struct foresight *f;

	for (size_t i = 0; i < n; i++)
		places[i] = i;
	if (n)
		qsort_r(places, n, sizeof(*places), plan_compare_places, needs);
	for (size_t i = 0; i < n; i++)
		ordered[i] = pipelines[places[i]];
	f = foresight_new(ordered, n);
	free(places);
	free(ordered);
	return f;
}

void plan_free(struct job_need *needs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(needs[i].reads);
		free(needs[i].writes);
	}
	free(needs);
}

static size_t plan_open_files(void)
{
	DIR *handle = opendir("/proc/self/fd");
	size_t n = 0;

	while (handle && readdir(handle))
		n++;
	if (handle)
		closedir(handle);
	return n;
}

/* So many have room for their files, at least 1. */
static size_t plan_most(size_t *files)
{
	size_t taken = plan_open_files() + PLAN_FILES_ASIDE, most = 0;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	*files = limit.rlim_cur;
	if (*files > taken)
		most = (*files - taken) / PLAN_FILES_EACH;
	return most ? most : 1;
}

size_t plan_fit(size_t n, const char *them)
{
	size_t files = 0, most = plan_most(&files);

	if (most >= n)
		return n;
	log_warn("%zu %s run at once, not %zu: this process may have %zu files "
		 "open (ulimit -n)",
		 most, them, n, files);
	return most;
}

void plan_limit(struct jobs_terms *terms, size_t n)
{
	size_t files = 0, most = plan_most(&files);

	if (terms->jobs > n)
		terms->jobs = n ? n : 1;
	terms->jobs = plan_fit(terms->jobs, "pipelines");
	if (terms->most > most)
		terms->most = most;
}

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "destinations/duckdb/internal.h"

/* Lists that are remembered at once. The oldest gives way. */
#define AHEAD_LISTS 4

/* Pipelines that are about to begin: their rows are read together. The lists
 * hold names alone. Answers are the database's, for as long as they hold. */
struct ahead_list {
	char *path;
	struct strlist marks, pipelines, targets; /* equally long */
};

static struct {
	pthread_mutex_t lock;
	struct ahead_list lists[AHEAD_LISTS];
	size_t next; /* gives way */
} ahead_all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ahead_release(struct ahead_list *l)
{
	free(l->path);
	strlist_release(&l->marks);
	strlist_release(&l->pipelines);
	strlist_release(&l->targets);
	memset(l, 0, sizeof(*l));
}

/* A name that is none is refused later. */
static void ahead_add(struct ahead_list *l,
		      const struct duckdb_target_destination *d,
		      const struct target *target)
{
	struct error ignored = ERROR_INIT;
	struct duckdb_target_place p;

	memset(&p, 0, sizeof(p));
	if (!duckdb_target_place_init(&p, d, target, &ignored)) {
		strlist_add(&l->marks, p.quoted_mark);
		strlist_add(&l->pipelines, target->pipeline);
		strlist_add(&l->targets, p.name);
	}
	duckdb_target_place_release(&p);
}

int duckdb_target_foresee(struct destination *base,
			  const struct target *const *targets, size_t n,
			  struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)base;
	struct ahead_list l = { .path = xstrdup(d->path) };
	struct ahead_list *old;

	(void)err;
	for (size_t i = 0; i < n; i++)
		ahead_add(&l, d, targets[i]);
	pthread_mutex_lock(&ahead_all.lock);
	old = &ahead_all.lists[ahead_all.next++ % AHEAD_LISTS];
	ahead_release(old);
	*old = l;
	pthread_mutex_unlock(&ahead_all.lock);
	return 0;
}

static bool ahead_has(const struct ahead_list *l,
		      const struct duckdb_target_destination *d,
		      const struct duckdb_target_place *p, const char *pipeline)
{
	if (!l->path || strcmp(l->path, d->path) != 0)
		return false;
	for (size_t i = 0; i < l->pipelines.n; i++)
		if (!strcmp(l->pipelines.items[i], pipeline) &&
		    !strcmp(l->targets.items[i], p->name) &&
		    !strcmp(l->marks.items[i], p->quoted_mark))
			return true;
	return false;
}

static void ahead_write_one(struct strbuf *sql, const char *before,
			    const char *text, const char *behind)
{
	strbuf_addstr(sql, before);
	sql_quote_literal(sql, text);
	strbuf_addstr(sql, behind);
}

static void ahead_write(struct strbuf *sql, const struct strlist *marks,
			const struct strlist *pipelines,
			const struct strlist *targets, const char *own)
{
	const char *comma = "";

	strbuf_addf(sql,
		    "SELECT pipeline, watermark, batch_id, fence::VARCHAR, "
		    "rows_total::VARCHAR, created_target::VARCHAR, "
		    "target_rows::VARCHAR, lower(target) FROM %s "
		    "WHERE pipeline IN (",
		    own);
	for (size_t i = 0; i < pipelines->n; i++)
		if (!strcmp(marks->items[i], own)) {
			ahead_write_one(sql, comma, pipelines->items[i], "");
			comma = ", ";
		}
	strbuf_addstr(sql, ") OR lower(target) IN (");
	comma = "";
	for (size_t i = 0; i < targets->n; i++)
		if (!strcmp(marks->items[i], own)) {
			strbuf_addstr(sql, comma);
			ahead_write_one(sql, "lower(", targets->items[i], ")");
			comma = ", ";
		}
	strbuf_addstr(sql, ") ORDER BY pipeline");
}

static void ahead_write_alone(struct strbuf *sql,
			      const struct duckdb_target_place *p,
			      const char *pipeline)
{
	char *texts[] = { p->quoted_mark, (char *)pipeline, p->name };
	const struct strlist one[] = { { &texts[0], 1, 1 },
				       { &texts[1], 1, 1 },
				       { &texts[2], 1, 1 } };

	strbuf_reset(sql);
	ahead_write(sql, &one[0], &one[1], &one[2], p->quoted_mark);
}

/* The question for all that are foreseen with this one. False: it is none of
 * them. */
static bool ahead_write_all(struct strbuf *sql,
			    const struct duckdb_target_destination *d,
			    const struct duckdb_target_place *p,
			    const char *pipeline)
{
	bool found = false;

	pthread_mutex_lock(&ahead_all.lock);
	for (size_t i = 0; !found && i < AHEAD_LISTS; i++) {
		const struct ahead_list *l = &ahead_all.lists[i];

		found = ahead_has(l, d, p, pipeline);
		if (found)
			ahead_write(sql, &l->marks, &l->pipelines, &l->targets,
				    p->quoted_mark);
	}
	pthread_mutex_unlock(&ahead_all.lock);
	return found;
}

/* The name as lower() has it; caller frees. */
static int ahead_lower(struct duckdb_target_destination *d, const char *name,
		       char **out, struct error *err)
{
	struct duck_result *r = NULL;
	char *copy = xstrdup(name);
	int rc;

	for (char *at = copy; *at; at++) {
		if ((unsigned char)*at >= 0x80)
			goto ask;
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at - 'A' + 'a');
	}
	*out = copy;
	return 0;
ask:
	free(copy);
	rc = duck_query(d->db, &r, "SELECT lower($1)", &name, 1, err);
	if (!rc && duck_next(r))
		*out = duck_str(r, 0);
	duck_result_free(r);
	return rc;
}

struct ahead_tell {
	duckdb_target_row *each;
	void *ctx;
	const char *pipeline, *target;
};

static int64_t ahead_number(const char *cell)
{
	return cell ? strtoll(cell, NULL, 10) : 0;
}

static void ahead_tell(void *ctx, const char *const *cells)
{
	const struct ahead_tell *tell = ctx;
	const struct duckdb_target_mark row = {
		.pipeline = cells[0],
		.watermark = cells[1],
		.batch_id = cells[2] ? cells[2] : "",
		.fence = ahead_number(cells[3]),
		.rows_total = ahead_number(cells[4]),
		.created = cells[5] && !strcmp(cells[5], "true"),
		.delivered = ahead_number(cells[6]),
		.target = cells[7],
		.own = cells[0] && !strcmp(cells[0], tell->pipeline),
		.here = cells[7] && !strcmp(cells[7], tell->target),
	};

	/* The answer has rows of others, too. */
	if (cells[0] && (row.own || row.here))
		tell->each(tell->ctx, &row);
}

int duckdb_target_rows(struct duckdb_target_destination *d,
		       const struct duckdb_target_place *p,
		       const char *pipeline, duckdb_target_row *each, void *ctx,
		       struct error *err)
{
	struct ahead_tell tell = { each, ctx, pipeline, NULL };
	struct strbuf sql = STRBUF_INIT;
	char *target = NULL;
	int rc = ahead_lower(d, p->name, &target, err);

	tell.target = target;
	if (!rc &&
	    (!ahead_write_all(&sql, d, p, pipeline) ||
	     duck_query_rows(d->db, sql.data, ahead_tell, &tell, NULL))) {
		ahead_write_alone(&sql, p, pipeline);
		rc = duck_query_rows(d->db, sql.data, ahead_tell, &tell, err);
	}
	strbuf_release(&sql);
	free(target);
	return rc;
}

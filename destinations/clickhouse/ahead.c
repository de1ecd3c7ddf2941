#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

char *clickhouse_target_database_sql(const struct place *place)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql,
		      "SELECT count() FROM system.databases WHERE name = ");
	clickhouse_quote_text(&sql, place->database);
	return strbuf_detach(&sql);
}

char *clickhouse_target_rows_sql(const struct place *place)
{
	return xstrfmt("SELECT 1 FROM %s LIMIT 1", place->rows);
}

static void ahead_add(struct strlist *out, char *sql)
{
	strlist_add(out, sql);
	free(sql);
}

static void ahead_catalog(struct strlist *out, const struct place *place,
			  const char *name)
{
	ahead_add(out, clickhouse_target_catalog_sql(place->database, name));
}

/* Does a run ask the same as one that has nothing to do? */
static bool ahead_is_plain(const struct target *target)
{
	return target->schema && !target->preview && !target->refresh;
}

/* The catalog alone: no code of others runs. */
int clickhouse_target_ahead_recover(struct clickhouse_target *d,
				    const struct place *place,
				    const struct target *target,
				    struct error *err)
{
	struct strlist ahead = STRLIST_INIT;

	clickhouse_forget_ahead(d->db);
	ahead_catalog(&ahead, place, place->table);
	ahead_add(&ahead, clickhouse_target_mark_table_sql(place));
	if (ahead_is_plain(target)) {
		ahead_catalog(&ahead, place, place->base);
		ahead_catalog(&ahead, place, place->table);
		ahead_add(&ahead, clickhouse_target_database_sql(place));
		ahead_add(&ahead, clickhouse_target_mark_table_sql(place));
	}
	return clickhouse_ask_ahead(d->db, &ahead, err);
}

int clickhouse_target_ahead_marks(struct clickhouse_target *d,
				  const struct place *place,
				  const char *pipeline, struct error *err)
{
	struct strlist ahead = STRLIST_INIT;

	ahead_add(&ahead, clickhouse_target_mark_all_sql(place, pipeline));
	ahead_add(&ahead, clickhouse_target_mark_sql(place, pipeline, NULL));
	return clickhouse_ask_ahead(d->db, &ahead, err);
}

/* If no predecessor is to be ended first, nothing more comes of one. If it has
 * left anything, that is dropped, and the mark is read again behind it. */
static bool ahead_is_held(const struct target *target)
{
	const struct writer *w = &target->writer;

	return w->fence && !w->claim && !(w->predecessor && *w->predecessor);
}

int clickhouse_target_ahead_prepare(struct clickhouse_target *d,
				    const struct plan *plan, bool rows,
				    struct error *err)
{
	const struct place *place = plan->place;
	const struct target *target = plan->target;
	struct strlist ahead = STRLIST_INIT;
	char *first =
		clickhouse_target_catalog_sql(place->database, place->base);
	bool done = clickhouse_is_ahead(d->db, first);

	free(first);
	if (done || !ahead_is_plain(target) || plan_needs_write(plan))
		return 0;
	if (rows)
		ahead_add(&ahead, clickhouse_target_rows_sql(place));
	ahead_catalog(&ahead, place, place->base);
	ahead_add(&ahead,
		  clickhouse_target_mark_sql(place, target->pipeline, NULL));
	if (ahead_is_held(target)) {
		ahead_add(&ahead, clickhouse_target_leftovers_sql(place));
		ahead_add(&ahead, clickhouse_target_mark_sql(
					  place, target->pipeline, NULL));
	}
	return clickhouse_ask_ahead(d->db, &ahead, err);
}

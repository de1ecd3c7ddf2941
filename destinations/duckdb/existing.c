#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "destinations/common/names.h"
#include "destinations/duckdb/internal.h"

/* All of them: DuckDB builds the whole list whichever is asked for, and keeps
 * none. */
static const char existing_relations_sql[] =
	"SELECT database_name, schema_name, table_name, 'table', "
	"CASE WHEN has_primary_key OR index_count > 0 OR "
	"check_constraint_count > 0 THEN 'indexed' END FROM duckdb_tables() "
	"UNION ALL SELECT database_name, schema_name, view_name, 'view', NULL "
	"FROM duckdb_views() WHERE NOT internal";

struct existing_look {
	struct existing *existing;
	const struct duckdb_target_place *place;
};

/* DuckDB's names are case-blind. */
static void existing_relation(void *ctx, const char *const *cells)
{
	const struct existing_look *look = ctx;
	const struct duckdb_target_place *p = look->place;
	struct existing *e = look->existing;
	const char *name = cells[2];
	bool is_table = !strcmp(cells[3], "table");

	if (strcasecmp(cells[0], p->catalog) != 0 ||
	    strcasecmp(cells[1], p->schema) != 0)
		return;
	if (!strcasecmp(name, p->name)) {
		e->name_is_table = is_table;
		e->name_is_view = !is_table;
	}
	if (!strcasecmp(name, p->data)) {
		e->has_data = is_table;
		e->data_is_view = !is_table;
		e->indexed = cells[4] != NULL;
	}
	if (!strcasecmp(name, p->stage))
		e->has_stage = is_table;
	if (!strcasecmp(name, NAME_WATERMARK_TABLE)) {
		e->has_mark_table = is_table;
		e->mark_is_view = !is_table;
	}
}

static int existing_relations(struct existing *e, struct duck *db,
			      const struct duckdb_target_place *p,
			      struct error *err)
{
	struct existing_look look = { e, p };
	int rc = duck_query_tables(db, existing_relations_sql,
				   existing_relation, &look, err);

	e->has_schema = !strcasecmp(p->schema, "main") || e->name_is_table ||
			e->name_is_view || e->has_data || e->data_is_view ||
			e->has_stage || e->has_mark_table || e->mark_is_view;
	return rc;
}

static bool existing_says(const struct duck_result *r, size_t column,
			  const char *expected)
{
	char *text = duck_str(r, column);
	bool says = text && !strcmp(text, expected);

	free(text);
	return says;
}

/* A row is name, type, "YES" or "NO" for NULL, key, default, extra. It is not
 * one of duckdb_columns(), which would first build every view that DuckDB
 * has of its own: 10 ms. */
static int existing_columns(struct existing *e, struct duck *db,
			    const struct duckdb_target_place *p,
			    struct error *err)
{
	char *sql = xstrfmt("DESCRIBE %s", p->quoted_data);
	struct duck_result *r = NULL;
	size_t capacity = 0;
	int rc = duck_query(db, &r, sql, NULL, 0, err);

	free(sql);
	while (!rc && duck_next(r)) {
		struct existing_column *c;

		e->columns = xgrow(e->columns, &capacity, e->n_columns + 1,
				   sizeof(*e->columns));
		c = &e->columns[e->n_columns++];
		memset(c, 0, sizeof(*c));
		c->name = duck_str(r, 0);
		c->type = duck_str(r, 1);
		c->not_null = existing_says(r, 2, "NO");
		c->has_default = !duck_is_null(r, 4);
	}
	duck_result_free(r);
	return rc;
}

struct existing_marks {
	struct existing *existing;
	int64_t highest; /* rows_total of the target */
	char *elsewhere; /* the own row's target, if it is another; owned */
};

static void existing_mark_row(void *ctx, const struct duckdb_target_mark *m)
{
	struct existing_marks *marks = ctx;
	struct existing *e = marks->existing;

	if (m->here && m->rows_total > marks->highest)
		marks->highest = m->rows_total;
	if (!m->own)
		return;
	e->has_mark = true;
	e->mark.found = true;
	e->mark.batch_id = xstrdup(m->batch_id);
	e->mark.fence = m->fence;
	e->mark.rows_total = m->rows_total;
	e->known = m->here;
	e->created = m->here && m->created;
	if (!m->here)
		marks->elsewhere = xstrdup(m->target);
	else
		e->mark.watermark = xstrdup(m->watermark);
	e->delivered = m->here ? m->delivered : 0;
}

/* Pipelines that append to one table share its numbers, which rows_total is the
 * highest of. */
static int existing_numbers(struct existing *e, struct duck *db,
			    const struct duckdb_target_place *p,
			    const struct existing_marks *marks,
			    struct error *err)
{
	const char *target = marks->elsewhere;
	struct duck_result *r = NULL;
	char *sql;
	int rc;

	if (!strcmp(p->name, p->data) || !e->has_mark)
		return 0;
	if (e->known)
		e->mark.rows_total = marks->highest;
	if (e->known || !target)
		return 0;
	sql = xstrfmt("SELECT coalesce(max(rows_total), 0) FROM %s "
		      "WHERE lower(target) = $1",
		      p->quoted_mark);
	rc = duck_query(db, &r, sql, &target, 1, err);
	if (!rc && duck_next(r))
		e->mark.rows_total = duck_i64(r, 0);
	duck_result_free(r);
	free(sql);
	return rc;
}

static int existing_mark(struct existing *e,
			 struct duckdb_target_destination *d,
			 const struct duckdb_target_place *p,
			 const char *pipeline, struct error *err)
{
	struct existing_marks marks = { .existing = e };
	int rc = duckdb_target_rows(d, p, pipeline, existing_mark_row, &marks,
				    err);

	if (!rc)
		rc = existing_numbers(e, d->db, p, &marks, err);
	free(marks.elsewhere);
	return rc;
}

int duckdb_target_existing_refuse_marks(
	const struct existing *e, const struct duckdb_target_destination *d,
	struct error *err)
{
	return mark_keeper_check(NAME_WATERMARK_TABLE, d->path,
				 e->mark_is_view ? "is not a table" : NULL,
				 MARK_HARM_HIDES, err);
}

int duckdb_target_existing_look(struct existing *e,
				struct duckdb_target_destination *d,
				const struct duckdb_target_place *p,
				const char *pipeline, struct error *err)
{
	int rc;

	memset(e, 0, sizeof(*e));
	checkpoint_init(&e->mark);
	rc = existing_relations(e, d->db, p, err);
	if (!rc && e->has_mark_table)
		rc = existing_mark(e, d, p, pipeline, err);
	return rc;
}

int duckdb_target_existing_look_closely(struct existing *e,
					struct duckdb_target_destination *d,
					const struct duckdb_target_place *p,
					const char *pipeline, struct error *err)
{
	int rc = duckdb_target_existing_look(e, d, p, pipeline, err);

	if (!rc && (e->has_data || e->data_is_view))
		rc = existing_columns(e, d->db, p, err);
	return rc;
}

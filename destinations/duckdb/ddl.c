#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "destinations/common/names.h"
#include "destinations/common/refusals.h"
#include "destinations/duckdb/internal.h"

#define VIEW_PROBE "_tidemark_view"

/* The state of inspect's work. */
struct ddl {
	struct duckdb_target_destination *d;
	const struct target *target;
	const struct duckdb_target_place *place;
	const struct existing *existing;
	const struct duckdb_type *types;
	struct inspection *out;
	bool temporary; /* new objects are the session's own */
};

static char *ddl_view_sql(const char *create, const char *name,
			  const struct target *target,
			  const struct duckdb_target_place *p)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql, "%s %s AS SELECT * EXCLUDE (%s, %s, %s) FROM %s",
		    create, name, NAME_RAW_BATCH, NAME_RAW_SEQ, NAME_RAW_LOADED,
		    p->quoted_data);
	if (!target->schema->n_key)
		return strbuf_detach(&sql);
	strbuf_addstr(&sql, " QUALIFY row_number() OVER (PARTITION BY ");
	duckdb_target_sql_keys(&sql, target->schema);
	strbuf_addf(&sql, " ORDER BY %s DESC) = 1", NAME_RAW_SEQ);
	return strbuf_detach(&sql);
}

char *duckdb_target_view_sql(const struct target *target,
			     const struct duckdb_target_place *p)
{
	return ddl_view_sql("CREATE OR REPLACE VIEW", p->quoted_name, target,
			    p);
}

static void ddl_push(struct ddl *x, struct strbuf *sql)
{
	strlist_add(&x->out->ddl, sql->data);
	strbuf_release(sql);
}

static void ddl_create_table(struct ddl *x, const char *quoted)
{
	const struct schema *s = x->target->schema;
	struct strbuf sql = STRBUF_INIT;

	if (!x->existing->has_schema) {
		strbuf_addf(&sql, "CREATE SCHEMA IF NOT EXISTS %s",
			    x->place->quoted_schema);
		ddl_push(x, &sql);
	}
	strbuf_addf(&sql, "CREATE %s%sTABLE %s (",
		    x->target->refresh || x->temporary ? "OR REPLACE " : "",
		    x->temporary ? "TEMP " : "", quoted);
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(&sql, i ? ", " : "");
		sql_quote_name(&sql, s->columns[i].name, '"');
		strbuf_addf(&sql, " %s%s", x->types[i].text,
			    schema_is_key(s, i) ? " NOT NULL" : "");
	}
	if (x->target->mode == LOAD_APPEND)
		strbuf_addf(&sql,
			    ", %s VARCHAR, %s BIGINT, %s TIMESTAMP WITH TIME "
			    "ZONE",
			    NAME_RAW_BATCH, NAME_RAW_SEQ, NAME_RAW_LOADED);
	strbuf_addstr(&sql, ")");
	ddl_push(x, &sql);
}

static void ddl_alter(struct ddl *x, const enum drift_step *steps,
		      const struct drift_column *columns)
{
	const struct schema *s = x->target->schema;

	for (size_t i = 0; i < s->n_columns; i++) {
		struct strbuf sql = STRBUF_INIT;

		if (steps[i] != STEP_ADD && steps[i] != STEP_WIDEN)
			continue;
		strbuf_addf(&sql, "ALTER TABLE %s %s COLUMN ",
			    x->place->quoted_data,
			    steps[i] == STEP_ADD ? "ADD" : "ALTER");
		sql_quote_name(&sql, s->columns[i].name, '"');
		if (steps[i] == STEP_ADD)
			strbuf_addf(&sql, " %s", x->types[i].text);
		else
			strbuf_addf(&sql, " SET DATA TYPE %s",
				    columns[i].grown);
		ddl_push(x, &sql);
	}
}

static void ddl_fit(const void *types, size_t column, struct drift_column *out,
		    char **grown)
{
	const struct duckdb_type *t = types;
	char text[DUCKDB_TYPE_SIZE] = "";

	out->wanted = t[column].text;
	out->mapping = t[column].mapping;
	if (!out->actual)
		return;
	out->fit = duckdb_target_type_fit(&t[column], out->actual, text);
	if (out->fit == FIT_GROWS)
		*grown = xstrdup(text);
}

/* INTERVAL takes 30 days for a month, so a reader has no order to go by. */
static void ddl_check_order(struct ddl *x)
{
	const struct schema *s = x->target->schema;

	for (size_t i = 0; i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;
		long at = existing_find(x->existing, name);
		const char *type = at < 0 || x->target->refresh
					   ? x->types[s->key[i]].text
					   : x->existing->columns[at].type;

		if (strcmp(type, "INTERVAL"))
			continue;
		problems_add(&x->out->problems, SEVERITY_WARNING, ERROR_NONE,
			     "key-without-order",
			     "make it a text under source.expressions",
			     "table %s: key column %s is INTERVAL there, which "
			     "has no exact order: verify, and a backfill that "
			     "verifies its chunks, cannot compare its rows",
			     x->target->table, name);
	}
}

/* A column that an index is on keeps its type. */
static void ddl_refuse_folding(struct ddl *x, const char *name)
{
	struct strbuf fix = STRBUF_INIT;

	if (x->existing->indexed) {
		strbuf_addf(&fix, "make the table anew, with no collation of "
				  "column ");
		sql_quote_name(&fix, name, '"');
	} else {
		strbuf_addf(&fix, "ALTER TABLE %s ALTER COLUMN ",
			    x->place->quoted_data);
		sql_quote_name(&fix, name, '"');
		strbuf_addstr(&fix, " SET DATA TYPE VARCHAR COLLATE C");
	}
	target_refuse_folding(x->target, name, fix.data, &x->out->problems);
	strbuf_release(&fix);
}

/* Texts that some collation takes for one: without case, without accents, and
 * as Unicode does, which also leaves control characters out. */
static void ddl_folds(struct strbuf *sql, const char *name, const char *table)
{
	static const char *const pairs[][2] = {
		{ "'a'", "'A'" },
		{ "'e'", "chr(233)" },
		{ "'e' || chr(769)", "chr(233)" },
		{ "'a'", "'a' || chr(1)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		strbuf_addstr(sql, i ? " OR coalesce((SELECT "
				     : "coalesce((SELECT ");
		sql_quote_name(sql, name, '"');
		strbuf_addf(sql, " FROM %s LIMIT 0), %s) = %s", table,
			    pairs[i][0], pairs[i][1]);
	}
}

/* DuckDB's catalog does not tell a column's collation: its comparisons do.
 * Keys that the source tells apart would be one row. */
static int ddl_check_folding(struct ddl *x, struct error *err)
{
	const struct schema *s = x->target->schema;
	struct strbuf sql = STRBUF_INIT;
	int rc = 0;

	for (size_t i = 0; !rc && i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;
		long at = existing_find(x->existing, name);
		struct duck_result *r = NULL;

		if (at < 0 || strcmp(x->existing->columns[at].type, "VARCHAR"))
			continue;
		strbuf_reset(&sql);
		strbuf_addstr(&sql, "SELECT ");
		ddl_folds(&sql, name, x->place->quoted_data);
		rc = duck_query(x->d->db, &r, sql.data, NULL, 0, err);
		if (!rc && duck_next(r) && duck_bool(r, 0))
			ddl_refuse_folding(x, name);
		duck_result_free(r);
	}
	strbuf_release(&sql);
	return rc;
}

/* PIPELINE/... is a chunk of a backfill. Its pipeline has loaded rows into the
 * table by this key, and looked through it before that. */
static int ddl_owner_knows(struct ddl *x, bool *knows, struct error *err)
{
	const char *pipeline = x->target->pipeline;
	size_t length = strcspn(pipeline, "/");
	char *owner = xstrndup(pipeline, length), *sql;
	const char *params[] = { owner, x->place->name };
	struct duck_result *r = NULL;
	int rc;

	*knows = false;
	sql = xstrfmt("SELECT 1 FROM %s WHERE pipeline = $1 AND lower(target) "
		      "= lower($2) AND (created_target OR rows_total > 0)",
		      x->place->quoted_mark);
	if (x->existing->has_mark_table && pipeline[length]) {
		rc = duck_query(x->d->db, &r, sql, params, ARRAY_SIZE(params),
				err);
		*knows = !rc && duck_next(r);
		duck_result_free(r);
	} else {
		rc = 0;
	}
	free(sql);
	free(owner);
	return rc;
}

/* A table that others filled may hold a key twice. */
static int ddl_check_keys(struct ddl *x, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct duck_result *r = NULL;
	bool knows;
	int rc;

	if (!existing_may_repeat(x->existing, x->target, x->out))
		return 0;
	rc = ddl_owner_knows(x, &knows, err);
	if (rc || knows)
		return rc;
	strbuf_addf(&sql, "SELECT 1 FROM %s GROUP BY ", x->place->quoted_data);
	duckdb_target_sql_keys(&sql, x->target->schema);
	strbuf_addstr(&sql, " HAVING count(*) > 1 LIMIT 1");
	rc = duck_query(x->d->db, &r, sql.data, NULL, 0, err);
	if (!rc && duck_next(r))
		existing_refuse_repeat(x->target, &x->out->problems);
	duck_result_free(r);
	strbuf_release(&sql);
	return rc;
}

/* Worth a look only when the mark says that rows are there. */
static int ddl_check_emptied(struct ddl *x, struct error *err)
{
	const struct existing *e = x->existing;
	int64_t rows = 0;
	int rc;

	if (!existing_may_be_emptied(e, x->out))
		return 0;
	rc = duckdb_target_count_rows(x->d, x->place->quoted_data, &rows, err);
	if (!rc && !rows)
		target_refuse_emptied(x->target, e->delivered,
				      &x->out->problems);
	return rc;
}

static void ddl_drift(struct ddl *x, bool exists)
{
	const struct drift_types types = { x->types, ddl_fit };
	struct drift drift;

	existing_drift(&drift, x->existing, x->target, exists, &types, x->out);
	if (exists)
		ddl_alter(x, drift.steps, drift.columns);
	drift_release(&drift);
}

/* DuckDB keeps a view in words of its own. So a temporary view is made with the
 * wanted text, and its words are compared. The names in EXCLUDE come in any
 * order. */
static int ddl_same_view(const struct ddl *x, bool *same, struct error *err)
{
	static const char text_sql[] =
		"SELECT count(DISTINCT substr(sql, strpos(sql, ') FROM '))) "
		"= 1 FROM duckdb_views() WHERE view_name = '" VIEW_PROBE "' OR "
		"(lower(database_name) = lower($1) AND "
		"lower(schema_name) = lower($2) AND "
		"lower(view_name) = lower($3))";
	const char *params[] = { x->place->catalog, x->place->schema,
				 x->place->name };
	char *sql = ddl_view_sql("CREATE OR REPLACE TEMP VIEW", VIEW_PROBE,
				 x->target, x->place);
	struct duck_result *r = NULL;
	int rc = duck_exec(x->d->db, sql, err);

	if (!rc)
		rc = duck_query(x->d->db, &r, text_sql, params,
				ARRAY_SIZE(params), err);
	if (!rc && duck_next(r))
		*same = duck_bool(r, 0);
	duck_result_free(r);
	if (!rc)
		rc = duck_exec(x->d->db, "DROP VIEW temp.main." VIEW_PROBE,
			       err);
	free(sql);
	return rc;
}

static int ddl_view(struct ddl *x, struct error *err)
{
	const struct existing *e = x->existing;
	bool same = false;
	char *sql;
	int rc = 0;

	if (x->target->mode != LOAD_APPEND || x->target->refresh)
		return 0;
	if (e->name_is_view && !x->out->ddl.n &&
	    !problems_to_error(&x->out->problems, NULL))
		rc = ddl_same_view(x, &same, err);
	if (rc || same)
		return rc;
	sql = duckdb_target_view_sql(x->target, x->place);
	strlist_add(&x->out->ddl, sql);
	free(sql);
	return 0;
}

/* A column of that name hides the place of a row, by which rows are changed.
 * All that have one value there would be taken for one. */
static void ddl_check_rowid(const struct ddl *x)
{
	const struct schema *s = x->target->schema;
	bool has = false;

	if (x->target->mode == LOAD_APPEND || x->target->mode == LOAD_REPLACE)
		return;
	for (size_t i = 0; i < s->n_columns; i++)
		has |= !strcasecmp(s->columns[i].name, "rowid");
	for (size_t i = 0; x->existing->has_data && i < x->existing->n_columns;
	     i++)
		has |= !strcasecmp(x->existing->columns[i].name, "rowid");
	if (has)
		problems_add(&x->out->problems, SEVERITY_ERROR, ERROR_SCHEMA,
			     "reserved-name",
			     "give it another name under source.rename, and "
			     "drop it in a table that has it",
			     "table %s: a column \"rowid\" hides what DuckDB "
			     "calls so, and rows are changed by",
			     x->target->table);
}

int duckdb_target_inspect(struct duckdb_target_destination *d,
			  const struct target *target,
			  const struct duckdb_target_place *p,
			  const struct existing *e,
			  const struct duckdb_type *types,
			  struct inspection *out, struct error *err)
{
	struct ddl x = { d, target, p, e, types, out, false };
	bool exists = e->has_data && !target->refresh;
	struct error why = ERROR_INIT;
	int rc;

	out->table_exists = e->has_data;
	target_lacks_key(target, &out->problems);
	target_refuse_names(target, "DuckDB", &out->problems);
	if (target->mode == LOAD_APPEND)
		target_refuse_reserved(target, &out->problems);
	ddl_check_rowid(&x);
	ddl_check_order(&x);
	existing_check_place(e, target, &out->problems);
	if (duckdb_target_existing_refuse_marks(e, d, &why))
		problems_add_error(&out->problems, "unsafe-marks", &why);
	ddl_drift(&x, exists);
	if (target->refresh)
		ddl_create_table(&x, p->quoted_stage);
	else if (!exists)
		ddl_create_table(&x, p->quoted_data);
	rc = exists ? ddl_check_folding(&x, err) : 0;
	if (!rc)
		rc = ddl_view(&x, err);
	if (!rc && exists)
		rc = ddl_check_emptied(&x, err);
	out->anew = !exists || !e->known || out->added.n;
	return rc || !exists ? rc : ddl_check_keys(&x, err);
}

void duckdb_target_ddl_copy(struct duckdb_target_destination *d,
			    const struct target *target,
			    const struct duckdb_target_place *copy,
			    const struct existing *e,
			    const struct duckdb_type *types,
			    struct strlist *out)
{
	struct existing there = *e;
	struct inspection found;
	struct ddl x = { d, target, copy, &there, types, &found, true };
	bool exists = e->has_data && !target->refresh;

	inspection_init(&found);
	there.has_schema = true;
	ddl_drift(&x, exists);
	if (!exists)
		ddl_create_table(&x, copy->quoted_data);
	for (size_t i = 0; i < found.ddl.n; i++)
		strlist_add(out, found.ddl.items[i]);
	inspection_release(&found);
}

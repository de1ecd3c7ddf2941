#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "destinations/common/names.h"
#include "destinations/common/restate.h"
#include "destinations/duckdb/load.h"

static const char constraints_sql[] =
	"SELECT constraint_text FROM duckdb_constraints() "
	"WHERE lower(database_name) = lower($1) AND "
	"lower(schema_name) = lower($2) AND lower(table_name) = lower($3) "
	"AND constraint_type IN ('CHECK', 'UNIQUE', 'PRIMARY KEY')";

/* Without defaults: one may be the next number of a sequence. So a column that
 * the batch does not have may be NULL. */
static void preview_column(struct strbuf *sql, const struct existing_column *c,
			   const struct schema *s)
{
	bool theirs = false;

	for (size_t i = 0; i < s->n_columns; i++)
		theirs = theirs || !strcasecmp(s->columns[i].name, c->name);
	sql_quote_name(sql, c->name, '"');
	strbuf_addf(sql, " %s%s", c->type,
		    c->not_null && theirs ? " NOT NULL" : "");
}

static int preview_create_like(struct duckdb_target_destination *d,
			       const struct duckdb_target_place *place,
			       const struct duckdb_target_place *copy,
			       const struct existing *e, const struct schema *s,
			       struct error *err)
{
	const char *params[] = { place->catalog, place->schema, place->data };
	struct strbuf sql = STRBUF_INIT;
	struct duck_result *r = NULL;
	int rc = duck_query(d->db, &r, constraints_sql, params,
			    ARRAY_SIZE(params), err);

	strbuf_addf(&sql, "CREATE OR REPLACE TEMP TABLE %s (",
		    copy->quoted_data);
	for (size_t i = 0; i < e->n_columns; i++) {
		strbuf_addstr(&sql, i ? ", " : "");
		preview_column(&sql, &e->columns[i], s);
	}
	while (!rc && duck_next(r)) {
		char *text = duck_str(r, 0);

		strbuf_addf(&sql, ", %s", text);
		free(text);
	}
	strbuf_addstr(&sql, ")");
	duck_result_free(r);
	if (!rc)
		rc = duck_exec(d->db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static void preview_columns(struct strbuf *sql, const struct existing *e,
			    const char *alias)
{
	for (size_t i = 0; i < e->n_columns; i++) {
		const char *name = e->columns[i].name;

		strbuf_addstr(sql, i ? ", " : "");
		if (*alias && !strcasecmp(name, NAME_RAW_SEQ)) {
			strbuf_addstr(sql, NAME_RAW_FIRST);
			continue;
		}
		strbuf_addstr(sql, alias);
		sql_quote_name(sql, name, '"');
	}
}

/* Copy the table's rows of the staged keys, unless the copy has them
 * already, perhaps as an earlier batch has left them. A raw table gives its
 * newest rows. */
static char *preview_pull(const struct target *target,
			  const struct duckdb_target_place *place,
			  const struct duckdb_target_place *copy,
			  const struct existing *e)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql, "INSERT INTO %s (", copy->quoted_data);
	preview_columns(&sql, e, "");
	strbuf_addstr(&sql, ") SELECT ");
	preview_columns(&sql, e, "t.");
	strbuf_addf(&sql,
		    " FROM (SELECT * FROM %s t SEMI JOIN " STAGE_KEYS " s ON ",
		    place->quoted_data);
	duckdb_target_sql_key_join(&sql, target->schema);
	if (target->mode == LOAD_APPEND) {
		strbuf_addstr(&sql,
			      " QUALIFY row_number() OVER (PARTITION BY ");
		duckdb_target_sql_keys(&sql, target->schema);
		strbuf_addstr(&sql, " ORDER BY " NAME_RAW_SEQ " DESC) = 1");
	}
	strbuf_addf(&sql, ") t ANTI JOIN %s s ON ", copy->quoted_data);
	duckdb_target_sql_key_join(&sql, target->schema);
	return strbuf_detach(&sql);
}

int duckdb_target_preview_make(struct duckdb_target_destination *d,
			       const struct target *target,
			       struct duckdb_target_place *place,
			       const struct existing *e,
			       const struct duckdb_type *types,
			       struct error *err)
{
	bool exists = e->has_data && !target->refresh;
	struct strlist ddl = STRLIST_INIT;
	struct duckdb_target_place copy;
	int rc = 0;

	memset(&copy, 0, sizeof(copy));
	duckdb_target_place_copy(&copy, place);
	if (exists)
		rc = preview_create_like(d, place, &copy, e, target->schema,
					 err);
	duckdb_target_ddl_copy(d, target, &copy, e, types, &ddl);
	for (size_t i = 0; !rc && i < ddl.n; i++)
		rc = duck_exec(d->db, ddl.items[i], err);
	free(d->pull);
	d->pull = exists && target->schema->n_key
			  ? preview_pull(target, place, &copy, e)
			  : NULL;
	free(d->previewed);
	d->previewed = xstrdup(target->refresh ? place->quoted_stage
					       : place->quoted_data);
	duckdb_target_place_release(place);
	*place = copy;
	strlist_release(&ddl);
	return rc;
}

static void preview_merge_sql(struct strbuf *sql,
			      const struct duckdb_target_destination *d)
{
	if (d->target->mode == LOAD_APPEND)
		duckdb_target_sql_appended(sql, d);
	else if (d->in_place)
		duckdb_target_sql_update(sql, d, NULL);
	else
		duckdb_target_sql_changed(sql, d, NULL);
}

/* No index helps it: it goes by hashes of the keys. */
int duckdb_target_destination_explain(struct destination *base,
				      struct explanation *out,
				      struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)base;
	struct strbuf sql = STRBUF_INIT, insert = STRBUF_INIT;
	char *shown;

	(void)err;
	preview_merge_sql(&sql, d);
	shown = restate(sql.data, d->into, d->previewed);
	if (d->pull && *shown)
		explanation_add(out, d->in_place ? "update" : "find changed",
				shown, NULL,
				"the staged keys are joined with a scan of the "
				"table by their hashes; DuckDB uses no index "
				"for it");
	strbuf_addf(&insert, "INSERT INTO %s (", d->previewed);
	duckdb_target_sql_columns(&insert, d->target->schema, NULL);
	strbuf_addstr(&insert, ")");
	explanation_add(out, "insert", insert.data, NULL,
			"rows go through DuckDB's appender");
	strbuf_release(&sql);
	strbuf_release(&insert);
	free(shown);
	return 0;
}

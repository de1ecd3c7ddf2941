#include <stdlib.h>

#include "clients/pg_explain.h"
#include "core/base/alloc.h"
#include "destinations/common/restate.h"
#include "destinations/postgres/postgres.h"

static const char schema_sql[] = "SELECT nspname FROM pg_namespace\n"
				 "WHERE oid = pg_my_temp_schema()";

/* Objects that notice how rows change decide which statements a load takes. */
static void preview_take_watchers(struct catalog_table *copy,
				  const struct catalog_table *t)
{
	if (!t->exists)
		return;
	copy->kind = t->kind;
	copy->row_security = t->row_security;
	copy->rules = t->rules;
	copy->triggers = t->triggers;
	copy->filters = t->filters;
	copy->referenced = t->referenced;
	copy->published = t->published;
}

int postgres_preview_make(struct postgres_destination *d,
			  const struct postgres_plan *plan, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_exec(d->pg, "DROP TABLE IF EXISTS " PREVIEW_COPY, err);

	for (size_t i = 0; !rc && i < plan->base.copy.n; i++) {
		rc = pg_exec(d->pg, plan->base.copy.items[i], err);
		if (rc)
			error_prefix(err, "%.200s", plan->base.copy.items[i]);
	}
	if (!rc)
		rc = pg_query(d->pg, &r, schema_sql, "1t", 0, NULL, err);
	if (!rc)
		rc = postgres_catalog_read(d->pg, pg_value(r, 0, 0),
					   PREVIEW_NAME, d->target->schema,
					   &d->table, err);
	pg_result_free(r);
	preview_take_watchers(&d->table, &plan->table);
	d->previewed = plan->table.exists && !plan->base.inspection.ddl.n;
	return rc;
}

static int explain_statement(struct postgres_destination *d,
			     const char *purpose, const char *statement, int n,
			     struct explanation *out, struct error *err)
{
	const char *params[] = { NULL, "0" };
	char *sql, *plan = NULL, *index = NULL;
	int rc = 0;

	if (!*statement)
		return 0;
	sql = restate(statement, PREVIEW_COPY, d->place.rows);
	if (d->previewed)
		rc = pg_explain(d->pg, sql, n, params, &plan, &index, err);
	if (!rc)
		explanation_add(out, purpose, sql, index, plan);
	free(sql);
	free(plan);
	free(index);
	return rc;
}

static void explain_copy(struct postgres_destination *d,
			 struct explanation *out)
{
	char *sql =
		xstrfmt("COPY %s (%s) FROM STDIN (FORMAT %s)",
			d->target->refresh ? d->place.building : d->place.rows,
			d->columns.data, d->encoder.binary ? "binary" : "text");

	explanation_add(out, "copy", sql, NULL, NULL);
	free(sql);
}

static int explain_statements(struct postgres_destination *d,
			      struct explanation *out, struct error *err)
{
	int n = postgres_statement_has_version(d->target) ? 1 : 0;
	bool replaces = postgres_load_replaces(d);
	int rc;

	if (d->target->mode == LOAD_APPEND)
		return explain_statement(d, "append", d->sql_insert_new, 2, out,
					 err);
	if (d->target->mode == LOAD_UPDATE)
		return explain_statement(d, "update", d->sql_update, 0, out,
					 err);
	if (d->direct) {
		explain_copy(d, out);
		return 0;
	}
	if (!d->target->schema->n_key)
		return explain_statement(d, "insert", d->sql_insert_all, 0, out,
					 err);
	rc = explain_statement(d, replaces ? "delete" : "update",
			       replaces ? d->sql_delete : d->sql_update, n, out,
			       err);
	return rc ? rc
		  : explain_statement(d, "insert", d->sql_insert_new, 0, out,
				      err);
}

/* As the load's transaction would have it. */
int postgres_explain_load(struct destination *base, struct explanation *out,
			  struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	int rc = pg_exec(d->pg, "BEGIN", err);

	if (!rc && d->previewed)
		rc = postgres_joins_choose(d, d->place.rows, err);
	if (!rc)
		rc = explain_statements(d, out, err);
	if (!rc)
		rc = pg_exec(d->pg, "COMMIT", err);
	if (rc)
		postgres_session_rollback(d);
	return rc;
}

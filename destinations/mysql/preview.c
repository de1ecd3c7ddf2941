#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/mysql_explain.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "destinations/mysql/internal.h"

/* As the table is made; or, where that cannot be (of partitions, or with a
 * full-text index), by the batch's columns, without its constraints. */
static int preview_copy(struct mysql_target *d,
			const struct mysql_target_plan *plan, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = mysql_target_execf(
		d->db, err, "DROP TEMPORARY TABLE IF EXISTS %s", d->rows);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < plan->base.copy.n; i++)
		rc = mysql_client_exec(d->db, plan->base.copy.items[i], &why);
	if (!rc)
		return 0;
	if (rc == -ERROR_ACCESS || error_may_pass(why.code)) {
		*err = why;
		return rc;
	}
	log_info("%s is previewed without its constraints, for it cannot be "
		 "copied: %s",
		 d->target->table, why.message);
	return mysql_target_stage_like(d, d->rows, false, err);
}

/* Temporary tables are of some database, and the target's is not there. */
static int preview_move(struct mysql_target *d, struct error *err)
{
	const char *database = mysql_client_database(d->db);

	if (!*database)
		return error_set(err, ERROR_ACCESS,
				 "database %s is not there yet, and a dry run "
				 "needs one for its temporary tables: name it "
				 "in the destination's URL, or create it",
				 d->place.database);
	mysql_target_place_temporary(&d->place, database);
	d->rows = d->place.copy;
	return 0;
}

static bool preview_has_column(const struct mysql_target *d, const char *name)
{
	const struct schema *s = d->target->schema;

	for (size_t i = 0; i < s->n_columns; i++)
		if (!strcasecmp(s->columns[i].name, name))
			return true;
	return false;
}

/* A copy of the batch's columns alone takes no others. */
static int preview_pull(struct mysql_target *d,
			const struct mysql_target_plan *plan, struct error *err)
{
	char *sql = xstrfmt("SELECT * FROM %s LIMIT 0", d->rows);
	struct strlist columns = STRLIST_INIT;
	struct mysql_client_field *fields = NULL;
	size_t n = 0;
	int rc = mysql_client_describe(d->db, sql, &fields, &n, NULL, err);

	for (size_t i = 0; !rc && i < plan->pulled.n; i++) {
		const char *name = plan->pulled.items[i];
		bool there = preview_has_column(d, name);

		for (size_t k = 0; !there && k < n; k++)
			there = !strcasecmp(fields[k].name, name);
		if (there)
			strlist_add(&columns, name);
	}
	if (!rc)
		d->pull = mysql_target_statement_pull(d, &columns);
	mysql_client_fields_free(fields, n);
	strlist_release(&columns);
	free(sql);
	return rc;
}

int mysql_target_preview_make(struct mysql_target *d,
			      const struct mysql_target_plan *plan,
			      struct error *err)
{
	int rc = plan->has_database ? 0 : preview_move(d, err);

	free(d->pull);
	d->pull = NULL;
	if (!rc)
		rc = preview_copy(d, plan, err);
	if (!rc && d->target->schema->n_key)
		rc = mysql_target_stage_like(d, d->place.fresh, true, err);
	if (!rc && plan->base.inspection.table_exists && !d->target->refresh &&
	    d->target->schema->n_key)
		rc = preview_pull(d, plan, err);
	d->previewed = plan->base.inspection.table_exists &&
		       !plan->base.inspection.ddl.n;
	return rc;
}

static int preview_run(struct mysql_target *d, char *sql, int64_t *count,
		       struct error *err)
{
	int rc = mysql_client_exec_count(d->db, sql, 0, NULL, count, err);

	free(sql);
	return rc;
}

int mysql_target_preview_insert(struct mysql_target *d, int64_t *count,
				struct error *err)
{
	int64_t n = 0;
	int rc = mysql_target_execf(d->db, err, "DELETE FROM %s",
				    d->place.fresh);

	if (!rc)
		rc = preview_run(d, mysql_target_statement_fresh(d), &n, err);
	if (!rc && d->target->mode == LOAD_APPEND)
		rc = preview_run(d, mysql_target_statement_drop_fresh(d), NULL,
				 err);
	return rc ? rc
		  : preview_run(d, mysql_target_statement_insert_fresh(d),
				count, err);
}

/* Takes `sql`. */
static int explain_statement(struct mysql_target *d, const char *purpose,
			     char *sql, const char *alias,
			     struct explanation *out, struct error *err)
{
	char *plan = NULL, *index = NULL;
	int rc = 0;

	if (d->previewed)
		rc = mysql_client_explain(d->db, sql, 0, NULL, alias, &plan,
					  &index, err);
	if (!rc)
		explanation_add(out, purpose, sql, index, plan);
	free(sql);
	free(plan);
	free(index);
	return rc;
}

static int explain_way(struct mysql_target *d, const struct mysql_target *real,
		       struct explanation *out, struct error *err)
{
	const struct schema *s = d->target->schema;
	enum mysql_target_way way = mysql_target_load_way(d);
	int rc = 0;

	if (!s->n_key && way != WAY_APPEND)
		return explain_statement(d, "insert",
					 mysql_target_statement_insert(real),
					 "s", out, err);
	if (way == WAY_APPEND)
		return explain_statement(
			d, "append", mysql_target_statement_append(real, "", 0),
			"n", out, err);
	if (way == WAY_UPDATE)
		return explain_statement(
			d, "update", mysql_target_statement_update(real, NULL),
			"t", out, err);
	if (way == WAY_ONCE)
		return explain_statement(
			d, "merge", mysql_target_statement_merge(real, NULL),
			"t", out, err);
	if (way == WAY_REPLACE)
		rc = explain_statement(
			d, "delete", mysql_target_statement_delete(real, NULL),
			"t", out, err);
	else if (s->n_columns > s->n_key)
		rc = explain_statement(
			d, "update", mysql_target_statement_update(real, NULL),
			"t", out, err);
	return rc ? rc
		  : explain_statement(d, "insert",
				      mysql_target_statement_insert(real), "t",
				      out, err);
}

/* As a run has them: of the table itself. */
int mysql_target_explain_load(struct destination *base, struct explanation *out,
			      struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct target target = *d->target;
	struct mysql_target real = *d;
	int rc = mysql_target_stage_empty(d, err);

	target.preview = false;
	real.target = &target;
	real.rows = target.refresh ? d->place.building : d->place.rows;
	return rc ? rc : explain_way(d, &real, out, err);
}

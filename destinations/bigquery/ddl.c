#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"
#include "destinations/common/refusals.h"

#define DDL_CLUSTER_MOST 4

/* The state of inspect's work. */
struct ddl {
	struct bigquery_destination *d;
	const struct target *target;
	const struct bigquery_place *place;
	const struct existing *existing;
	const struct bigquery_type *types;
	struct inspection *out;
};

static void ddl_refuse(struct ddl *x, const char *code, const char *fix,
		       const char *what)
{
	problems_add(&x->out->problems, SEVERITY_ERROR, ERROR_SCHEMA, code, fix,
		     "table %s: %s", x->target->table, what);
}

char *bigquery_ddl_view(const struct target *target,
			const struct bigquery_place *p)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql,
		    "SELECT * EXCEPT (%s, %s, %s) FROM %s WHERE TRUE QUALIFY "
		    "ROW_NUMBER() OVER (PARTITION BY ",
		    NAME_RAW_BATCH, NAME_RAW_SEQ, NAME_RAW_LOADED,
		    p->quoted_data);
	bigquery_sql_partition(&sql, target->schema);
	strbuf_addf(&sql, " ORDER BY %s DESC) = 1", NAME_RAW_SEQ);
	return strbuf_detach(&sql);
}

/* cloud.google.com/bigquery/docs/clustered-tables#limitations */
static bool ddl_clusters(const struct bigquery_type *t)
{
	return t->carrier != CARRIER_FLOAT && t->carrier != CARRIER_JSON &&
	       t->carrier != CARRIER_BYTES && t->carrier != CARRIER_ARRAY &&
	       t->carrier != CARRIER_TIME;
}

static void ddl_partition(struct strbuf *sql,
			  const struct bigquery_destination *d,
			  const struct schema *s,
			  const struct bigquery_type *types)
{
	const char *unit = d->layout.partition, *name;
	const char *base;

	if (!unit || s->mark < 0)
		return;
	name = s->columns[s->mark].name;
	base = types[s->mark].text;
	if (!strcmp(base, "DATE") && !strcmp(unit, "DAY"))
		strbuf_addf(sql, " PARTITION BY `%s`", name);
	else if (!strcmp(base, "DATE") && strcmp(unit, "HOUR") != 0)
		strbuf_addf(sql, " PARTITION BY DATE_TRUNC(`%s`, %s)", name,
			    unit);
	else if (!strcmp(base, "TIMESTAMP") || !strcmp(base, "DATETIME"))
		strbuf_addf(sql, " PARTITION BY %s_TRUNC(`%s`, %s)", base, name,
			    unit);
}

static void ddl_cluster(struct strbuf *sql,
			const struct bigquery_destination *d,
			const struct schema *s,
			const struct bigquery_type *types)
{
	size_t n = 0;

	for (size_t i = 0; d->layout.cluster && i < s->n_key; i++) {
		if (!ddl_clusters(&types[s->key[i]]) || n == DDL_CLUSTER_MOST)
			break;
		strbuf_addf(sql, "%s`%s`", n++ ? ", " : " CLUSTER BY ",
			    s->columns[s->key[i]].name);
	}
}

bool bigquery_ddl_keeps(const struct existing *e, const struct target *target,
			size_t column)
{
	const char *name = e->columns[column].name;

	for (size_t i = 0; i < target->schema->n_columns; i++)
		if (!strcasecmp(target->schema->columns[i].name, name))
			return false;
	return strcasecmp(name, NAME_RAW_BATCH) != 0 &&
	       strcasecmp(name, NAME_RAW_SEQ) != 0 &&
	       strcasecmp(name, NAME_RAW_LOADED) != 0;
}

void bigquery_ddl_kept(struct strbuf *columns, struct strbuf *names,
		       const struct existing *e, const struct target *target)
{
	for (size_t i = 0; e->has_data && i < e->n_columns; i++) {
		const struct existing_column *c = &e->columns[i];

		if (!bigquery_ddl_keeps(e, target, i))
			continue;
		strbuf_addf(columns, ", `%s` %s", c->name, c->type);
		if (c->has_default)
			strbuf_addf(columns, " DEFAULT %s", c->initial);
		strbuf_addf(names, ", `%s`", c->name);
	}
}

char *bigquery_ddl_create(const struct bigquery_destination *d,
			  const struct target *target, const char *quoted,
			  const struct bigquery_type *types, const char *kept)
{
	const struct schema *s = target->schema;
	struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql, "CREATE TABLE IF NOT EXISTS %s (", quoted);
	for (size_t i = 0; i < s->n_columns; i++)
		strbuf_addf(&sql, "%s`%s` %s%s", i ? ", " : "",
			    s->columns[i].name, types[i].text,
			    schema_is_key(s, i) ? " NOT NULL" : "");
	if (target->mode == LOAD_APPEND)
		strbuf_addf(&sql, ", %s STRING, %s INT64, %s TIMESTAMP",
			    NAME_RAW_BATCH, NAME_RAW_SEQ, NAME_RAW_LOADED);
	strbuf_addf(&sql, "%s)", kept ? kept : "");
	ddl_partition(&sql, d, s, types);
	ddl_cluster(&sql, d, s, types);
	return strbuf_detach(&sql);
}

static void ddl_create(struct ddl *x)
{
	struct strbuf kept = STRBUF_INIT, names = STRBUF_INIT;
	char *sql;

	bigquery_ddl_kept(&kept, &names, x->existing, x->target);
	sql = bigquery_ddl_create(x->d, x->target,
				  x->target->refresh ? x->place->quoted_anew
						     : x->place->quoted_data,
				  x->types, kept.data);
	strlist_add(&x->out->ddl, sql);
	strbuf_release(&kept);
	strbuf_release(&names);
	free(sql);
}

static void ddl_alter(struct ddl *x, const enum drift_step *steps,
		      const struct drift_column *columns)
{
	const struct schema *s = x->target->schema;

	for (size_t i = 0; i < s->n_columns; i++) {
		char *sql = NULL;

		if (steps[i] == STEP_ADD)
			sql = xstrfmt("ALTER TABLE %s ADD COLUMN IF NOT "
				      "EXISTS `%s` %s",
				      x->place->quoted_data, s->columns[i].name,
				      x->types[i].text);
		else if (steps[i] == STEP_WIDEN)
			sql = xstrfmt("ALTER TABLE %s ALTER COLUMN `%s` SET "
				      "DATA TYPE %s",
				      x->place->quoted_data, s->columns[i].name,
				      columns[i].grown);
		if (sql)
			strlist_add(&x->out->ddl, sql);
		free(sql);
	}
}

static void ddl_fit(const void *types, size_t column, struct drift_column *out,
		    char **grown)
{
	const struct bigquery_type *t = types;
	char text[BIGQUERY_TYPE_SIZE] = "";

	out->wanted = t[column].text;
	out->mapping = t[column].mapping;
	if (!out->actual)
		return;
	out->fit = bigquery_type_fit(&t[column], out->actual, text);
	if (out->fit == FIT_GROWS)
		*grown = xstrdup(text);
}

static void ddl_check_column(struct ddl *x, size_t column)
{
	const struct schema *s = x->target->schema;
	const char *name = s->columns[column].name;
	const char *refused = bigquery_column_refused(name);

	if (refused)
		problems_add(&x->out->problems, SEVERITY_ERROR, ERROR_SCHEMA,
			     "column-name",
			     "give it another name under source.rename or "
			     "source.expressions",
			     "table %s: column %s %s: BigQuery does not take "
			     "it",
			     x->target->table, name, refused);
}

static void ddl_check_names(struct ddl *x)
{
	const struct schema *s = x->target->schema;

	target_refuse_keyless(x->target, &x->out->problems);
	target_refuse_names(x->target, "BigQuery", &x->out->problems);
	for (size_t i = 0; i < s->n_columns; i++)
		ddl_check_column(x, i);
	for (size_t i = 0; i < s->n_key; i++) {
		enum bigquery_carrier c = x->types[s->key[i]].carrier;

		if (c == CARRIER_JSON || c == CARRIER_ARRAY ||
		    c == CARRIER_GEOGRAPHY)
			ddl_refuse(x, "key-not-comparable",
				   "choose another key",
				   "has a key of a type that BigQuery cannot "
				   "compare");
	}
}

/* A table that others filled may hold a key twice. */
static int ddl_check_keys(struct ddl *x, struct error *err)
{
	struct bigquery_numbers found;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (!existing_may_repeat(x->existing, x->target, x->out))
		return 0;
	strbuf_addf(&sql,
		    "SELECT COUNT(*) FROM (SELECT 1 AS one FROM %s GROUP BY ",
		    x->place->quoted_data);
	bigquery_sql_keys(&sql, x->target->schema, "");
	strbuf_addstr(&sql, " HAVING COUNT(*) > 1 LIMIT 1)");
	rc = bigquery_execute(x->d, sql.data, NULL, &found, err);
	if (!rc && found.values[0])
		existing_refuse_repeat(x->target, &x->out->problems);
	strbuf_release(&sql);
	return rc;
}

/* Worth a look only when the mark says that rows are there. */
static int ddl_check_emptied(struct ddl *x, struct error *err)
{
	const struct existing *e = x->existing;
	struct bigquery_numbers found;
	char *sql;
	int rc;

	if (!existing_may_be_emptied(e, x->out))
		return 0;
	sql = xstrfmt("SELECT COUNT(*) FROM %s", x->place->quoted_data);
	rc = bigquery_execute(x->d, sql, NULL, &found, err);
	if (!rc && !found.values[0])
		target_refuse_emptied(x->target, e->delivered,
				      &x->out->problems);
	free(sql);
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

static void ddl_view(struct ddl *x)
{
	const struct existing *e = x->existing;
	char *query, *sql;

	if (x->target->mode != LOAD_APPEND || x->target->refresh)
		return;
	query = bigquery_ddl_view(x->target, x->place);
	if (!e->view || strcmp(e->view, query) != 0 || x->out->ddl.n) {
		sql = xstrfmt("CREATE OR REPLACE VIEW %s AS %s",
			      x->place->quoted_name, query);
		strlist_add(&x->out->ddl, sql);
		free(sql);
	}
	free(query);
}

int bigquery_inspect(struct bigquery_destination *d,
		     const struct target *target,
		     const struct bigquery_place *p, const struct existing *e,
		     const struct bigquery_type *types, struct inspection *out,
		     struct error *err)
{
	struct ddl x = { d, target, p, e, types, out };
	bool exists = e->has_data && !target->refresh;
	int rc = 0;

	out->table_exists = e->has_data;
	ddl_check_names(&x);
	existing_check_place(e, target, &out->problems);
	ddl_drift(&x, exists);
	if (!exists)
		ddl_create(&x);
	ddl_view(&x);
	if (exists)
		rc = ddl_check_emptied(&x, err);
	out->anew = !exists || !e->known || out->added.n;
	return rc || !exists ? rc : ddl_check_keys(&x, err);
}

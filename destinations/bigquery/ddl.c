#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

#define DDL_CLUSTER_MOST 4

/* What inspect works on. */
struct ddl {
	struct bigquery_destination *d;
	const struct target *target;
	const struct bigquery_place *place;
	const struct bigquery_existing *existing;
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
	bigquery_sql_keys(&sql, target->schema, "");
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

char *bigquery_ddl_create(const struct bigquery_destination *d,
			  const struct target *target, const char *quoted,
			  const struct bigquery_type *types)
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
	strbuf_addch(&sql, ')');
	ddl_partition(&sql, d, s, types);
	ddl_cluster(&sql, d, s, types);
	return strbuf_detach(&sql);
}

static void ddl_create(struct ddl *x)
{
	char *sql =
		bigquery_ddl_create(x->d, x->target,
				    x->target->refresh ? x->place->quoted_anew
						       : x->place->quoted_data,
				    x->types);

	strlist_add(&x->out->ddl, sql);
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

static bool ddl_is_raw_column(const struct ddl *x, const char *name)
{
	return x->target->mode == LOAD_APPEND &&
	       (!strcasecmp(name, NAME_RAW_BATCH) ||
		!strcasecmp(name, NAME_RAW_SEQ) ||
		!strcasecmp(name, NAME_RAW_LOADED));
}

static size_t ddl_extras(const struct ddl *x, struct drift_extra *extras)
{
	const struct bigquery_existing *e = x->existing;
	size_t n = 0;

	for (size_t i = 0; i < e->n_columns; i++) {
		const struct bigquery_existing_column *c = &e->columns[i];

		if (schema_find_folded(x->target->schema, c->name) >= 0 ||
		    ddl_is_raw_column(x, c->name))
			continue;
		extras[n].name = c->name;
		extras[n].not_null = c->not_null;
		extras[n++].has_default = c->has_default;
	}
	return n;
}

static void ddl_columns(const struct ddl *x, struct drift_column *columns,
			char (*grown)[BIGQUERY_TYPE_SIZE], bool exists)
{
	const struct schema *s = x->target->schema;

	for (size_t i = 0; i < s->n_columns; i++) {
		long at = exists ? bigquery_existing_find(x->existing,
							  s->columns[i].name)
				 : -1;

		columns[i].wanted = x->types[i].text;
		columns[i].mapping = x->types[i].mapping;
		columns[i].grown = grown[i];
		if (at < 0)
			continue;
		columns[i].actual = x->existing->columns[at].type;
		columns[i].not_null = x->existing->columns[at].not_null;
		columns[i].fit = bigquery_type_fit(&x->types[i],
						   columns[i].actual, grown[i]);
	}
}

/* Names, kinds and owners of what is there. */
static void ddl_check_place(struct ddl *x)
{
	const struct bigquery_existing *e = x->existing;
	bool append = x->target->mode == LOAD_APPEND;
	bool there =
		e->has_data || e->data_is_view || (append && e->name_is_table);

	if (x->target->refresh && there && !e->created && !x->target->force)
		ddl_refuse(x, "not-ours",
			   "run with --full-refresh to replace it, or choose "
			   "another table",
			   "exists and was not made by Tidemark, so it is not "
			   "replaced");
	if (e->data_is_view)
		ddl_refuse(x, "target-is-view", "choose another table",
			   "is a view and cannot be loaded");
	if (append && e->name_is_view && !e->has_data && !e->created)
		ddl_refuse(x, "view-not-ours", "choose another table name",
			   "is a view that Tidemark did not make");
	if (append && e->name_is_table)
		ddl_refuse(x, "view-is-table",
			   "choose another table name, or mode upsert",
			   "is a table, but mode append makes a view of that "
			   "name");
	if (append && !x->target->refresh && e->has_data &&
	    bigquery_existing_find(e, NAME_RAW_SEQ) < 0)
		ddl_refuse(x, "not-a-raw-table",
			   "choose another table name, or rename the one "
			   "that ends in _raw",
			   "its _raw table exists and has no _tidemark_seq");
}

static void ddl_check_column(struct ddl *x, size_t column)
{
	const struct schema *s = x->target->schema;
	const char *name = s->columns[column].name;
	const char *refused = bigquery_column_refused(name);

	if (refused)
		problems_add(&x->out->problems, SEVERITY_ERROR, ERROR_SCHEMA,
			     "column-name",
			     "give it another name under source.expressions",
			     "table %s: column %s %s: BigQuery does not take "
			     "it",
			     x->target->table, name, refused);
	for (size_t j = 0; j < column; j++)
		if (!strcasecmp(name, s->columns[j].name))
			problems_add(&x->out->problems, SEVERITY_ERROR,
				     ERROR_SCHEMA, "names-collide",
				     "rename one under source.expressions",
				     "table %s: columns %s and %s are one name "
				     "to BigQuery",
				     x->target->table, s->columns[j].name,
				     name);
}

static void ddl_check_names(struct ddl *x)
{
	const struct schema *s = x->target->schema;

	if (!s->n_key)
		ddl_refuse(x, "no-key", "name one under key",
			   "has no key to load by");
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
	const struct bigquery_existing *e = x->existing;
	struct bigquery_numbers found;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (e->created || (e->known && e->mark.rows_total > 0) ||
	    x->target->mode == LOAD_APPEND || x->out->problems.n)
		return 0;
	strbuf_addf(&sql,
		    "SELECT COUNT(*) FROM (SELECT 1 AS one FROM %s GROUP BY ",
		    x->place->quoted_data);
	bigquery_sql_keys(&sql, x->target->schema, "");
	strbuf_addstr(&sql, " HAVING COUNT(*) > 1 LIMIT 1)");
	rc = bigquery_execute(x->d, sql.data, NULL, &found, err);
	if (!rc && found.values[0])
		ddl_refuse(x, "key-repeats",
			   "remove the duplicates, or choose another key",
			   "holds a key more than once");
	strbuf_release(&sql);
	return rc;
}

/* Worth a look only when the mark says that rows are there. */
static int ddl_check_emptied(struct ddl *x, struct error *err)
{
	const struct bigquery_existing *e = x->existing;
	struct bigquery_numbers found;
	char *sql;
	int rc;

	if (!e->mark.watermark || !e->delivered || x->out->added.n || e->rows)
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
	const struct schema *s = x->target->schema;
	struct drift_column *columns = xcalloc(s->n_columns, sizeof(*columns));
	char(*grown)[BIGQUERY_TYPE_SIZE] =
		xcalloc(s->n_columns, sizeof(*grown));
	enum drift_step *steps = xcalloc(s->n_columns, sizeof(*steps));
	struct drift_extra *extras =
		xcalloc(x->existing->n_columns + 1, sizeof(*extras));
	struct drift_table table = {
		.columns = columns,
		.extras = extras,
		.n_extras = exists ? ddl_extras(x, extras) : 0,
		.exists = exists,
		.known = x->existing->known,
		.created = x->existing->created,
	};

	ddl_columns(x, columns, grown, exists);
	drift_decide(x->target, &table, steps, x->out);
	if (exists)
		ddl_alter(x, steps, columns);
	free(columns);
	free(grown);
	free(steps);
	free(extras);
}

static void ddl_view(struct ddl *x)
{
	const struct bigquery_existing *e = x->existing;
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
		     const struct bigquery_place *p,
		     const struct bigquery_existing *e,
		     const struct bigquery_type *types, struct inspection *out,
		     struct error *err)
{
	struct ddl x = { d, target, p, e, types, out };
	bool exists = e->has_data && !target->refresh;
	int rc = 0;

	out->table_exists = e->has_data;
	ddl_check_names(&x);
	ddl_check_place(&x);
	ddl_drift(&x, exists);
	if (!exists)
		ddl_create(&x);
	ddl_view(&x);
	if (exists)
		rc = ddl_check_emptied(&x, err);
	out->anew = !exists || !e->known || out->added.n;
	return rc || !exists ? rc : ddl_check_keys(&x, err);
}

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "destinations/bigquery/internal.h"

/* A dry run that is killed leaves its copy no longer than that. */
#define PREVIEW_LIVES_US (INT64_C(3600) * US_PER_SECOND)

/* As the table is, or will be once the DDL has run. */
static void preview_columns(struct strbuf *sql, const struct target *target,
			    const struct existing *e,
			    const struct inspection *i)
{
	const struct schema *s = target->schema;

	for (size_t c = 0; c < e->n_columns; c++) {
		long at = schema_find_folded(s, e->columns[c].name);

		strbuf_addf(sql, "%s`%s` %s", c ? ", " : "", e->columns[c].name,
			    at < 0 ? e->columns[c].type
				   : i->columns[at].destination_type);
	}
	for (size_t c = 0; c < s->n_columns; c++)
		if (existing_find(e, s->columns[c].name) < 0)
			strbuf_addf(sql, ", `%s` %s", s->columns[c].name,
				    i->columns[c].destination_type);
}

static char *preview_create(struct bigquery_destination *d,
			    const struct target *target,
			    const struct existing *e,
			    const struct inspection *i, const char *quoted,
			    bool exists)
{
	struct strbuf sql = STRBUF_INIT;
	char *whole;

	if (exists) {
		strbuf_addf(&sql, "CREATE TABLE %s (", quoted);
		preview_columns(&sql, target, e, i);
		strbuf_addch(&sql, ')');
	} else {
		whole = bigquery_ddl_create(d, target, quoted, d->types,
					    d->kept.data);
		strbuf_addstr(&sql, whole);
		free(whole);
	}
	strbuf_addf(&sql,
		    " OPTIONS (expiration_timestamp = TIMESTAMP_MICROS(%" PRId64
		    "))",
		    clock_now_us() + PREVIEW_LIVES_US);
	return strbuf_detach(&sql);
}

static void preview_names(struct strbuf *sql, const struct existing *e,
			  const char *alias)
{
	for (size_t i = 0; i < e->n_columns; i++) {
		const char *name = e->columns[i].name;

		strbuf_addstr(sql, i ? ", " : "");
		if (*alias && !strcasecmp(name, NAME_RAW_SEQ))
			strbuf_addstr(sql, NAME_RAW_FIRST);
		else
			strbuf_addf(sql, "%s`%s`", alias, name);
	}
}

/* Copy the table's rows of the staged keys, unless the copy has them
 * already, perhaps as an earlier batch has left them. A raw table gives its
 * newest rows. */
static char *preview_pull(const struct bigquery_destination *d,
			  const struct existing *e)
{
	const struct schema *s = d->target->schema;
	const char *table = d->place.quoted_data;
	struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql, "INSERT INTO %s (", d->into);
	preview_names(&sql, e, "");
	strbuf_addstr(&sql, ") SELECT ");
	preview_names(&sql, e, "_tidemark_t.");
	if (d->target->mode == LOAD_APPEND) {
		strbuf_addf(&sql,
			    " FROM (SELECT * FROM %s WHERE TRUE QUALIFY "
			    "ROW_NUMBER() OVER (PARTITION BY ",
			    table);
		bigquery_sql_partition(&sql, s);
		strbuf_addstr(&sql, " ORDER BY " NAME_RAW_SEQ
				    " DESC) = 1) _tidemark_t");
	} else {
		strbuf_addf(&sql, " FROM %s _tidemark_t", table);
	}
	strbuf_addstr(&sql, " WHERE EXISTS (SELECT 1 FROM ");
	bigquery_sql_staged(&sql, d);
	strbuf_addstr(&sql, " _tidemark_s WHERE ");
	bigquery_sql_key_join(&sql, s);
	strbuf_addf(&sql,
		    ") AND NOT EXISTS (SELECT 1 FROM %s _tidemark_s WHERE ",
		    d->into);
	bigquery_sql_key_join(&sql, s);
	strbuf_addch(&sql, ')');
	return strbuf_detach(&sql);
}

int bigquery_preview_make(struct bigquery_destination *d,
			  const struct target *target, const struct existing *e,
			  const struct inspection *i, struct error *err)
{
	bool exists = e->has_data && !target->refresh;
	char *name = xstrfmt("%s_copy", d->stage), *sql;
	int rc;

	free(d->previewed);
	d->previewed = xstrdup(target->refresh ? d->place.quoted_anew
					       : d->place.quoted_data);
	free(d->copy);
	d->copy = name;
	free(d->quoted_copy);
	d->quoted_copy = bigquery_place_quote(d, d->place.dataset, name);
	d->into = d->quoted_copy;
	sql = preview_create(d, target, e, i, d->into, exists);
	rc = bigquery_execute(d, sql, NULL, NULL, err);
	free(sql);
	free(d->pull);
	d->pull = exists ? preview_pull(d, e) : NULL;
	return rc;
}

int bigquery_destination_preview(struct destination *base,
				 const struct batch *batch,
				 const struct checkpoint *next,
				 struct load_counts *out, struct error *err)
{
	struct bigquery_destination *d = (struct bigquery_destination *)base;
	int rc = bigquery_load_batch(d, batch, next, out, err);

	if (!rc) /* numbers of raw rows */
		d->seen.rows_total += (int64_t)batch->n_rows;
	return rc;
}

/* The cost of a batch: the bytes of the table that it reads. */
static char *preview_cost(struct bigquery_destination *d, const char *sql)
{
	const struct bigquery_parameter values[] = {
		{ .name = "batch", .type = "STRING", .value = "" },
		{ .name = "seq", .type = "INT64", .value = "0" },
	};
	const struct bigquery_query query = { .sql = sql,
					      .parameters = values,
					      .n_parameters =
						      ARRAY_SIZE(values) };
	struct error ignored = ERROR_INIT;
	int64_t bytes = -1;

	if (bigquery_dry_run(d->client, &query, &bytes, &ignored) || bytes < 0)
		return xstrdup("BigQuery does not say how many bytes it reads");
	return xstrfmt("BigQuery reads %" PRId64 " bytes of the table for each "
		       "batch and bills them: larger batches (batch.rows) "
		       "cost less",
		       bytes);
}

int bigquery_destination_explain(struct destination *base,
				 struct explanation *out, struct error *err)
{
	struct bigquery_destination *d = (struct bigquery_destination *)base;
	struct strbuf sql = STRBUF_INIT;
	char *cost;
	int rc = bigquery_stage_make(d, err);

	if (rc)
		return rc;
	bigquery_sql_merge(&sql, d, d->previewed, false);
	cost = d->pull ? preview_cost(d, sql.data)
		       : xstrdup("the table is not there yet: what is read of "
				 "it is what was loaded before");
	explanation_add(out,
			d->target->mode == LOAD_APPEND	 ? "insert"
			: d->target->mode == LOAD_UPDATE ? "update"
							 : "merge",
			sql.data, NULL, cost);
	free(cost);
	strbuf_release(&sql);
	return 0;
}

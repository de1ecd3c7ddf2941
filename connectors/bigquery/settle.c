/*
 * What is settled in a BigQuery table: nobody tells which jobs are writing, so
 * the clock of the service is all there is to go by, and the guarantee is no
 * more than that of the lag.
 */
#include <stdlib.h>
#include <string.h>

#include "connectors/bigquery/source.h"
#include "connectors/common/delivered.h"
#include "connectors/common/settle.h"
#include "connectors/common/trouble.h"
#include "connectors/common/wall_clock.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

static int settle_ask(struct bqsrc *s, const char *sql, char **out,
		      struct error *err)
{
	struct paged_answer a = { 0 };
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	strbuf_addstr(&q.sql, sql);
	rc = bqsrc_query(&s->paged, &q, &a, err);
	*out = !rc && a.n_rows ? xstrdup(paged_cell(&a, 0, 0)) : NULL;
	paged_answer_release(&a);
	paged_query_release(&q);
	return rc;
}

static int settle_clock(struct bqsrc *s, int64_t *us, struct error *err)
{
	char *text = NULL;
	int rc = settle_ask(s, "SELECT UNIX_MICROS(CURRENT_TIMESTAMP()) AS n",
			    &text, err);

	*us = text ? strtoll(text, NULL, 10) : 0;
	free(text);
	return rc;
}

static int settle_timestamp(struct bqsrc *s, const struct watermark_spec *mark,
			    const struct watermark *from, struct settled *out,
			    struct error *err)
{
	const struct source_column *column = source_mark(&s->paged.layout);
	int64_t now_us = 0, settled_us = 0, value_us, us;
	int rc = settle_clock(s, &now_us, err);

	us = now_us - (mark->settle ? SETTLE_MARGIN_US : 0);
	out->lag_us = now_us - us;
	if (!rc && column->type.kind != TYPE_TIMESTAMPTZ)
		rc = wall_clock_at(mark->time_zone, us, &us, err);
	if (rc)
		return rc;
	out->value = settle_text(&column->type, us);
	if (!from->value)
		return 0;
	if (!settle_read(&column->type, from->value, &value_us) ||
	    !settle_read(&column->type, out->value, &settled_us))
		return error_set(err, ERROR_SCHEMA,
				 "the mark's value '%s' is no point in time",
				 from->value);
	return settle_keep_mark(&column->type, now_us, value_us, settled_us,
				from, out, err);
}

static int settle_sequence(struct bqsrc *s, const struct watermark *from,
			   struct settled *out, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	char *sql = xstrfmt("SELECT MAX(%s) AS m FROM %s AS %s",
			    source_mark(l)->sql, l->table.sql, l->table.alias);
	int rc = settle_ask(s, sql, &out->value, err);

	free(sql);
	if (!rc && from->value &&
	    (!out->value || number_is_greater(from->value, out->value))) {
		free(out->value);
		out->value = xstrdup(from->value);
	}
	out->lag_us = 0;
	return rc;
}

static void settle_explain(const struct bqsrc *s,
			   const struct watermark_spec *mark,
			   struct settled *out)
{
	const struct source_column *column = source_mark(&s->paged.layout);
	struct strbuf reason = STRBUF_INIT;

	out->guarantee = GUARANTEE_EXACT;
	settle_weaken(out, GUARANTEE_LAG);
	reason_add(&reason, "BigQuery does not tell which jobs are still "
			    "writing: watermark.lag has to cover how long the "
			    "longest of them takes");
	if (mark->strategy == STRATEGY_TIMESTAMP &&
	    column->type.kind != TYPE_TIMESTAMPTZ &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(column->name, out, &reason);
	if (!mark->settle)
		settle_explain_off(mark, out, &reason);
	out->reason = strbuf_detach(&reason);
}

int bqsrc_settle(struct connector *base, const struct source_spec *source,
		 const struct schema *schema, const struct watermark_spec *mark,
		 const struct watermark *from, struct settled *out,
		 struct error *err)
{
	struct bqsrc *s = (struct bqsrc *)base;
	int rc = paged_layout_for(&s->paged, source, mark, err);

	(void)schema;
	settled_release(out);
	if (!rc)
		rc = mark->strategy == STRATEGY_TIMESTAMP
			     ? settle_timestamp(s, mark, from, out, err)
			     : settle_sequence(s, from, out, err);
	if (!rc)
		settle_explain(s, mark, out);
	return rc ? rc : failpoint("ceiling_taken", err);
}

/* A table that is dropped and made again has another time of creation. */
int bqsrc_identity(struct connector *base, const struct source_spec *source,
		   json_t **out, struct error *err)
{
	struct bqsrc *s = (struct bqsrc *)base;
	const struct source_column *mark = source_mark(&s->paged.layout);

	(void)err;
	*out = json_pack("{s:s, s:s, s:s}", "engine", "bigquery", "project",
			 bigquery_project(s->client), "table", source->table);
	if (s->created)
		json_object_set_new(*out, "created", json_string(s->created));
	if (s->paged.described == source && mark)
		json_object_set_new(
			*out, "mark_meaning",
			json_string(settle_meaning(mark->type.kind)));
	return 0;
}

static int settle_inspect_zone(const struct bqsrc *s, const char *table,
			       const struct watermark_spec *mark,
			       struct problems *out, struct error *err)
{
	const struct source_column *column = source_mark(&s->paged.layout);
	struct error why = ERROR_INIT;
	int64_t wall;
	int rc;

	if (mark->strategy != STRATEGY_TIMESTAMP ||
	    column->type.kind == TYPE_TIMESTAMPTZ)
		return 0;
	if (wall_clock_is_unknown(mark->time_zone)) {
		report_zone_unknown(out, table, column->name, "");
		return 0;
	}
	rc = wall_clock_at(mark->time_zone, 0, &wall, &why);
	return report_zone(out, rc, &why, err);
}

int bqsrc_inspect(struct connector *base, const struct source_spec *source,
		  const struct watermark_spec *mark,
		  const struct schema *schema, struct problems *out,
		  struct error *err)
{
	struct bqsrc *s = (struct bqsrc *)base;
	int rc = paged_inspect(&s->paged, source, mark, out, err);

	(void)schema;
	return rc ? rc : settle_inspect_zone(s, source->table, mark, out, err);
}

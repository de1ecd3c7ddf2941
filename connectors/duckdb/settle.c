/*
 * What is settled in a DuckDB file.
 *
 * A process that writes such a file has it for itself: that it could be opened
 * at all, read-only, proves that no other process has a transaction open, and
 * while it is open none can begin. So all that was written before is there,
 * and what is written later carries a later now(). A destination of this very
 * process may have the file open too; it is not loading while this is asked.
 * Two clocks are compared, that of whoever wrote and ours, on one host: the
 * margin is that of the other engines.
 */
#include <stdlib.h>

#include "connectors/common/delivered.h"
#include "connectors/common/settle.h"
#include "connectors/common/trouble.h"
#include "connectors/common/wall_clock.h"
#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

static int settle_timestamp(struct dksrc *s, const struct watermark_spec *mark,
			    const struct watermark *from, struct settled *out,
			    struct error *err)
{
	const struct source_column *column = source_mark(&s->paged.layout);
	int64_t now_us = clock_now_us(), settled_us = 0, value_us;
	int64_t us = now_us - (mark->settle ? SETTLE_MARGIN_US : 0);
	int rc = 0;

	out->lag_us = now_us - us;
	if (column->type.kind != TYPE_TIMESTAMPTZ)
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

static int settle_sequence(struct dksrc *s, const struct watermark *from,
			   struct settled *out, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	struct paged_answer a = { 0 };
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	strbuf_addf(&q.sql, "SELECT max(%s) AS m FROM %s AS %s",
		    source_mark(l)->sql, l->table.sql, l->table.alias);
	rc = dksrc_query(&s->paged, &q, &a, err);
	if (!rc)
		out->value = xstrdup(paged_cell(&a, 0, 0));
	paged_answer_release(&a);
	paged_query_release(&q);
	if (!rc && from->value &&
	    (!out->value || number_is_greater(from->value, out->value))) {
		free(out->value);
		out->value = xstrdup(from->value);
	}
	out->lag_us = 0;
	return rc;
}

static void settle_explain(const struct dksrc *s,
			   const struct watermark_spec *mark,
			   struct settled *out)
{
	const struct source_column *column = source_mark(&s->paged.layout);
	struct strbuf reason = STRBUF_INIT;

	out->guarantee = GUARANTEE_EXACT;
	if (mark->strategy == STRATEGY_TIMESTAMP &&
	    column->type.kind != TYPE_TIMESTAMPTZ &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(column->name, out, &reason);
	if (!mark->settle)
		settle_explain_off(mark, out, &reason);
	out->reason = strbuf_detach(&reason);
}

int dksrc_settle(struct connector *base, const struct source_spec *source,
		 const struct schema *schema, const struct watermark_spec *mark,
		 const struct watermark *from, struct settled *out,
		 struct error *err)
{
	struct dksrc *s = (struct dksrc *)base;
	int rc = dksrc_enter(s, err);

	(void)schema;
	settled_release(out);
	if (!rc)
		rc = paged_layout_for(&s->paged, source, mark, err);
	if (!rc)
		rc = mark->strategy == STRATEGY_TIMESTAMP
			     ? settle_timestamp(s, mark, from, out, err)
			     : settle_sequence(s, from, out, err);
	if (!rc)
		settle_explain(s, mark, out);
	dksrc_leave(s);
	return rc ? rc : failpoint("ceiling_taken", err);
}

/* Nothing in a DuckDB file tells a table from one of its name made anew: its
 * numbers are given out again at each opening. */
int dksrc_identity(struct connector *base, const struct source_spec *source,
		   json_t **out, struct error *err)
{
	struct dksrc *s = (struct dksrc *)base;
	const struct source_column *mark = source_mark(&s->paged.layout);

	(void)err;
	*out = json_pack("{s:s, s:s}", "engine", "duckdb", "table",
			 source->table);
	if (s->paged.described == source && mark)
		json_object_set_new(
			*out, "mark_meaning",
			json_string(settle_meaning(mark->type.kind)));
	return 0;
}

static int settle_inspect_zone(const struct dksrc *s, const char *table,
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

int dksrc_inspect(struct connector *base, const struct source_spec *source,
		  const struct watermark_spec *mark,
		  const struct schema *schema, struct problems *out,
		  struct error *err)
{
	struct dksrc *s = (struct dksrc *)base;
	int rc = dksrc_enter(s, err);

	(void)schema;
	if (!rc)
		rc = paged_inspect(&s->paged, source, mark, out, err);
	if (!rc)
		rc = settle_inspect_zone(s, source->table, mark, out, err);
	dksrc_leave(s);
	return rc;
}

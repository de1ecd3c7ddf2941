/*
 * What is settled in ClickHouse: nothing that could be proven. An insert takes
 * the time of its rows when it begins, and they are seen when it ends; no list
 * says reliably what is under way in all replicas. So the server's clock less
 * a margin counts, and the guarantee is `lag`: watermark.lag says how long an
 * insert may take.
 */
#include <stdlib.h>
#include <string.h>

#include "connectors/clickhouse/source.h"
#include "connectors/common/delivered.h"
#include "connectors/common/settle.h"
#include "connectors/common/trouble.h"
#include "connectors/common/wall_clock.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"

static int settle_now(struct chsrc *s, int64_t *out, struct error *err)
{
	struct clickhouse_rows rows;
	int rc = clickhouse_query(
		s->db, "SELECT toUnixTimestamp64Micro(now64(6))", &rows, err);

	*out = rc ? 0 : clickhouse_rows_i64(&rows, 0);
	clickhouse_rows_release(&rows);
	return rc;
}

static int settle_timestamp(struct chsrc *s, const struct watermark_spec *mark,
			    const struct watermark *from, struct settled *out,
			    struct error *err)
{
	const struct source_column *column = source_mark(&s->paged.layout);
	int64_t now_us = 0, settled_us = 0, value_us, us;
	int rc = settle_now(s, &now_us, err);

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

/* max() of no rows is 0 here, not NULL. */
static int settle_sequence(struct chsrc *s, const struct watermark *from,
			   struct settled *out, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	struct clickhouse_rows rows;
	char *sql = xstrfmt("SELECT if(count() = 0, NULL, toString(max(%s))) "
			    "FROM %s AS %s",
			    source_mark(l)->sql, l->table.sql, l->table.alias);
	int rc = clickhouse_query(s->db, sql, &rows, err);

	free(sql);
	if (!rc && rows.n_rows)
		out->value = xstrdup(clickhouse_cell(&rows, 0, 0));
	clickhouse_rows_release(&rows);
	if (!rc && from->value &&
	    (!out->value || number_is_greater(from->value, out->value))) {
		free(out->value);
		out->value = xstrdup(from->value);
	}
	out->lag_us = 0;
	return rc;
}

static void settle_explain(const struct chsrc *s,
			   const struct watermark_spec *mark,
			   struct settled *out)
{
	const struct source_column *column = source_mark(&s->paged.layout);
	struct strbuf reason = STRBUF_INIT;

	out->guarantee = GUARANTEE_EXACT;
	reason_add(&reason,
		   "ClickHouse does not tell which inserts are under way: a "
		   "row of one may be seen late; watermark.lag covers as long "
		   "as they take");
	settle_weaken(out, GUARANTEE_LAG);
	if (mark->strategy == STRATEGY_TIMESTAMP &&
	    column->type.kind != TYPE_TIMESTAMPTZ &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(column->name, out, &reason);
	if (!mark->settle)
		settle_explain_off(mark, out, &reason);
	out->reason = strbuf_detach(&reason);
}

int chsrc_settle(struct connector *base, const struct source_spec *source,
		 const struct schema *schema, const struct watermark_spec *mark,
		 const struct watermark *from, struct settled *out,
		 struct error *err)
{
	struct chsrc *s = (struct chsrc *)base;
	int rc;

	(void)schema;
	paged_end_pass(&s->paged);
	settled_release(out);
	rc = paged_layout_for(&s->paged, source, mark, err);
	if (!rc)
		rc = mark->strategy == STRATEGY_TIMESTAMP
			     ? settle_timestamp(s, mark, from, out, err)
			     : settle_sequence(s, from, out, err);
	if (!rc)
		settle_explain(s, mark, out);
	return rc ? rc : failpoint("ceiling_taken", err);
}

/* A view that is made anew is the same view. */
int chsrc_identity(struct connector *base, const struct source_spec *source,
		   json_t **out, struct error *err)
{
	struct chsrc *s = (struct chsrc *)base;
	const struct source_layout *l = &s->paged.layout;
	const struct source_column *mark = source_mark(l);

	(void)err;
	*out = json_pack("{s:s, s:s}", "engine", "clickhouse", "table",
			 source->table);
	if (s->paged.described != source)
		return 0;
	if (!l->table.view && l->table.created)
		json_object_set_new(*out, "table_uuid",
				    json_string(l->table.created));
	if (mark)
		json_object_set_new(
			*out, "mark_meaning",
			json_string(settle_meaning(mark->type.kind)));
	return 0;
}

static int settle_inspect_zone(const struct chsrc *s, const char *table,
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

int chsrc_inspect(struct connector *base, const struct source_spec *source,
		  const struct watermark_spec *mark,
		  const struct schema *schema, struct problems *out,
		  struct error *err)
{
	struct chsrc *s = (struct chsrc *)base;
	int rc = paged_inspect(&s->paged, source, mark, out, err);

	(void)schema;
	return rc ? rc : settle_inspect_zone(s, source->table, mark, out, err);
}

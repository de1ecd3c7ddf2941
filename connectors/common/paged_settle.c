#include <stdlib.h>

#include "connectors/common/paged.h"
#include "connectors/common/settle.h"
#include "connectors/common/tick.h"
#include "connectors/common/trouble.h"
#include "connectors/common/wall_clock.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/units.h"

/* The one value that a statement returns; NULL is NULL. Caller frees. */
static int settle_ask(struct paged_source *s, const struct paged_query *q,
		      char **out, struct error *err)
{
	struct paged_answer a = { 0 };
	int rc = paged_ask(s, q, "?", &a, err);

	*out = !rc && a.n_rows ? xstrdup(paged_cell(&a, 0, 0)) : NULL;
	paged_answer_release(&a);
	return rc;
}

static int settle_now(struct paged_source *s, int64_t *us, struct error *err)
{
	struct paged_query q;
	char *text = NULL;
	int rc;

	if (!s->dialect->clock) {
		*us = clock_now_us();
		return 0;
	}
	paged_query_init(&q);
	strbuf_addstr(&q.sql, s->dialect->clock);
	rc = settle_ask(s, &q, &text, err);
	*us = text ? units_bounded(text, CLOCK_MOST_US) : 0;
	paged_query_release(&q);
	free(text);
	return rc;
}

/* The mark shows some wall clock. */
static bool settle_is_zoneless(const struct watermark_spec *mark,
			       const struct source_column *column)
{
	return mark->strategy == STRATEGY_TIMESTAMP &&
	       column->type.kind != TYPE_TIMESTAMPTZ;
}

static int settle_timestamp(struct paged_source *s,
			    const struct watermark_spec *mark,
			    const struct watermark *from, struct settled *out,
			    struct strbuf *reason, struct error *err)
{
	const struct source_column *column = source_mark(&s->layout);
	struct settle_clock clock = { .days = column->type.kind == TYPE_DATE };
	int64_t value_us, us;
	int rc = settle_now(s, &clock.now_us, err);

	us = clock.now_us - (mark->settle ? SETTLE_MARGIN_US : 0);
	out->lag_us = clock.now_us - us;
	if (settle_is_zoneless(mark, column))
		clock.zone = mark->time_zone;
	if (!rc && settle_is_zoneless(mark, column))
		rc = wall_clock_at(mark->time_zone, us, &us, err);
	if (rc)
		return rc;
	out->value = settle_text(&column->type, us);
	if (!from->value)
		return 0;
	if (!settle_read(&column->type, from->value, &value_us) ||
	    !settle_read(&column->type, out->value, &clock.latest_us))
		return settle_no_time(from->value, s->described, err);
	return settle_keep_mark(&clock, value_us, clock.latest_us, from, out,
				reason, err);
}

static int settle_sequence(struct paged_source *s, const struct watermark *from,
			   struct settled *out, struct error *err)
{
	const struct source_table *table = &s->layout.table;
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	strbuf_addstr(&q.sql, "SELECT ");
	s->dialect->newest(&q.sql, source_mark(&s->layout));
	strbuf_addf(&q.sql, " AS m FROM %s AS %s", table->sql, table->alias);
	rc = settle_ask(s, &q, &out->value, err);
	paged_query_release(&q);
	if (!rc)
		settle_keep_number(from, out);
	out->lag_us = 0;
	return rc;
}

static bool settle_is_coarse(const struct paged_source *s,
			     const struct watermark_spec *mark,
			     const struct source_column *c)
{
	const char *const *plain = s->dialect->plain;

	return plain && mark->strategy == STRATEGY_TIMESTAMP &&
	       !(tick_is_plain(c->expression, &c->type, plain) &&
		 tick_is_plain(c->computed, &c->type, plain));
}

static void settle_explain(const struct paged_source *s,
			   const struct watermark_spec *mark,
			   struct settled *out, struct strbuf *reason)
{
	const struct source_column *column = source_mark(&s->layout);

	if (s->dialect->late) {
		reason_add(reason, "%s", s->dialect->late);
		settle_weaken(out, GUARANTEE_LAG);
	}
	if (settle_is_zoneless(mark, column) &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(column->name, out, reason);
	if (settle_is_coarse(s, mark, column))
		tick_explain(column->name,
			     tick_doubt(column->expression, column->computed),
			     out, reason);
	if (!mark->settle)
		settle_explain_off(mark, out, reason);
}

int paged_settle(struct connector *base, const struct source_spec *source,
		 const struct schema *schema, const struct watermark_spec *mark,
		 const struct watermark *from, struct settled *out,
		 struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	struct strbuf reason = STRBUF_INIT;
	int rc;

	(void)schema;
	paged_end_pass(s);
	settled_release(out);
	if (!mark)
		return settle_whole(out);
	out->guarantee = GUARANTEE_EXACT;
	rc = paged_layout_for(s, source, mark, err);
	if (!rc)
		rc = mark->strategy == STRATEGY_TIMESTAMP
			     ? settle_timestamp(s, mark, from, out, &reason,
						err)
			     : settle_sequence(s, from, out, err);
	if (!rc)
		settle_explain(s, mark, out, &reason);
	out->reason = strbuf_detach(&reason);
	return rc ? rc : failpoint("ceiling_taken", err);
}

void paged_identify_mark(const struct paged_source *s,
			 const struct source_spec *source, json_t *identity)
{
	const struct source_column *mark = source_mark(&s->layout);

	if (s->described == source && mark)
		json_object_set_new(
			identity, "mark_meaning",
			json_string(settle_meaning(mark->type.kind)));
}

int paged_inspect_clock(struct connector *base,
			const struct source_spec *source,
			const struct watermark_spec *mark,
			const struct schema *schema, struct problems *out,
			struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	const struct source_column *column;
	struct error why = ERROR_INIT;
	int64_t wall;
	int rc = paged_inspect(s, source, mark, out, err);

	(void)schema;
	if (rc || !mark)
		return rc;
	column = source_mark(&s->layout);
	if (settle_is_coarse(s, mark, column))
		tick_report(out, source->table, column->name,
			    tick_doubt(column->expression, column->computed));
	if (!settle_is_zoneless(mark, column))
		return 0;
	if (wall_clock_is_unknown(mark->time_zone)) {
		report_zone_unknown(out, source->table, column->name, "");
		return 0;
	}
	rc = wall_clock_at(mark->time_zone, 0, &wall, &why);
	return report_zone(out, rc, &why, err);
}

#include <inttypes.h>
#include <stdlib.h>

#include "connectors/mysql/source.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

bool mysrc_has_lag(const struct mysrc *c)
{
	const struct watermark_spec *mark = c->pass.scan->mark;

	return mark->strategy == STRATEGY_TIMESTAMP ? mark->lag_us > 0
						    : mark->lag_count > 0;
}

/* The position where the run began, in the total order; false if only the
 * mark is known: rows at the mark itself are still to be read. */
static bool bounds_from(const struct mysrc *c, struct strlist *out)
{
	const struct mysrc_layout *l = &c->layout;
	const struct watermark *from = c->pass.scan->from;

	if (!from->value || from->key.n != l->n_key)
		return false;
	for (size_t i = 0; i < l->n_order; i++) {
		const char *text = from->value;
		for (size_t k = 0; k < l->n_key; k++) {
			if (l->order[i] == l->key[k] &&
			    (long)l->order[i] != l->mark)
				text = from->key.items[k];
		}
		strlist_add(out, text);
	}
	return true;
}

/* The mark less the lag, as text. */
static char *bounds_earlier(const struct mysrc *c)
{
	const struct scan *scan = c->pass.scan;
	struct strbuf sb = STRBUF_INIT;
	int64_t us;
	int32_t days;

	if (mysrc_mark(&c->layout)->type.kind == TYPE_DATE &&
	    value_parse_date(scan->from->value, &days))
		us = days * US_PER_DAY;
	else if (!value_parse_timestamp(scan->from->value, &us))
		return xstrdup(scan->from->value);
	value_print_timestamp(&sb, us - scan->mark->lag_us, false);
	return strbuf_detach(&sb);
}

static void bounds_look_back(const struct mysrc *c, struct mysrc_query *q)
{
	const struct scan *scan = c->pass.scan;
	char *text;

	if (scan->mark->strategy == STRATEGY_TIMESTAMP) {
		text = bounds_earlier(c);
		mysrc_query_mark(q, &c->layout, ">=", text);
	} else {
		text = xstrfmt("%" PRId64, scan->mark->lag_count);
		strbuf_addf(&q->sql,
			    "%s >= CAST(? AS DECIMAL(65)) - "
			    "CAST(? AS DECIMAL(65))",
			    mysrc_mark(&c->layout)->sql);
		q->params[q->n++] = xstrdup(scan->from->value);
		q->params[q->n++] = xstrdup(text);
	}
	free(text);
}

void mysrc_write_reach(const struct mysrc *c, struct mysrc_query *q)
{
	const struct scan *scan = c->pass.scan;

	strbuf_addch(&q->sql, '(');
	if (!scan->from->value)
		strbuf_addstr(&q->sql, "true");
	else if (mysrc_has_lag(c))
		bounds_look_back(c, q);
	else
		mysrc_query_mark(q, &c->layout, ">=", scan->from->value);
	if (scan->from->value && scan->mark->nulls == NULLS_INCLUDE)
		strbuf_addf(&q->sql, " OR %s IS NULL",
			    mysrc_mark(&c->layout)->sql);
	strbuf_addch(&q->sql, ')');
}

void mysrc_write_begin(const struct mysrc *c, struct mysrc_query *q)
{
	const struct scan *scan = c->pass.scan;
	const struct mysrc_layout *l = &c->layout;
	struct strlist from = STRLIST_INIT;

	if (c->pass.step == STEP_NULLS)
		strbuf_addstr(&q->sql, "true");
	else if (c->pass.step == STEP_LAG)
		bounds_look_back(c, q);
	else if (c->pass.step == STEP_TAIL && scan->settled->value)
		mysrc_query_mark(q, l, ">", scan->settled->value);
	else if (bounds_from(c, &from))
		mysrc_query_beyond(q, l, 0, true, from.items);
	else if (scan->from->value)
		mysrc_query_mark(q, l, ">=", scan->from->value);
	else
		strbuf_addf(&q->sql, "%s IS NOT NULL", mysrc_mark(l)->sql);
	strlist_release(&from);
}

void mysrc_write_end(const struct mysrc *c, struct mysrc_query *q)
{
	const struct scan *scan = c->pass.scan;
	const struct mysrc_layout *l = &c->layout;
	struct strlist from = STRLIST_INIT;

	strbuf_addstr(&q->sql, " AND ");
	if (c->pass.step == STEP_NULLS)
		strbuf_addf(&q->sql, "%s IS NULL", mysrc_mark(l)->sql);
	else if (c->pass.step == STEP_SETTLED)
		mysrc_query_mark(q, l, "<=", scan->settled->value);
	else if (c->pass.step != STEP_LAG)
		strbuf_addstr(&q->sql, "true");
	else if (bounds_from(c, &from))
		mysrc_query_beyond(q, l, 0, false, from.items);
	else
		mysrc_query_mark(q, l, "<", scan->from->value);
	strlist_release(&from);
}

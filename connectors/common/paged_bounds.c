#include <stdlib.h>
#include <string.h>

#include "connectors/common/delivered.h"
#include "connectors/common/paged.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

/* The mark less the lag, as text. */
static char *bounds_earlier(const struct paged_source *s)
{
	const struct scan *scan = s->pass.scan;
	const char *text = scan->from->value;
	struct strbuf sb = STRBUF_INIT;
	int64_t us;
	int32_t days;

	if (scan->mark->strategy == STRATEGY_SEQUENCE)
		return number_less(text, scan->mark->lag_count);
	if (source_mark(&s->layout)->type.kind == TYPE_DATE &&
	    value_parse_date(text, &days)) {
		us = days * US_PER_DAY - scan->mark->lag_us;
		days = (int32_t)(us / US_PER_DAY - (us % US_PER_DAY < 0));
		value_print_date(&sb, days);
	} else if (value_parse_timestamp(text, &us)) {
		value_print_timestamp(&sb, us - scan->mark->lag_us,
				      source_mark(&s->layout)->type.kind ==
					      TYPE_TIMESTAMPTZ);
	} else {
		strbuf_addstr(&sb, text);
	}
	return strbuf_detach(&sb);
}

static void bounds_look_back(const struct paged_source *s,
			     struct paged_query *q)
{
	char *text = bounds_earlier(s);

	paged_write_mark(q, s, ">=", text);
	free(text);
}

void paged_write_range(struct paged_query *q, const struct paged_source *s,
		       const struct range *range)
{
	const char *mark = source_mark(&s->layout)->sql;

	if (range->nulls) {
		strbuf_addf(&q->sql, "%s IS NULL", mark);
		return;
	}
	if (range->from)
		paged_write_mark(q, s, ">=", range->from);
	else
		strbuf_addf(&q->sql, "%s IS NOT NULL", mark);
	if (!range->to)
		return;
	strbuf_addstr(&q->sql, " AND ");
	paged_write_mark(q, s, "<", range->to);
}

/* Behind the position, if there is one. */
static void bounds_write_rest(const struct paged_source *s,
			      struct paged_query *q)
{
	const struct range *range = s->pass.scan->range;
	const struct range all = { range->from, NULL, range->nulls };
	struct strlist from = STRLIST_INIT;

	if (!range->nulls && paged_pass_from(&s->pass, &from))
		paged_write_beyond(q, s, 0, true, from.items);
	else
		paged_write_range(q, s, &all);
	strlist_release(&from);
}

void paged_write_reach(const struct paged_source *s, struct paged_query *q)
{
	const struct scan *scan = s->pass.scan;

	if (scan->range) {
		paged_write_range(q, s, scan->range);
		return;
	}
	strbuf_addch(&q->sql, '(');
	if (!scan->from->value)
		strbuf_addstr(&q->sql, "true");
	else if (paged_pass_has_lag(&s->pass))
		bounds_look_back(s, q);
	else
		paged_write_mark(q, s, ">=", scan->from->value);
	if (scan->from->value && scan->mark->nulls == NULLS_INCLUDE)
		strbuf_addf(&q->sql, " OR %s IS NULL",
			    source_mark(&s->layout)->sql);
	strbuf_addch(&q->sql, ')');
}

void paged_write_begin(const struct paged_source *s, struct paged_query *q)
{
	const struct scan *scan = s->pass.scan;
	const struct source_layout *l = &s->layout;
	struct strlist from = STRLIST_INIT;

	if (scan->range)
		bounds_write_rest(s, q);
	else if (s->pass.step == PAGED_NULLS)
		strbuf_addstr(&q->sql, "true");
	else if (s->pass.step == PAGED_LAG)
		bounds_look_back(s, q);
	else if (s->pass.step == PAGED_TAIL && scan->settled->value)
		paged_write_mark(q, s, ">", scan->settled->value);
	else if (paged_pass_from(&s->pass, &from))
		paged_write_beyond(q, s, 0, true, from.items);
	else if (scan->from->value)
		paged_write_mark(q, s, ">=", scan->from->value);
	else
		strbuf_addf(&q->sql, "%s IS NOT NULL", source_mark(l)->sql);
	strlist_release(&from);
}

void paged_write_end(const struct paged_source *s, struct paged_query *q)
{
	const struct scan *scan = s->pass.scan;
	const struct source_layout *l = &s->layout;
	struct strlist from = STRLIST_INIT;

	strbuf_addstr(&q->sql, " AND ");
	if (s->pass.step == PAGED_NULLS)
		strbuf_addf(&q->sql, "%s IS NULL", source_mark(l)->sql);
	else if (scan->range && scan->range->to)
		paged_write_mark(q, s, "<", scan->range->to);
	else if (scan->range)
		strbuf_addstr(&q->sql, "1 = 1");
	else if (s->pass.step == PAGED_SETTLED)
		paged_write_mark(q, s, "<=", scan->settled->value);
	else if (s->pass.step != PAGED_LAG)
		strbuf_addstr(&q->sql, "true");
	else if (paged_pass_from(&s->pass, &from))
		paged_write_beyond(q, s, 0, false, from.items);
	else
		paged_write_mark(q, s, "<", scan->from->value);
	strlist_release(&from);
}

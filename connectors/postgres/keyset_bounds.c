#include <inttypes.h>
#include <stdlib.h>

#include "connectors/postgres/keyset.h"
#include "core/base/alloc.h"

void postgres_source_keyset_compare_mark(const struct postgres *c,
					 struct query *q,
					 const char *comparison,
					 const char *value)
{
	const struct source_column *mark = source_mark(&c->layout);

	postgres_source_query_ordered(q, mark);
	strbuf_addf(&q->sql, " %s ", comparison);
	postgres_source_query_value(q, mark->cast, value);
}

void postgres_source_keyset_write_range(const struct postgres *c,
					struct query *q,
					const struct range *range)
{
	const char *mark = source_mark(&c->layout)->sql;

	if (range->nulls) {
		strbuf_addf(&q->sql, "%s IS NULL", mark);
		return;
	}
	if (range->from)
		postgres_source_keyset_compare_mark(c, q, ">=", range->from);
	else
		strbuf_addf(&q->sql, "%s IS NOT NULL", mark);
	if (!range->to)
		return;
	strbuf_addstr(&q->sql, " AND ");
	postgres_source_keyset_compare_mark(c, q, "<", range->to);
}

/* One bound below, as for every page, and one above. */
static void keyset_write_rest(const struct postgres *c, struct query *q)
{
	const struct range *range = c->pass.scan->range;
	const struct range all = { range->from, NULL, range->nulls };
	struct strlist from = STRLIST_INIT;

	if (!range->nulls && paged_pass_from(&c->pass, &from))
		postgres_source_query_compare(q, &c->layout, 0, ">", &from);
	else
		postgres_source_keyset_write_range(c, q, &all);
	strlist_release(&from);
}

/* "mark >= value - lag", in the type's own arithmetic so that an index serves
 * it; integers do not fall off the end of their type. */
static void keyset_look_back(const struct postgres *c, struct query *q)
{
	const struct scan *scan = c->pass.scan;
	const struct source_column *mark = source_mark(&c->layout);
	char *lag = scan->mark->strategy == STRATEGY_TIMESTAMP
			    ? xstrfmt("%" PRId64 " microseconds",
				      scan->mark->lag_us)
			    : xstrfmt("%" PRId64, scan->mark->lag_count);

	strbuf_addf(&q->sql, "%s >= ", mark->sql);
	switch (postgres_source_wire(mark)->wire->oid) {
	case WIRE_TIMESTAMPTZ:
	case WIRE_TIMESTAMP:
	case WIRE_DATE:
		strbuf_addch(&q->sql, '(');
		postgres_source_query_value(q, mark->cast, scan->from->value);
		strbuf_addstr(&q->sql, " - ");
		postgres_source_query_value(q, "pg_catalog.interval", lag);
		strbuf_addf(&q->sql, ")::%s", mark->cast);
		break;
	default:
		strbuf_addstr(&q->sql, "greatest(");
		postgres_source_query_value(q, "pg_catalog.numeric",
					    scan->from->value);
		strbuf_addstr(&q->sql, " - ");
		postgres_source_query_value(q, "pg_catalog.numeric", lag);
		strbuf_addstr(
			&q->sql,
			postgres_source_wire(mark)->wire->oid == WIRE_NUMERIC
				? ", NULL)"
			: postgres_source_wire(mark)->wire->oid == WIRE_OID
				? ", 0)::pg_catalog.int8::oid"
				: ", -9223372036854775808)"
				  "::pg_catalog.int8");
	}
	free(lag);
}

void postgres_source_keyset_write_reach(const struct postgres *c,
					struct query *q)
{
	const struct scan *scan = c->pass.scan;

	if (scan->range) {
		postgres_source_keyset_write_range(c, q, scan->range);
		return;
	}
	if (!scan->from->value || c->pass.parts)
		strbuf_addstr(&q->sql, "true");
	else if (paged_pass_has_lag(&c->pass))
		keyset_look_back(c, q);
	else
		postgres_source_keyset_compare_mark(c, q,
						    ">=", scan->from->value);
	if (scan->from->value && scan->mark->nulls == NULLS_INCLUDE)
		strbuf_addf(&q->sql, " OR %s IS NULL",
			    source_mark(&c->layout)->sql);
}

void postgres_source_keyset_write_past(const struct postgres *c,
				       struct query *q)
{
	struct strlist from = STRLIST_INIT;

	if (paged_pass_has_lag(&c->pass) || !paged_pass_from(&c->pass, &from)) {
		postgres_source_keyset_write_reach(c, q);
	} else {
		postgres_source_query_compare(q, &c->layout, 0, ">", &from);
		if (c->pass.scan->mark->nulls == NULLS_INCLUDE)
			strbuf_addf(&q->sql, " OR %s IS NULL",
				    source_mark(&c->layout)->sql);
	}
	strlist_release(&from);
}

void postgres_source_keyset_write_begin(const struct postgres *c,
					struct query *q)
{
	const struct scan *scan = c->pass.scan;
	struct strlist from = STRLIST_INIT;

	if (scan->range) {
		keyset_write_rest(c, q);
		return;
	}
	switch (c->pass.step) {
	case PAGED_NULLS:
		strbuf_addstr(&q->sql, "true");
		break;
	case PAGED_PARTS:
		strbuf_addf(&q->sql, "%s IS NOT NULL",
			    source_mark(&c->layout)->sql);
		break;
	case PAGED_LAG:
		keyset_look_back(c, q);
		break;
	case PAGED_TAIL:
		if (scan->settled->value) {
			postgres_source_keyset_compare_mark(
				c, q, ">", scan->settled->value);
			break;
		}
		/* fall through */
	default:
		if (paged_pass_from(&c->pass, &from))
			postgres_source_query_compare(q, &c->layout, 0, ">",
						      &from);
		else if (scan->from->value)
			postgres_source_keyset_compare_mark(
				c, q, ">=", scan->from->value);
		else
			strbuf_addf(&q->sql, "%s IS NOT NULL",
				    source_mark(&c->layout)->sql);
	}
	strlist_release(&from);
}

void postgres_source_keyset_write_end(const struct postgres *c, struct query *q)
{
	const struct scan *scan = c->pass.scan;
	struct strlist from = STRLIST_INIT;

	strbuf_addstr(&q->sql, " AND ");
	if (scan->range && !scan->range->nulls) {
		if (scan->range->to)
			postgres_source_keyset_compare_mark(c, q, "<",
							    scan->range->to);
		else
			strbuf_addstr(&q->sql, "true");
		return;
	}
	switch (c->pass.step) {
	case PAGED_NULLS:
		strbuf_addf(&q->sql, "%s IS NULL",
			    source_mark(&c->layout)->sql);
		break;
	case PAGED_PARTS:
	case PAGED_LAG:
		if (paged_pass_from(&c->pass, &from))
			postgres_source_query_compare(q, &c->layout, 0,
						      "<=", &from);
		else
			postgres_source_keyset_compare_mark(c, q, "<",
							    scan->from->value);
		break;
	case PAGED_SETTLED:
		postgres_source_keyset_compare_mark(c, q,
						    "<=", scan->settled->value);
		break;
	default:
		strbuf_addstr(&q->sql, "true");
	}
	strlist_release(&from);
}

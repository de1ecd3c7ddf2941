#include <inttypes.h>
#include <stdlib.h>

#include "connectors/postgres/keyset.h"
#include "core/base/alloc.h"

bool postgres_source_keyset_has_lag(const struct postgres *c)
{
	const struct watermark_spec *mark = c->pass.scan->mark;

	return mark->strategy == STRATEGY_TIMESTAMP ? mark->lag_us > 0
						    : mark->lag_count > 0;
}

/* The position where the run began, in the total order. False if only the mark
 * is known: then rows at the mark itself are still to be read. */
static bool keyset_from(const struct postgres *c, struct strlist *out)
{
	const struct source_layout *l = &c->layout;
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

	if (!range->nulls && keyset_from(c, &from))
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
	if (!scan->from->value || postgres_source_keyset_has_leaf(c))
		strbuf_addstr(&q->sql, "true");
	else if (postgres_source_keyset_has_lag(c))
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

	if (postgres_source_keyset_has_lag(c) || !keyset_from(c, &from)) {
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
	switch (c->pass.keyset.step) {
	case KEYSET_NULLS:
		strbuf_addstr(&q->sql, "true");
		break;
	case KEYSET_LEAVES:
		strbuf_addf(&q->sql, "%s IS NOT NULL",
			    source_mark(&c->layout)->sql);
		break;
	case KEYSET_LAG:
		keyset_look_back(c, q);
		break;
	case KEYSET_TAIL:
		if (scan->settled->value) {
			postgres_source_keyset_compare_mark(
				c, q, ">", scan->settled->value);
			break;
		}
		/* fall through */
	default:
		if (keyset_from(c, &from))
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
	switch (c->pass.keyset.step) {
	case KEYSET_NULLS:
		strbuf_addf(&q->sql, "%s IS NULL",
			    source_mark(&c->layout)->sql);
		break;
	case KEYSET_LEAVES:
	case KEYSET_LAG:
		if (keyset_from(c, &from))
			postgres_source_query_compare(q, &c->layout, 0,
						      "<=", &from);
		else
			postgres_source_keyset_compare_mark(c, q, "<",
							    scan->from->value);
		break;
	case KEYSET_SETTLED:
		postgres_source_keyset_compare_mark(c, q,
						    "<=", scan->settled->value);
		break;
	default:
		strbuf_addstr(&q->sql, "true");
	}
	strlist_release(&from);
}

#include "connectors/postgres/query.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg.h"
#include "core/base/alloc.h"

void postgres_source_query_init(struct query *q, enum query_values values)
{
	memset(q, 0, sizeof(*q));
	q->values = values;
	strbuf_init(&q->sql);
}

void postgres_source_query_release(struct query *q)
{
	strbuf_release(&q->sql);
	for (int i = 0; i < q->n; i++)
		free(q->params[i]);
	postgres_source_query_init(q, q->values);
}

void postgres_source_query_value(struct query *q, const char *cast,
				 const char *value)
{
	q->params[q->n++] = xstrdup(value);
	strbuf_addf(&q->sql,
		    q->values == QUERY_STREAM ? PG_STREAM_VALUE : "$%d", q->n);
	strbuf_addf(&q->sql, "::%s", cast);
}

void postgres_source_query_adopt(struct query *q, struct query *part)
{
	memcpy(q->params, part->params, sizeof(q->params));
	q->n = part->n;
	part->n = 0;
}

/* ORDER BY prefers an output's name to a column's. So outputs get names that no
 * bare name in the user's SQL or in ORDER BY can mean. */
static void query_columns(struct query *q, const struct source_layout *l)
{
	size_t n = l->n_columns;

	if (l->mark == (long)n)
		n++;
	for (size_t i = 0; i < n; i++) {
		const struct source_column *c = l->columns[i];
		strbuf_addf(&q->sql, "%s%s%s AS \"tidemark %zu\"",
			    i ? ", " : "", c->sql,
			    postgres_source_wire(c)->wire->as_text
				    ? "::pg_catalog.text"
				    : "",
			    i);
	}
}

static void query_from(struct query *q, const struct source_layout *l,
		       const char *leaf)
{
	strbuf_addf(&q->sql, " FROM %s%s AS %s WHERE ", leaf ? "ONLY " : "",
		    leaf ? leaf : l->table.sql, l->table.alias);
	/* The user's SQL may end in a comment: the line's end closes it. */
	if (l->where)
		strbuf_addf(&q->sql, "(%s\n) AND ", l->where);
}

void postgres_source_query_select(struct query *q,
				  const struct source_layout *l,
				  const char *leaf, const char *extra)
{
	strbuf_addstr(&q->sql, "SELECT ");
	query_columns(q, l);
	strbuf_addstr(&q->sql, extra);
	query_from(q, l, leaf);
}

void postgres_source_query_count(struct query *q, const struct source_layout *l,
				 const char *what)
{
	strbuf_addf(&q->sql, "SELECT %s", what);
	query_from(q, l, NULL);
}

void postgres_source_query_ordered(struct query *q,
				   const struct source_column *c)
{
	strbuf_addf(&q->sql, "%s%s", c->sql,
		    postgres_source_wire(c)->collate ? " COLLATE \"C\"" : "");
}

void postgres_source_query_compare(struct query *q,
				   const struct source_layout *l, size_t first,
				   const char *comparison,
				   const struct strlist *values)
{
	strbuf_addch(&q->sql, '(');
	for (size_t i = first; i < l->n_order; i++) {
		strbuf_addstr(&q->sql, i > first ? ", " : "");
		postgres_source_query_ordered(q, l->columns[l->order[i]]);
	}
	strbuf_addf(&q->sql, ") %s (", comparison);
	for (size_t i = first; i < l->n_order; i++) {
		strbuf_addstr(&q->sql, i > first ? ", " : "");
		postgres_source_query_value(q, l->columns[l->order[i]]->cast,
					    values->items[i]);
	}
	strbuf_addch(&q->sql, ')');
}

void postgres_source_query_order(struct query *q, const struct source_layout *l,
				 size_t first)
{
	strbuf_addstr(&q->sql, " ORDER BY ");
	for (size_t i = first; i < l->n_order; i++) {
		strbuf_addstr(&q->sql, i > first ? ", " : "");
		postgres_source_query_ordered(q, l->columns[l->order[i]]);
	}
}

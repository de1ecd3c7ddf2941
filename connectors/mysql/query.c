#include "connectors/mysql/query.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void mysrc_query_init(struct mysrc_query *q)
{
	memset(q, 0, sizeof(*q));
	strbuf_init(&q->sql);
}

void mysrc_query_release(struct mysrc_query *q)
{
	strbuf_release(&q->sql);
	for (int i = 0; i < q->n; i++)
		free(q->params[i]);
	mysrc_query_init(q);
}

/* A unique index under the column's own collation has told its values apart
 * already: the collation is a total order of them, and the index's. */
bool mysrc_ordered_by_bytes(const struct mysrc_layout *l,
			    const struct mysrc_column *c)
{
	return c->how->order == ORDER_LABEL ||
	       (c->how->order == ORDER_TEXT && !l->key_unique);
}

void mysrc_query_ordered(struct strbuf *sb, const struct mysrc_layout *l,
			 const struct mysrc_column *c)
{
	if (mysrc_ordered_by_bytes(l, c))
		strbuf_addf(sb, "CAST(CONVERT(%s USING utf8mb4) AS BINARY)",
			    c->sql);
	else
		strbuf_addf(sb, "%s%s", c->sql,
			    c->how->order == ORDER_BITS ? " + 0" : "");
}

static void query_parameter(struct mysrc_query *q, const char *text, size_t n)
{
	q->params[q->n++] = xstrndup(text, n);
}

void mysrc_query_value(struct mysrc_query *q, const struct mysrc_layout *l,
		       const struct mysrc_column *c, const char *value)
{
	size_t n = strlen(value);

	/* The session's zone is UTC, and the server takes no "+00". */
	if (c->type.kind == TYPE_TIMESTAMPTZ && n > 3 &&
	    !strcmp(value + n - 3, "+00"))
		n -= 3;
	if (c->how->order == ORDER_BYTES && !strncmp(value, "\\x", 2)) {
		query_parameter(q, value + 2, n - 2);
		strbuf_addstr(&q->sql, "UNHEX(?)");
		return;
	}
	query_parameter(q, value, n);
	if (mysrc_ordered_by_bytes(l, c))
		strbuf_addstr(&q->sql, "CAST(? AS BINARY)");
	else
		strbuf_addstr(&q->sql, c->how->cast ? c->how->cast : "?");
}

void mysrc_query_select(struct mysrc_query *q, const struct mysrc_layout *l,
			const char *what)
{
	size_t n = l->n_columns + (l->mark == (long)l->n_columns);

	strbuf_addstr(&q->sql, "SELECT " MYSRC_TAG " ");
	for (size_t i = 0; !what && i < n; i++)
		strbuf_addf(&q->sql, "%s%s", i ? ", " : "",
			    l->columns[i]->output);
	strbuf_addf(&q->sql, "%s FROM %s AS %s%s WHERE ", what ? what : "",
		    l->table.sql, l->table.alias,
		    !what && l->hint ? l->hint : "");
	/* The user's SQL may end in a comment: the line's end closes it. */
	if (l->where)
		strbuf_addf(&q->sql, "(%s\n) AND ", l->where);
}

void mysrc_query_compare(struct mysrc_query *q, const struct mysrc_layout *l,
			 const struct mysrc_column *c, const char *comparison,
			 const char *value)
{
	mysrc_query_ordered(&q->sql, l, c);
	strbuf_addf(&q->sql, " %s ", comparison);
	mysrc_query_value(q, l, c, value);
}

void mysrc_query_mark(struct mysrc_query *q, const struct mysrc_layout *l,
		      const char *comparison, const char *value)
{
	mysrc_query_compare(q, l, mysrc_mark(l), comparison, value);
}

/* a >= 1 AND (a > 1 OR (a = 1 AND (b > 2 OR (b = 2 AND c > 3)))) */
void mysrc_query_beyond(struct mysrc_query *q, const struct mysrc_layout *l,
			size_t first, bool above, char *const *values)
{
	const char *strict = above ? ">" : "<", *loose = above ? ">=" : "<=";
	size_t opened = 0;

	strbuf_addch(&q->sql, '(');
	if (l->n_order - first > 1) {
		mysrc_query_compare(q, l, l->columns[l->order[first]], loose,
				    values[first]);
		strbuf_addstr(&q->sql, " AND ");
	}
	for (size_t i = first; i < l->n_order; i++) {
		const struct mysrc_column *c = l->columns[l->order[i]];
		if (i + 1 == l->n_order) {
			mysrc_query_compare(q, l, c, above ? strict : loose,
					    values[i]);
			break;
		}
		strbuf_addch(&q->sql, '(');
		mysrc_query_compare(q, l, c, strict, values[i]);
		strbuf_addstr(&q->sql, " OR (");
		mysrc_query_compare(q, l, c, "=", values[i]);
		strbuf_addstr(&q->sql, " AND ");
		opened += 2;
	}
	while (opened--)
		strbuf_addch(&q->sql, ')');
	strbuf_addch(&q->sql, ')');
}

void mysrc_query_order(struct mysrc_query *q, const struct mysrc_layout *l,
		       size_t first)
{
	strbuf_addstr(&q->sql, " ORDER BY ");
	for (size_t i = first; i < l->n_order; i++) {
		strbuf_addstr(&q->sql, i > first ? ", " : "");
		mysrc_query_ordered(&q->sql, l, l->columns[l->order[i]]);
	}
}

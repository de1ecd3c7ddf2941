#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/mysql/source.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* Compare a text by its bytes, where its collation is no total order. A unique
 * index under the column's own collation has told its values apart already.
 * Then this collation is a total order of them, and the index is in it. */
static bool query_by_bytes(const struct source_layout *l,
			   const struct source_column *c)
{
	enum mysql_source_order order = mysql_source_how(c)->order;

	return order == ORDER_LABEL || (order == ORDER_TEXT && !l->key_unique);
}

void mysql_source_ordered(struct strbuf *sb, const struct paged_source *base,
			  const struct source_column *c)
{
	if (query_by_bytes(&base->layout, c))
		strbuf_addf(sb, "CAST(CONVERT(%s USING utf8mb4) AS BINARY)",
			    c->sql);
	else
		strbuf_addf(sb, "%s%s", c->sql,
			    mysql_source_how(c)->order == ORDER_BITS ? " + 0"
								     : "");
}

static void query_placeholder(struct strbuf *sb,
			      const struct paged_source *base,
			      const struct source_column *c)
{
	const struct mysql_source_type *how = mysql_source_how(c);

	if (query_by_bytes(&base->layout, c))
		strbuf_addstr(sb, "CAST(? AS BINARY)");
	else if (c->type.kind == TYPE_DECIMAL)
		strbuf_addf(sb, "CAST(? AS DECIMAL(65,%d))", c->type.scale);
	else
		strbuf_addstr(sb, how->cast ? how->cast : "?");
}

/* A value as the server takes it. */
static char *query_value(const struct source_column *c, const char *value)
{
	size_t n = strlen(value);

	/* A look back by more than the mark's value: MySQL makes a large number
	 * of a negative one. */
	if (c->type.kind == TYPE_UINT64 && *value == '-')
		return xstrdup("0");
	/* The session's zone is UTC, and there is no "+00". */
	if (c->type.kind == TYPE_TIMESTAMPTZ && n > 3 &&
	    !strcmp(value + n - 3, "+00"))
		n -= 3;
	return xstrndup(value, n);
}

void mysql_source_write_value(struct paged_query *q,
			      const struct paged_source *base,
			      const struct source_column *c, const char *value)
{
	char *text = query_value(c, value);

	if (mysql_source_how(c)->order == ORDER_BYTES &&
	    !strncmp(text, "\\x", 2)) {
		strbuf_addstr(&q->sql, "UNHEX(?)");
		paged_push(q, c, text + 2);
	} else {
		query_placeholder(&q->sql, base, c);
		paged_push(q, c, text);
	}
	free(text);
}

/* In a watermark the zone is said. */
void mysql_source_newest(struct strbuf *sb, const struct source_column *mark)
{
	strbuf_addf(sb,
		    mark->type.kind == TYPE_TIMESTAMPTZ
			    ? "CONCAT(max(%s), '+00')"
			    : "max(%s)",
		    mark->sql);
}

/* The n-th column that sorts an index: first its own columns, and then InnoDB's
 * primary key. */
static const char *query_sorted_by(const struct source_layout *l,
				   const struct source_index *x, size_t n)
{
	bool innodb = l->table.engine && !strcasecmp(l->table.engine, "InnoDB");

	if (n < x->columns.n)
		return x->columns.items[n];
	n -= x->columns.n;
	for (size_t i = 0; innodb && i < l->n_indexes; i++) {
		const struct strlist *primary = &l->indexes[i].columns;
		if (l->indexes[i].primary)
			return n < primary->n ? primary->items[n] : NULL;
	}
	return NULL;
}

/* Are its entries in the total order? */
static bool query_serves(const struct source_layout *l,
			 const struct source_index *x)
{
	for (size_t i = 0; i < l->n_order; i++) {
		const struct source_column *c = l->columns[l->order[i]];
		const char *name = query_sorted_by(l, x, i);
		if (!name || c->expression || query_by_bytes(l, c) ||
		    mysql_source_how(c)->order == ORDER_BITS ||
		    strcmp(name, c->name) != 0)
			return false;
	}
	return x->sorted && l->n_order > 0;
}

const struct source_index *
mysql_source_page_index(const struct source_layout *l)
{
	const struct source_index *found = NULL;

	for (size_t i = 0; i < l->n_indexes; i++) {
		if (query_serves(l, &l->indexes[i]) &&
		    (!found || l->indexes[i].primary))
			found = &l->indexes[i];
	}
	return found;
}

/* When a page is a few percent of the remaining rows, MySQL would rather read
 * the whole table and sort it, once for each page. */
void mysql_source_hint(struct strbuf *sb, const struct paged_source *base)
{
	const struct source_index *found =
		mysql_source_page_index(&base->layout);

	if (!found)
		return;
	strbuf_addstr(sb, " FORCE INDEX (");
	sql_quote_name(sb, found->name, '`');
	strbuf_addch(sb, ')');
}

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"
#include "destinations/common/mark_order.h"

static enum mark_order versions_order(const struct bigquery_destination *d)
{
	const struct schema *s = d->target->schema;

	return mark_order_of(s->columns[s->mark].type.kind,
			     !strncmp(d->types[s->mark].column, "STRING", 6));
}

/* Is version `a` as new as `b`, or newer? A text that cannot be read is
 * NULL. */
static void versions_not_older(struct strbuf *sql,
			       const struct bigquery_destination *d,
			       const char *a, const char *b)
{
	static const struct mark_order_sql numbers = {
		.match = { "REGEXP_CONTAINS(", ", ", ")" },
		.strip = { "REGEXP_REPLACE(", ", ", ", '')" },
		.text = "STRING",
	};

	switch (versions_order(d)) {
	case MARK_ORDER_NUMBER:
		mark_order_not_less(sql, &numbers, a, b);
		break;
	case MARK_ORDER_TIME:
		strbuf_addf(sql,
			    "SAFE_CAST(%s AS TIMESTAMP) >= "
			    "SAFE_CAST(%s AS TIMESTAMP)",
			    a, b);
		break;
	case MARK_ORDER_PLAIN:
		strbuf_addf(sql, "%s >= %s", a, b);
		break;
	}
}

/* As the column's own type, where that compares. */
static char *versions_delivered(const struct bigquery_destination *d)
{
	char *base, *sql;

	if (versions_order(d) != MARK_ORDER_PLAIN)
		return xstrdup("@delivered");
	base = bigquery_type_base(d->types[d->target->schema->mark].column);
	sql = xstrfmt("SAFE_CAST(@delivered AS %s)", base);
	free(base);
	return sql;
}

static void versions_newer(struct strbuf *sql,
			   const struct bigquery_destination *d,
			   const char *name, bool delivered)
{
	char *t = xstrfmt("_tidemark_t.`%s`", name),
	     *s = xstrfmt("_tidemark_s.`%s`", name), *most;

	strbuf_addstr(sql, " AND (COALESCE(");
	versions_not_older(sql, d, s, t);
	strbuf_addstr(sql, ", TRUE)");
	/* Rows that mode update has written have marks of others. */
	if (delivered && d->target->mode != LOAD_UPDATE) {
		most = versions_delivered(d);
		strbuf_addstr(sql, " OR ");
		versions_not_older(sql, d, most, t);
		free(most);
	}
	strbuf_addch(sql, ')');
	free(t);
	free(s);
}

void bigquery_sql_newer(struct strbuf *sql,
			const struct bigquery_destination *d, bool delivered)
{
	const struct schema *s = d->target->schema;
	const char *mark = s->mark < 0 ? NULL : s->columns[s->mark].name;

	if (mark && d->target->in_place)
		strbuf_addf(sql,
			    " AND _tidemark_t.`%s` IS NOT DISTINCT FROM "
			    "_tidemark_s.`%s`",
			    mark, mark);
	else if (mark && !d->target->overwrite)
		versions_newer(sql, d, mark, delivered);
}

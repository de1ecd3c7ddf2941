#include <inttypes.h>
#include <stdlib.h>

#include "connectors/postgres/keyset.h"
#include "connectors/postgres/shape.h"
#include "core/base/alloc.h"

static int cut_ask(struct postgres *c, struct query *q, char **out,
		   struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, q->sql.data, "?", q->n,
			  (const char *const *)q->params, err);

	if (!rc)
		*out = xstrdup(pg_rows(r) ? pg_value(r, 0, 0) : NULL);
	pg_result_free(r);
	return rc;
}

/* The mark of row `n` of the range, counted from 0; NULL: it has fewer. An
 * index is walked, nothing is sorted where there is one. */
static int cut_value(struct postgres *c, const struct range *range, int64_t n,
		     char **out, struct error *err)
{
	const struct source_column *mark = source_mark(&c->layout);
	char *what = xstrfmt("%s::pg_catalog.text", mark->sql);
	char *offset = xstrfmt("%" PRId64, n);
	struct query q;
	int rc;

	postgres_source_query_init(&q, QUERY_PARAMETERS);
	postgres_source_query_count(&q, &c->layout, what);
	postgres_source_keyset_write_range(c, &q, range);
	strbuf_addstr(&q.sql, " ORDER BY ");
	postgres_source_query_ordered(&q, mark);
	strbuf_addstr(&q.sql, " OFFSET ");
	postgres_source_query_value(&q, "pg_catalog.int8", offset);
	strbuf_addstr(&q.sql, " LIMIT 1");
	rc = cut_ask(c, &q, out, err);
	postgres_source_query_release(&q);
	free(offset);
	free(what);
	return rc;
}

static int cut_count(struct postgres *c, const struct range *range,
		     int64_t *rows, struct error *err)
{
	char *text = NULL;
	struct query q;
	int rc;

	postgres_source_query_init(&q, QUERY_PARAMETERS);
	postgres_source_query_count(&q, &c->layout, "count(*)");
	postgres_source_keyset_write_range(c, &q, range);
	rc = cut_ask(c, &q, &text, err);
	if (!rc)
		*rows = strtoll(text, NULL, 10);
	postgres_source_query_release(&q);
	free(text);
	return rc;
}

/* The least mark of the range above `value`. */
static int cut_above(struct postgres *c, const char *value, const char *to,
		     char **out, struct error *err)
{
	const struct source_column *mark = source_mark(&c->layout);
	char *what = xstrfmt("%s::pg_catalog.text", mark->sql);
	struct query q;
	int rc;

	postgres_source_query_init(&q, QUERY_PARAMETERS);
	postgres_source_query_count(&q, &c->layout, what);
	postgres_source_keyset_compare_mark(c, &q, ">", value);
	if (to) {
		strbuf_addstr(&q.sql, " AND ");
		postgres_source_keyset_compare_mark(c, &q, "<", to);
	}
	strbuf_addstr(&q.sql, " ORDER BY ");
	postgres_source_query_ordered(&q, mark);
	strbuf_addstr(&q.sql, " LIMIT 1");
	rc = cut_ask(c, &q, out, err);
	postgres_source_query_release(&q);
	free(what);
	return rc;
}

int postgres_cut(struct connector *base, const struct source_spec *source,
		 const struct watermark_spec *mark, const struct range *range,
		 int64_t rows, struct range_cut *out, struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	struct range first = *range;
	char *last = NULL, *end = NULL;
	int rc = postgres_end_pass(c, err);

	if (!rc)
		rc = postgres_layout(c, source, mark, err);
	if (!rc && !range->nulls && rows != RANGE_ROWS_ALL)
		rc = cut_value(c, range, rows - 1, &last, err);
	if (!rc && last)
		rc = cut_above(c, last, range->to, &end, err);
	if (end)
		first.to = end;
	if (!rc)
		rc = cut_count(c, &first, &out->rows, err);
	free(last);
	if (rc)
		free(end);
	else
		out->end = end;
	return postgres_source_shape_judge(c, source, mark, rc, err);
}

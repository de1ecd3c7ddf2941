#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/common/paged.h"
#include "core/base/alloc.h"

static int cut_ask(struct paged_source *s, const struct paged_query *q,
		   char **out, struct error *err)
{
	struct paged_answer r;
	int rc;

	memset(&r, 0, sizeof(r));
	rc = paged_ask(s, q, "?", &r, err);
	if (!rc)
		*out = xstrdup(r.n_rows ? paged_cell(&r, 0, 0) : NULL);
	paged_answer_release(&r);
	return rc;
}

/* An expression needs its columns. */
static void cut_begin(const struct paged_source *s, struct paged_query *q)
{
	const struct source_layout *l = &s->layout;
	const struct source_column *mark = source_mark(l);
	char *all = xstrfmt("%s.*", l->table.alias);

	paged_query_init(q);
	strbuf_addstr(&q->sql, s->dialect->select);
	s->dialect->newest(&q->sql, mark);
	strbuf_addstr(&q->sql, " FROM (");
	paged_write_select(q, s, mark->expression ? all : mark->sql);
	free(all);
}

/* The greatest mark among the first `n` rows that meet the condition, written
 * as a watermark has it. The rows are in the order of an index, if there is
 * one. */
static int cut_end(struct paged_source *s, struct paged_query *q, int64_t n,
		   char **out, struct error *err)
{
	int rc;

	strbuf_addstr(&q->sql, " ORDER BY ");
	s->dialect->ordered(&q->sql, s, source_mark(&s->layout));
	strbuf_addf(&q->sql, " LIMIT %" PRId64 ") AS %s", n,
		    s->layout.table.alias);
	rc = cut_ask(s, q, out, err);
	paged_query_release(q);
	return rc;
}

static int cut_value(struct paged_source *s, const struct range *range,
		     int64_t rows, char **out, struct error *err)
{
	struct paged_query q;

	cut_begin(s, &q);
	paged_write_range(&q, s, range);
	return cut_end(s, &q, rows, out, err);
}

/* The least mark of the range above `value`. */
static int cut_above(struct paged_source *s, const char *value, const char *to,
		     char **out, struct error *err)
{
	struct paged_query q;

	cut_begin(s, &q);
	paged_write_mark(&q, s, ">", value);
	if (to) {
		strbuf_addstr(&q.sql, " AND ");
		paged_write_mark(&q, s, "<", to);
	}
	return cut_end(s, &q, 1, out, err);
}

static int cut_count(struct paged_source *s, const struct range *range,
		     int64_t *rows, struct error *err)
{
	char *text = NULL;
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_select(&q, s, "count(*)");
	paged_write_range(&q, s, range);
	rc = cut_ask(s, &q, &text, err);
	if (!rc)
		*rows = strtoll(text, NULL, 10);
	paged_query_release(&q);
	free(text);
	return rc;
}

int paged_cut(struct connector *base, const struct source_spec *source,
	      const struct watermark_spec *mark, const struct range *range,
	      int64_t rows, struct range_cut *out, struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	struct range first = *range;
	char *last = NULL, *end = NULL;
	int rc;

	paged_end_pass(s);
	rc = paged_layout_for(s, source, mark, err);
	if (!rc && !range->nulls && rows != RANGE_ROWS_ALL)
		rc = cut_value(s, range, rows, &last, err);
	if (!rc && last)
		rc = cut_above(s, last, range->to, &end, err);
	if (end)
		first.to = end;
	if (!rc)
		rc = cut_count(s, &first, &out->rows, err);
	free(last);
	if (rc)
		free(end);
	else
		out->end = end;
	return paged_judge(s, source, mark, rc, err);
}

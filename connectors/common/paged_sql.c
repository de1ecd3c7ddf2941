#include <stdlib.h>
#include <string.h>

#include "clients/answer.h"
#include "connectors/common/paged.h"
#include "core/base/alloc.h"

void paged_query_init(struct paged_query *q)
{
	memset(q, 0, sizeof(*q));
	strbuf_init(&q->sql);
}

void paged_query_release(struct paged_query *q)
{
	strbuf_release(&q->sql);
	for (int i = 0; i < q->n; i++)
		free(q->params[i]);
	paged_query_init(q);
}

void paged_push(struct paged_query *q, const struct source_column *c,
		const char *value)
{
	q->columns[q->n] = c;
	q->params[q->n++] = xstrdup(value);
}

void paged_write_select(struct paged_query *q, const struct paged_source *s,
			const char *what)
{
	const struct source_layout *l = &s->layout;
	size_t n = source_layout_width(l);

	strbuf_addstr(&q->sql, s->dialect->select);
	for (size_t i = 0; !what && i < n; i++)
		strbuf_addf(&q->sql, "%s%s", i ? ", " : "",
			    l->columns[i]->output);
	strbuf_addf(&q->sql, "%s FROM %s AS %s", what ? what : "", l->table.sql,
		    l->table.alias);
	/* Without an order the server finds its index itself. */
	if (!what && scan_is_ordered(s->pass.scan))
		s->dialect->hint(&q->sql, s);
	strbuf_addstr(&q->sql, " WHERE ");
	/* The user's SQL may end in a comment: the line's end closes it. */
	if (l->where)
		strbuf_addf(&q->sql, "(%s\n) AND ", l->where);
}

void paged_write_compare(struct paged_query *q, const struct paged_source *s,
			 const struct source_column *c, const char *comparison,
			 const char *value)
{
	s->dialect->ordered(&q->sql, s, c);
	strbuf_addf(&q->sql, " %s ", comparison);
	s->dialect->value(q, s, c, value);
}

void paged_write_mark(struct paged_query *q, const struct paged_source *s,
		      const char *comparison, const char *value)
{
	paged_write_compare(q, s, source_mark(&s->layout), comparison, value);
}

/* a >= 1 AND (a > 1 OR (a = 1 AND (b > 2 OR (b = 2 AND c > 3)))) */
void paged_write_beyond(struct paged_query *q, const struct paged_source *s,
			size_t first, bool above, char *const *values)
{
	const char *strict = above ? ">" : "<", *loose = above ? ">=" : "<=";
	const struct source_layout *l = &s->layout;
	size_t opened = 0;

	strbuf_addch(&q->sql, '(');
	if (l->n_order - first > 1) {
		paged_write_compare(q, s, l->columns[l->order[first]], loose,
				    values[first]);
		strbuf_addstr(&q->sql, " AND ");
	}
	for (size_t i = first; i < l->n_order; i++) {
		const struct source_column *c = l->columns[l->order[i]];
		if (i + 1 == l->n_order) {
			paged_write_compare(q, s, c, above ? strict : loose,
					    values[i]);
			break;
		}
		strbuf_addch(&q->sql, '(');
		paged_write_compare(q, s, c, strict, values[i]);
		strbuf_addstr(&q->sql, " OR (");
		paged_write_compare(q, s, c, "=", values[i]);
		strbuf_addstr(&q->sql, " AND ");
		opened += 2;
	}
	while (opened--)
		strbuf_addch(&q->sql, ')');
	strbuf_addch(&q->sql, ')');
}

void paged_write_order(struct paged_query *q, const struct paged_source *s,
		       size_t first)
{
	const struct source_layout *l = &s->layout;

	strbuf_addstr(&q->sql, " ORDER BY ");
	for (size_t i = first; i < l->n_order; i++) {
		strbuf_addstr(&q->sql, i > first ? ", " : "");
		s->dialect->ordered(&q->sql, s, l->columns[l->order[i]]);
	}
}

void paged_write_key(struct strbuf *sb, const struct paged_source *s,
		     bool ordered)
{
	const struct source_layout *l = &s->layout;

	if (!l->n_key)
		strbuf_addch(sb, '1');
	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		strbuf_addstr(sb, i ? ", " : "");
		if (ordered)
			s->dialect->ordered(sb, s, k);
		else
			strbuf_addstr(sb, k->sql);
	}
}

void paged_no_hint(struct strbuf *sb, const struct paged_source *s)
{
	(void)sb;
	(void)s;
}

void paged_newest(struct strbuf *sb, const struct source_column *mark)
{
	strbuf_addf(sb, "max(%s)", mark->sql);
}

void paged_position(const struct paged_source *s, const struct batch *b,
		    size_t column, struct strbuf *out)
{
	char *text = running_mark_text(&s->pass.mark, b, b->n_rows - 1, column);

	strbuf_addstr(out, text);
	free(text);
}

const char *paged_cell(const struct paged_answer *a, size_t row, size_t column)
{
	if (row >= a->n_rows || column >= a->n_columns)
		return NULL;
	return a->cells[row * a->n_columns + column];
}

static bool paged_is_null(const void *result, size_t row, size_t column)
{
	return !paged_cell(result, row, column);
}

int paged_answer_check(const struct paged_answer *a, const char *shape,
		       struct error *err)
{
	struct answer view = { .result = a,
			       .n_rows = a->n_rows,
			       .n_columns = a->n_columns,
			       .is_null = paged_is_null };

	return answer_check(&view, shape, "the source", err);
}

int paged_ask(struct paged_source *s, const struct paged_query *q,
	      const char *shape, struct paged_answer *out, struct error *err)
{
	int rc = s->dialect->query(s, q, out, err);

	return rc ? rc : paged_answer_check(out, shape, err);
}

void paged_answer_release(struct paged_answer *a)
{
	for (size_t i = 0; i < a->n_rows * a->n_columns; i++)
		free(a->cells[i]);
	free(a->cells);
	memset(a, 0, sizeof(*a));
}

#include <libpq-fe.h>
#include <stdlib.h>

#include "clients/pg_session.h"
#include "core/base/alloc.h"

static void asked_release(struct pg_asked *a)
{
	for (int i = 0; i < a->n; i++)
		free(a->params[i]);
	free(a->params);
	free(a->sql);
	PQclear(a->answer);
	free(a->failed);
}

struct pg_questions *pg_questions_new(void)
{
	return xcalloc(1, sizeof(struct pg_questions));
}

void pg_questions_free(struct pg_questions *q)
{
	for (size_t i = 0; q && i < q->n; i++)
		asked_release(&q->items[i]);
	free(q ? q->items : NULL);
	free(q);
}

void pg_questions_add(struct pg_questions *q, const char *sql, int n,
		      const char *const *params)
{
	struct pg_asked *a;

	q->items = xrealloc(q->items, (q->n + 1) * sizeof(*q->items));
	a = &q->items[q->n++];
	*a = (struct pg_asked){ .sql = xstrdup(sql), .n = n };
	a->params = xcalloc(n ? (size_t)n : 1, sizeof(*a->params));
	for (int i = 0; i < n; i++)
		a->params[i] = xstrdup(params[i]);
}

int pg_questions_failed(const struct pg_questions *q, struct error *err)
{
	for (size_t i = 0; q && i < q->n; i++) {
		const struct error *failed = q->items[i].failed;

		if (!failed)
			continue;
		if (err && !err->code)
			*err = *failed;
		return -(int)failed->code;
	}
	return 0;
}

#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse_handle.h"
#include "core/base/alloc.h"

void clickhouse_forget_ahead(struct clickhouse *c)
{
	for (size_t i = 0; i < c->ahead.n; i++)
		free(c->answers[i]);
	free(c->answers);
	c->answers = NULL;
	c->answers_room = 0;
	strlist_release(&c->ahead);
}

static size_t ahead_place(const struct clickhouse *c, const char *sql)
{
	size_t i = 0;

	while (i < c->ahead.n &&
	       (!c->answers[i] || strcmp(c->ahead.items[i], sql) != 0))
		i++;
	return i;
}

bool clickhouse_is_ahead(const struct clickhouse *c, const char *sql)
{
	return ahead_place(c, sql) < c->ahead.n;
}

char *clickhouse_take_ahead(struct clickhouse *c, const char *sql)
{
	size_t i = ahead_place(c, sql);
	char *text;

	if (i == c->ahead.n)
		return NULL;
	text = c->answers[i];
	c->answers[i] = NULL;
	return text;
}

/* Each row of each question is one text, as the server would have sent it. */
static char *ahead_sql(const struct strlist *questions)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql, "SELECT q, t FROM (\n");
	for (size_t i = 0; i < questions->n; i++)
		strbuf_addf(&sql,
			    "%sSELECT toUInt32(%zu) AS q, "
			    "rowNumberInAllBlocks() AS n,\n"
			    "  formatRow('TabSeparated', *) AS t\nFROM (%s)\n",
			    i ? "UNION ALL " : "", i, questions->items[i]);
	strbuf_addstr(&sql, ") ORDER BY q, n");
	return strbuf_detach(&sql);
}

static void ahead_keep(struct clickhouse *c, const struct strlist *questions,
		       const struct clickhouse_rows *rows)
{
	struct strbuf *texts = xcalloc(questions->n, sizeof(*texts));

	for (size_t i = 0; i < questions->n; i++)
		strbuf_init(&texts[i]);
	for (size_t i = 0; i < rows->n_rows; i++) {
		size_t q = strtoul(clickhouse_cell(rows, i, 0), NULL, 10);

		if (q < questions->n)
			strbuf_addstr(&texts[q], clickhouse_cell(rows, i, 1));
	}
	for (size_t i = 0; i < questions->n; i++) {
		size_t at = c->ahead.n;

		c->answers = xgrow(c->answers, &c->answers_room, at + 1,
				   sizeof(*c->answers));
		c->answers[at] = strbuf_detach(&texts[i]);
		strlist_add(&c->ahead, questions->items[i]);
	}
	free(texts);
}

/* A failure shows when the question is asked alone. But a server that is away
 * is not waited for again. */
int clickhouse_ask_ahead(struct clickhouse *c, struct strlist *questions,
			 struct error *err)
{
	struct clickhouse_rows rows;
	struct error why = ERROR_INIT;
	char *sql = ahead_sql(questions);
	int rc = 0;

	if (questions->n > 1)
		rc = clickhouse_query_anew(c, sql, "tt", &rows, &why);
	if (!rc && questions->n > 1) {
		ahead_keep(c, questions, &rows);
		clickhouse_rows_release(&rows);
	}
	if (rc == -ERROR_TRANSIENT || rc == -ERROR_STOPPED)
		*err = why;
	else
		rc = 0;
	free(sql);
	strlist_release(questions);
	return rc;
}

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "clients/pg_named.h"
#include "clients/pg_session.h"
#include "clients/pg_shared.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/strbuf.h"

/* Columns before those of the question: whose answer it is, and the row's
 * number in it. */
#define MANY_COLUMNS 2

/* Questions with the same text: places in the message that collects them. */
struct many {
	const char *sql;
	int n_params;
	size_t *places;
	size_t n;
	char *asked; /* one statement for all of them */
};

void pg_many_begin(struct pg *pg)
{
	pg_questions_free(pg->many);
	pg->many = pg_questions_new();
}

static struct many *many_find(struct many *all, size_t n,
			      const struct pg_asked *a)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].n_params == a->n && !strcmp(all[i].sql, a->sql))
			return &all[i];
	return NULL;
}

/* Caller frees with many_free(). */
static struct many *many_group(const struct pg_questions *q, size_t *n)
{
	struct many *all = xcalloc(q->n ? q->n : 1, sizeof(*all));

	*n = 0;
	for (size_t i = 0; i < q->n; i++) {
		const struct pg_asked *a = &q->items[i];
		struct many *m = many_find(all, *n, a);

		if (!m) {
			m = &all[(*n)++];
			m->sql = a->sql;
			m->n_params = a->n;
			m->places = xcalloc(q->n, sizeof(*m->places));
		}
		m->places[m->n++] = i;
	}
	return all;
}

static void many_free(struct many *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(all[i].places);
		free(all[i].asked);
	}
	free(all);
}

/* The text for one, whose $1 is the column p1 of the list of values. No text
 * has such a name in a literal. */
static void many_write_text(struct strbuf *out, const char *sql)
{
	for (; *sql; sql++) {
		if (*sql == '$' && sql[1] >= '1' && sql[1] <= '9')
			strbuf_addf(out, "many.p%c", *++sql);
		else
			strbuf_addch(out, *sql);
	}
}

static char *many_write(const struct many *m)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql, "SELECT many.i, one.* FROM ROWS FROM (");
	for (int p = 1; p <= m->n_params; p++)
		strbuf_addf(&sql, "%sunnest($%d::text[])", p > 1 ? ", " : "",
			    p);
	strbuf_addstr(&sql, ") WITH ORDINALITY AS many(");
	for (int p = 1; p <= m->n_params; p++)
		strbuf_addf(&sql, "p%d, ", p);
	strbuf_addstr(&sql, "i)\nCROSS JOIN LATERAL (SELECT row_number() OVER "
			    "() AS \"tidemark row\", rows.* FROM (\n");
	many_write_text(&sql, m->sql);
	strbuf_addstr(
		&sql,
		"\n) AS rows) AS one ORDER BY many.i, one.\"tidemark row\"");
	return strbuf_detach(&sql);
}

/* {"a","b"} */
static void many_add_value(struct strbuf *out, const char *value)
{
	strbuf_addch(out, '"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			strbuf_addch(out, '\\');
		strbuf_addch(out, *value);
	}
	strbuf_addch(out, '"');
}

/* Each parameter as an array over the questions; caller frees each. */
static void many_values(const struct many *m, const struct pg_questions *q,
			char **out)
{
	for (int p = 0; p < m->n_params; p++) {
		struct strbuf array = STRBUF_INIT;

		for (size_t i = 0; i < m->n; i++) {
			strbuf_addch(&array, i ? ',' : '{');
			many_add_value(&array,
				       q->items[m->places[i]].params[p]);
		}
		strbuf_addch(&array, '}');
		out[p] = strbuf_detach(&array);
	}
}

static void many_add(struct pg *pg, struct many *m, struct pg_questions *q)
{
	char *values[9] = { NULL };

	if (!m->n_params) {
		m->asked = xstrdup(m->sql);
		pg_questions_add(q, m->asked, 0, NULL);
		return;
	}
	m->asked = many_write(m);
	many_values(m, pg->many, values);
	pg_questions_add(q, m->asked, m->n_params, (const char *const *)values);
	for (int p = 0; p < m->n_params; p++)
		free(values[p]);
}

/* An answer without rows that has the columns of the question. */
static PGresult *many_empty(struct pg *pg, const PGresult *all)
{
	PGresult *one = PQmakeEmptyPGresult(pg->conn, PGRES_TUPLES_OK);
	int n = PQnfields(all) - MANY_COLUMNS;
	PGresAttDesc *columns =
		xcalloc((size_t)(n > 0 ? n : 1), sizeof(*columns));

	for (int c = 0; c < n; c++) {
		int at = c + MANY_COLUMNS;

		columns[c].name = PQfname(all, at);
		columns[c].tableid = PQftable(all, at);
		columns[c].columnid = PQftablecol(all, at);
		columns[c].format = PQfformat(all, at);
		columns[c].typid = PQftype(all, at);
		columns[c].typlen = PQfsize(all, at);
		columns[c].atttypmod = PQfmod(all, at);
	}
	if (!one || !PQsetResultAttrs(one, n, columns))
		alloc_die();
	free(columns);
	return one;
}

static void many_copy_row(PGresult *one, const PGresult *all, int row)
{
	int at = PQntuples(one);

	for (int c = 0; c < PQnfields(one); c++) {
		int from = c + MANY_COLUMNS;
		bool null = PQgetisnull(all, row, from);
		char *value = null ? NULL : PQgetvalue(all, row, from);

		if (!PQsetvalue(one, at, c, value,
				null ? -1 : PQgetlength(all, row, from)))
			alloc_die();
	}
}

/* Rows of one answer follow each other. */
static void many_split(struct pg *pg, const struct many *m, const PGresult *all)
{
	int row = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct pg_asked *a = &pg->many->items[m->places[i]];
		PGresult *one = many_empty(pg, all);

		while (row < PQntuples(all) &&
		       strtoul(PQgetvalue(all, row, 0), NULL, 10) == i + 1)
			many_copy_row(one, all, row++);
		pg_shared_put(pg, a->sql, a->n, (const char *const *)a->params,
			      one, false);
	}
}

static void many_share(struct pg *pg, const struct many *m, struct pg_asked *a)
{
	if (!a->answer)
		return;
	if (m->n_params) {
		many_split(pg, m, a->answer);
		return;
	}
	pg_shared_put(pg, m->sql, 0, NULL, a->answer, true);
	a->answer = NULL;
}

/* Sizes and views are asked for under a lock. Whoever has locked one table is
 * to hold up nobody who waits for the others. */
static const char many_patience_sql[] =
	"SELECT set_config('lock_timeout', '100ms', true)";

int pg_many_ask(struct pg *pg, struct error *err)
{
	struct pg_questions *q = pg_questions_new();
	size_t n = 0;
	struct many *all = many_group(pg->many, &n);
	struct error failed = ERROR_INIT;
	int rc;

	pg_questions_add(q, many_patience_sql, 0, NULL);
	for (size_t i = 0; i < n; i++)
		many_add(pg, &all[i], q);
	rc = n ? pg_ask_all(pg, q, err) : 0;
	/* A plan of it is worth nothing. */
	pg_named_forget(pg->named, many_patience_sql);
	if (!rc && pg_questions_failed(q, &failed))
		log_debug("tables are asked about one by one: %s",
			  failed.message);
	for (size_t i = 0; !rc && i < n; i++)
		many_share(pg, &all[i], &q->items[i + 1]);
	many_free(all, n);
	pg_questions_free(q);
	pg_questions_free(pg->many);
	pg->many = NULL;
	return rc;
}

#include "clients/pg_ahead.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

#define AHEAD_FRESH_US (5 * US_PER_SECOND)

void pg_ahead_drop(struct pg *pg)
{
	pg_questions_free(pg->ahead);
	pg->ahead = NULL;
}

/* The question is in the message, and may have its answer already, if that was
 * not asked for before `since_us`. */
static const struct pg_asked *ahead_put(struct pg *pg, const char *sql, int n,
					const char *const *params,
					int64_t since_us)
{
	struct pg_asked *a;

	if (pg->ahead && pg->ahead->sent)
		pg_ahead_drop(pg);
	if (!pg->ahead)
		pg->ahead = pg_questions_new();
	pg_questions_add(pg->ahead, sql, n, params);
	a = &pg->ahead->items[pg->ahead->n - 1];
	a->asked_us = since_us;
	if (pg->shares)
		a->answer = pg_shared_take(pg, sql, n, params, &a->asked_us);
	a->given = a->answer != NULL;
	pg->foreseen |= a->given;
	return a;
}

void pg_ahead_add(struct pg *pg, const char *sql, int n,
		  const char *const *params)
{
	if (!pg->many)
		ahead_put(pg, sql, n, params, 0);
	else if (!pg_shared_has(pg, sql, n, params))
		pg_questions_add(pg->many, sql, n, params);
}

void pg_ahead_add_behind(struct pg *pg, const char *sql)
{
	const struct pg_asked *before =
		pg->ahead && !pg->ahead->sent
			? &pg->ahead->items[pg->ahead->n - 1]
			: NULL;

	if (pg->many)
		pg_ahead_add(pg, sql, 0, NULL);
	else
		ahead_put(pg, sql, 0, NULL,
			  before && before->given ? before->asked_us
						  : INT64_MAX);
}

char *pg_ahead_add_known(struct pg *pg, const char *sql, int n,
			 const char *const *params, int column)
{
	char *value;

	if (!pg->many) {
		const struct pg_asked *a = ahead_put(pg, sql, n, params, 0);

		return a->given ? xstrdup(pg_answer_value(a->answer, column))
				: NULL;
	}
	value = pg_shared_value(pg, sql, n, params, column);
	if (!value)
		pg_questions_add(pg->many, sql, n, params);
	return value;
}

void pg_ahead_know(struct pg *pg, const char *asked, const char *known)
{
	for (size_t i = 0; pg->ahead && i < pg->ahead->n; i++) {
		struct pg_asked *a = &pg->ahead->items[i];

		if (a->n && a->params[0] && !strcmp(a->params[0], asked))
			xassign(&a->params[0], known);
	}
}

int pg_ahead_failed(struct pg *pg, struct error *err)
{
	return pg_questions_failed(pg->ahead, err);
}

bool pg_ahead_any(const struct pg *pg)
{
	for (size_t i = 0; pg->ahead && i < pg->ahead->n; i++) {
		const struct pg_asked *a = &pg->ahead->items[i];

		if (a->answer || a->failed)
			return true;
	}
	return false;
}

static bool ahead_is(const struct pg_asked *a, const char *sql, int n,
		     const char *const *params)
{
	if ((!a->answer && !a->failed) || a->n != n || strcmp(a->sql, sql) != 0)
		return false;
	for (int i = 0; i < n; i++) {
		if (!a->params[i] || !params[i]) {
			if (a->params[i] || params[i])
				return false;
		} else if (strcmp(a->params[i], params[i]) != 0) {
			return false;
		}
	}
	return true;
}

static struct pg_asked *ahead_find(struct pg *pg, const char *sql, int n,
				   const char *const *params)
{
	struct pg_questions *ahead = pg->ahead;

	if (!ahead)
		return NULL;
	if (clock_monotonic_us() - ahead->ready_us > AHEAD_FRESH_US) {
		pg_ahead_drop(pg);
		return NULL;
	}
	for (size_t i = 0; i < ahead->n; i++) {
		if (ahead_is(&ahead->items[i], sql, n, params))
			return &ahead->items[i];
	}
	return NULL;
}

bool pg_ahead_has(struct pg *pg, const char *sql)
{
	return ahead_find(pg, sql, 0, NULL) != NULL;
}

int pg_ahead_take(struct pg *pg, PGresult **out, const char *sql, int n,
		  const char *const *params, struct error *err)
{
	struct pg_asked *a = ahead_find(pg, sql, n, params);
	int rc = 0;

	if (!a)
		return 0;
	*out = a->answer;
	a->answer = NULL;
	if (a->failed) {
		rc = -(int)a->failed->code;
		if (err && !err->code)
			*err = *a->failed;
	}
	free(a->failed);
	a->failed = NULL;
	return rc;
}

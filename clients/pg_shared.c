#include "clients/pg_shared.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/strbuf.h"

#define SHARED_FRESH_US (5 * US_PER_SECOND)
/* The same of what all pipelines ask: how far transactions have come. */
#define SHARED_COMMON_US (1 * US_PER_SECOND)
/* So long the next answer to it takes its place. */
#define SHARED_PLACE_US (30 * US_PER_SECOND)

struct shared_answer {
	char *question;
	PGresult *answer;
	bool again; /* it may be taken by all */
	int64_t asked_us; /* monotonic */
	int64_t until_us; /* monotonic */
};

static struct shared_answer *shared_answers;
static size_t n_shared;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static void shared_add_part(struct strbuf *out, const char *part)
{
	strbuf_addf(out, "%zu:", part ? strlen(part) + 1 : 0);
	strbuf_addstr(out, part ? part : "");
}

/* The question, and who was asked by whom. False: that is not known. */
static bool shared_write_question(const struct pg *pg, const char *sql, int n,
				  const char *const *params, struct strbuf *out)
{
	if (!pg->server || !pg->slot.key)
		return false;
	for (int i = 0; i < n; i++)
		shared_add_part(out, params[i]);
	shared_add_part(out, pg->server);
	shared_add_part(out, pg->writes);
	shared_add_part(out, pg->user);
	shared_add_part(out, sql);
	shared_add_part(out, pg->slot.key);
	return true;
}

/* Lock held, in all of these. */
static void shared_remove(size_t at)
{
	struct shared_answer *a = &shared_answers[at];

	free(a->question);
	PQclear(a->answer);
	*a = shared_answers[--n_shared];
	if (!n_shared) {
		free(shared_answers);
		shared_answers = NULL;
	}
}

static int64_t shared_end(const struct shared_answer *a)
{
	return a->until_us + (a->again ? SHARED_PLACE_US : 0);
}

static void shared_expire(void)
{
	int64_t now = n_shared ? clock_monotonic_us() : 0;

	for (size_t i = n_shared; shared_answers && i > 0; i--)
		if (shared_end(&shared_answers[i - 1]) < now)
			shared_remove(i - 1);
}

/* It may be too old to be taken. */
static struct shared_answer *shared_find(const char *question)
{
	shared_expire();
	for (size_t i = 0; i < n_shared; i++)
		if (!strcmp(shared_answers[i].question, question))
			return &shared_answers[i];
	return NULL;
}

static bool shared_is_fresh(const struct shared_answer *a)
{
	return clock_monotonic_us() < a->until_us;
}

void pg_shared_put(const struct pg *pg, const char *sql, int n,
		   const char *const *params, PGresult *answer, bool again)
{
	struct strbuf question = STRBUF_INIT;
	struct shared_answer *a;

	if (!shared_write_question(pg, sql, n, params, &question)) {
		PQclear(answer);
		return;
	}
	pthread_mutex_lock(&shared_lock);
	a = shared_find(question.data);
	if (a && a->asked_us > pg->asked_us)
		goto out;
	if (a)
		shared_remove((size_t)(a - shared_answers));
	shared_answers = xrealloc(shared_answers,
				  (n_shared + 1) * sizeof(*shared_answers));
	shared_answers[n_shared++] = (struct shared_answer){
		.question = strbuf_detach(&question),
		.answer = answer,
		.again = again,
		.asked_us = pg->asked_us,
		.until_us = clock_monotonic_us() +
			    (again ? SHARED_COMMON_US : SHARED_FRESH_US),
	};
	answer = NULL;
out:
	pthread_mutex_unlock(&shared_lock);
	PQclear(answer);
	strbuf_release(&question);
}

void pg_shared_allow(struct pg *pg, bool may)
{
	pg->shares = may;
}

bool pg_has_foreseen(const struct pg *pg)
{
	return pg->foreseen;
}

void pg_shared_clear(void)
{
	pthread_mutex_lock(&shared_lock);
	while (n_shared)
		shared_remove(n_shared - 1);
	pthread_mutex_unlock(&shared_lock);
}

/* Called under the lock. */
typedef void shared_use(struct shared_answer *a, void *ctx);

/* `stale`: also one that is too old to be taken. */
static bool shared_with(const struct pg *pg, const char *sql, int n,
			const char *const *params, bool stale, shared_use *use,
			void *ctx)
{
	struct strbuf question = STRBUF_INIT;
	struct shared_answer *a = NULL;

	pthread_mutex_lock(&shared_lock);
	if (n_shared && shared_write_question(pg, sql, n, params, &question))
		a = shared_find(question.data);
	if (a && !stale && !shared_is_fresh(a))
		a = NULL;
	if (a && use)
		use(a, ctx);
	pthread_mutex_unlock(&shared_lock);
	strbuf_release(&question);
	return a != NULL;
}

static PGresult *shared_copy(const PGresult *answer)
{
	return PQcopyResult(answer, PG_COPYRES_ATTRS | PG_COPYRES_TUPLES);
}

struct shared_wish {
	int64_t asked_us; /* since then, and when it was */
	PGresult *answer;
};

static void shared_take(struct shared_answer *a, void *ctx)
{
	struct shared_wish *wish = ctx;

	if (a->asked_us < wish->asked_us)
		return;
	wish->asked_us = a->asked_us;
	if (a->again) {
		wish->answer = shared_copy(a->answer);
		return;
	}
	wish->answer = a->answer;
	a->answer = NULL;
	shared_remove((size_t)(a - shared_answers));
}

PGresult *pg_shared_take(const struct pg *pg, const char *sql, int n,
			 const char *const *params, int64_t *asked_us)
{
	struct shared_wish wish = { *asked_us, NULL };

	shared_with(pg, sql, n, params, false, shared_take, &wish);
	*asked_us = wish.asked_us;
	return wish.answer;
}

bool pg_shared_has(const struct pg *pg, const char *sql, int n,
		   const char *const *params)
{
	return shared_with(pg, sql, n, params, false, NULL, NULL);
}

static void shared_renew(struct shared_answer *a, void *ctx)
{
	const struct shared_wish *newer = ctx;

	if (a->asked_us > newer->asked_us)
		return;
	PQclear(a->answer);
	a->answer = shared_copy(newer->answer);
	a->asked_us = newer->asked_us;
	a->until_us = clock_monotonic_us() + SHARED_COMMON_US;
}

void pg_shared_renew(const struct pg *pg, const char *sql, PGresult *answer)
{
	struct shared_wish newer = { pg->asked_us, answer };

	shared_with(pg, sql, 0, NULL, true, shared_renew, &newer);
}

const char *pg_answer_value(const PGresult *answer, int column)
{
	bool there = PQntuples(answer) && column < PQnfields(answer) &&
		     !PQgetisnull(answer, 0, column);

	return there ? PQgetvalue(answer, 0, column) : NULL;
}

struct shared_look {
	int column;
	char *value;
};

static void shared_look(struct shared_answer *a, void *ctx)
{
	struct shared_look *look = ctx;

	look->value = xstrdup(pg_answer_value(a->answer, look->column));
}

char *pg_shared_value(const struct pg *pg, const char *sql, int n,
		      const char *const *params, int column)
{
	struct shared_look look = { column, NULL };

	shared_with(pg, sql, n, params, false, shared_look, &look);
	return look.value;
}

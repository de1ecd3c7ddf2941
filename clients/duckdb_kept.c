#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/duckdb_handle.h"
#include "core/base/alloc.h"

/* Answers of a kind that are kept at once. The oldest gives way. */
#define KEPT_MOST 4

/* An answer, and when it was given: at which number of its kind's `changes`. */
struct kept_answer {
	char *sql; /* NULL: none */
	unsigned long at;
	char **cells; /* row by row */
	size_t n_cells, n_columns;
};

struct kept_kind {
	atomic_ulong changes; /* statements that may have changed such */
	struct kept_answer answers[KEPT_MOST];
	size_t next; /* gives way */
};

struct duck_kept {
	pthread_mutex_t lock;
	struct kept_kind tables, rows;
};

struct duck_kept *duck_kept_new(void)
{
	struct duck_kept *k = xcalloc(1, sizeof(*k));

	pthread_mutex_init(&k->lock, NULL);
	return k;
}

static void kept_empty(struct kept_answer *a)
{
	for (size_t i = 0; i < a->n_cells; i++)
		free(a->cells[i]);
	free(a->cells);
	free(a->sql);
	memset(a, 0, sizeof(*a));
}

void duck_kept_free(struct duck_kept *k)
{
	for (size_t i = 0; i < KEPT_MOST; i++) {
		kept_empty(&k->tables.answers[i]);
		kept_empty(&k->rows.answers[i]);
	}
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static bool kept_begins(const char *sql, const char *word)
{
	size_t n = strlen(word);

	return !strncasecmp(sql, word, n) && !isalpha((unsigned char)sql[n]);
}

static bool kept_begins_with(const char *sql, const char *const *words,
			     size_t n)
{
	if (strchr(sql, ';'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (kept_begins(sql, words[i]))
			return true;
	return false;
}

/* Does it leave all rows as they are? */
static bool kept_only_reads(const char *sql)
{
	static const char *const words[] = { "SELECT", "SET", "FROM",
					     "DESCRIBE" };

	return kept_begins_with(sql, words, ARRAY_SIZE(words));
}

/* Does it leave all tables and views as they are? */
static bool kept_is_harmless(const char *sql)
{
	static const char *const words[] = { "INSERT", "UPDATE", "DELETE",
					     "WITH" };

	return kept_only_reads(sql) ||
	       kept_begins_with(sql, words, ARRAY_SIZE(words));
}

void duck_note(struct duck *db, const char *sql)
{
	if (!kept_only_reads(sql))
		atomic_fetch_add(&db->kept->rows.changes, 1);
	if (kept_is_harmless(sql))
		return;
	atomic_fetch_add(&db->kept->tables.changes, 1);
	/* A text of several statements may leave one open. */
	db->in_transaction = !kept_begins(sql, "COMMIT") &&
			     !kept_begins(sql, "ROLLBACK") &&
			     (db->in_transaction || strchr(sql, ';') ||
			      kept_begins(sql, "BEGIN"));
}

static int kept_ask(struct kept_answer *out, struct duck *db, const char *sql,
		    const struct kept_kind *kind, struct error *err)
{
	struct kept_answer a = { .at = atomic_load(&kind->changes) };
	struct duck_result *r = NULL;
	size_t capacity = 0;
	int rc = duck_query(db, &r, sql, NULL, 0, err);

	if (rc)
		return rc;
	a.n_columns = duck_columns(r);
	while (duck_next(r)) {
		a.cells = xgrow(a.cells, &capacity, a.n_cells + a.n_columns,
				sizeof(*a.cells));
		for (size_t c = 0; c < a.n_columns; c++)
			a.cells[a.n_cells++] = duck_str(r, c);
	}
	duck_result_free(r);
	a.sql = xstrdup(sql);
	kept_empty(out);
	*out = a;
	return 0;
}

static void kept_tell(const struct kept_answer *a, duck_row *each, void *ctx)
{
	for (size_t i = 0; i < a->n_cells; i += a->n_columns)
		each(ctx, (const char *const *)&a->cells[i]);
}

/* Where the answer is, or is to be. */
static struct kept_answer *kept_place(struct kept_kind *kind, const char *sql)
{
	for (size_t i = 0; i < KEPT_MOST; i++)
		if (kind->answers[i].sql && !strcmp(kind->answers[i].sql, sql))
			return &kind->answers[i];
	return &kind->answers[kind->next++ % KEPT_MOST];
}

static int kept_query(struct duck *db, const char *sql, struct kept_kind *kind,
		      duck_row *each, void *ctx, struct error *err)
{
	struct duck_kept *k = db->kept;
	struct kept_answer own = { .sql = NULL }, *a;
	int rc = 0;

	/* Nobody else sees what is not committed, and it does not see what
	 * others have committed since. */
	if (db->in_transaction) {
		rc = kept_ask(&own, db, sql, kind, err);
		kept_tell(&own, each, ctx);
		kept_empty(&own);
		return rc;
	}
	pthread_mutex_lock(&k->lock);
	a = kept_place(kind, sql);
	if (!a->sql || strcmp(a->sql, sql) != 0 ||
	    a->at != atomic_load(&kind->changes))
		rc = kept_ask(a, db, sql, kind, err);
	if (!rc)
		kept_tell(a, each, ctx);
	pthread_mutex_unlock(&k->lock);
	return rc;
}

int duck_query_tables(struct duck *db, const char *sql, duck_row *each,
		      void *ctx, struct error *err)
{
	return kept_query(db, sql, &db->kept->tables, each, ctx, err);
}

int duck_query_rows(struct duck *db, const char *sql, duck_row *each, void *ctx,
		    struct error *err)
{
	return kept_query(db, sql, &db->kept->rows, each, ctx, err);
}

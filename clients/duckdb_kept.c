#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/duckdb_handle.h"
#include "core/base/alloc.h"

/* The answer, and when it was given: at which number of `changes`. */
struct duck_kept {
	pthread_mutex_t lock;
	atomic_ulong changes; /* statements that may have changed tables */
	char *sql;
	unsigned long at;
	char **cells; /* row by row */
	size_t n_cells, n_columns;
};

struct duck_kept *duck_kept_new(void)
{
	struct duck_kept *k = xcalloc(1, sizeof(*k));

	pthread_mutex_init(&k->lock, NULL);
	return k;
}

static void kept_empty(struct duck_kept *k)
{
	for (size_t i = 0; i < k->n_cells; i++)
		free(k->cells[i]);
	free(k->cells);
	free(k->sql);
	k->cells = NULL;
	k->n_cells = 0;
	k->sql = NULL;
}

void duck_kept_free(struct duck_kept *k)
{
	kept_empty(k);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static bool kept_begins(const char *sql, const char *word)
{
	size_t n = strlen(word);

	return !strncasecmp(sql, word, n) && !isalpha((unsigned char)sql[n]);
}

/* Does it leave all tables and views as they are? */
static bool kept_is_harmless(const char *sql)
{
	static const char *const words[] = { "SELECT", "INSERT",  "UPDATE",
					     "DELETE", "SET",	  "FROM",
					     "WITH",   "DESCRIBE" };

	if (strchr(sql, ';'))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (kept_begins(sql, words[i]))
			return true;
	return false;
}

void duck_note(struct duck *db, const char *sql)
{
	if (kept_is_harmless(sql))
		return;
	atomic_fetch_add(&db->kept->changes, 1);
	/* A text of several statements may leave one open. */
	db->in_transaction = !kept_begins(sql, "COMMIT") &&
			     !kept_begins(sql, "ROLLBACK") &&
			     (db->in_transaction || strchr(sql, ';') ||
			      kept_begins(sql, "BEGIN"));
}

static int kept_ask(struct duck_kept *k, struct duck *db, const char *sql,
		    struct error *err)
{
	unsigned long at = atomic_load(&k->changes);
	struct duck_result *r = NULL;
	size_t capacity = 0;
	int rc = duck_query(db, &r, sql, NULL, 0, err);

	if (rc)
		return rc;
	kept_empty(k);
	k->n_columns = duck_columns(r);
	while (duck_next(r)) {
		k->cells = xgrow(k->cells, &capacity, k->n_cells + k->n_columns,
				 sizeof(*k->cells));
		for (size_t c = 0; c < k->n_columns; c++)
			k->cells[k->n_cells++] = duck_str(r, c);
	}
	duck_result_free(r);
	k->sql = xstrdup(sql);
	k->at = at;
	return 0;
}

int duck_query_tables(struct duck *db, const char *sql, duck_row *each,
		      void *ctx, struct error *err)
{
	struct duck_kept *k = db->kept;
	int rc = 0;

	pthread_mutex_lock(&k->lock);
	if (db->in_transaction || !k->sql || strcmp(k->sql, sql) != 0 ||
	    k->at != atomic_load(&k->changes))
		rc = kept_ask(k, db, sql, err);
	for (size_t i = 0; !rc && i < k->n_cells; i += k->n_columns)
		each(ctx, (const char *const *)&k->cells[i]);
	/* Nobody else sees what is not committed. */
	if (db->in_transaction)
		kept_empty(k);
	pthread_mutex_unlock(&k->lock);
	return rc;
}

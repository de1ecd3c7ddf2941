/* When is a value another one? An engine's = takes a month for thirty days, 'a'
 * for 'A', 0.0 for -0.0 and 1.0 for 1.00; a load does not. */
#include "destination_suite.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* The column is made by hand with the type, or (NULL) by Tidemark. */
struct change {
	const char *engine; /* NULL: every engine */
	const char *type, *kind;
	const char *before, *after;
	bool written;
};

static const struct change changes[] = {
	{ NULL, NULL, "interval", "1 0 0", "0 30 0", true },
	{ NULL, NULL, "interval", "0 1 0", "0 0 86400000000", true },
	{ NULL, NULL, "interval", "1 2 3", "1 2 3", false },
	{ NULL, NULL, "text", "a", "A", true },
	{ NULL, NULL, "text", "a", "a ", true },
	{ NULL, NULL, "text", "e", "\xc3\xa9", true },
	{ NULL, NULL, "text", "", "NULL", true },
	{ NULL, NULL, "text", "NULL", "", true },
	{ NULL, NULL, "text", "a", "a", false },
	{ NULL, NULL, "float64", "1.5", "1.5", false },
	{ NULL, NULL, "decimal(12,2)", "1.50", "1.50", false },
	{ NULL, NULL, "decimal(12,2)", "1.50", "1.51", true },

	{ "postgres", NULL, "float64", "0", "-0", true },
	{ "postgres", NULL, "float32", "-0", "0", true },
	{ "postgres", NULL, "float64", "nan", "nan", false },
	{ "postgres", NULL, "float64", "-0", "-0", false },
	{ "postgres", NULL, "decimal", "1.0", "1.00", true },
	{ "postgres", NULL, "decimal", "1.0", "1.0", false },
	{ "postgres", NULL, "decimal", "NaN", "NaN", false },
	{ "postgres", NULL, "json", "{\"a\":1.0}", "{\"a\":1.00}", true },
	{ "postgres", NULL, "json", "{\"a\": 1}", "{\"a\":1}", true },
	{ "postgres", "jsonb", "json", "{\"a\":1.0}", "{\"a\":1.00}", true },
	{ "postgres", "jsonb", "json", "{\"a\": 1}", "{\"a\":1}", false },
	{ "postgres", "text COLLATE without_case", "text", "a", "A", true },
	{ "postgres", "varchar(9) COLLATE without_case", "text(9)", "a", "A",
	  true },
	{ "postgres", "interval", "interval", "1 0 0", "0 30 0", true },
	{ "postgres", "double precision", "float32", "0", "-0", true },

	/* Its storage keeps one of them where a column has no other value. */
	{ "duckdb", NULL, "float64", "0", "-0", false },
	{ "duckdb", NULL, "float64", "nan", "nan", false },
	{ "duckdb", NULL, "float64", "-0", "-0", false },
	{ "duckdb", NULL, "interval", "1 0 0", "0 30 0", true },
	{ "duckdb", NULL, "json", "{\"a\":1.0}", "{\"a\":1.00}", true },
	{ "duckdb", "VARCHAR COLLATE NOCASE", "text", "a", "A", true },
	{ "duckdb", "VARCHAR COLLATE NOACCENT", "text", "e", "\xc3\xa9", true },
	{ "duckdb", "VARCHAR COLLATE NOCASE", "text", "a", "a", false },

	{ "sqlite", "TEXT COLLATE NOCASE", "text", "a", "A", true },
	{ "sqlite", "TEXT COLLATE RTRIM", "text", "a", "a ", true },
	{ "sqlite", "TEXT COLLATE NOCASE", "text", "a", "a", false },
	/* It keeps both as the integer 0. */
	{ "sqlite", NULL, "float64", "0", "-0", false },

	/* It prints both as 0. */
	{ "mariadb", NULL, "float64", "0", "-0", false },
	{ "mariadb", "varchar(9) COLLATE utf8mb4_general_ci", "text(9)", "a",
	  "A", true },
	{ "mariadb", "varchar(9) COLLATE utf8mb4_general_ci", "text(9)", "a",
	  "a ", true },
	{ "mariadb", "longtext COLLATE utf8mb4_unicode_ci", "text", "e",
	  "\xc3\xa9", true },
	{ "mysql", NULL, "float64", "0", "-0", true },
	{ "mysql", NULL, "float32", "-0", "0", true },
	{ "mysql", NULL, "float64", "-0", "-0", false },
	{ "mysql", "varchar(9) COLLATE utf8mb4_0900_ai_ci", "text(9)", "a", "A",
	  true },
	{ "mysql", "varchar(9) COLLATE utf8mb4_general_ci", "text(9)", "a",
	  "a ", true },
	{ "mysql", "longtext COLLATE utf8mb4_0900_ai_ci", "text", "e",
	  "\xc3\xa9", true },
};

enum { CHANGES = sizeof(changes) / sizeof(changes[0]) };

/* The cases of one table: a column and a row each. */
struct group {
	const struct change *cases[CHANGES];
	size_t n;
};

static void group_clean(struct world *w)
{
	bool raw = w->target.mode == LOAD_APPEND;

	if (w->quirks->clean)
		world_exec(w, w->quirks->clean);
	else if (raw)
		world_exec(w, "DROP VIEW orders; DROP TABLE orders_raw;"
			      "DROP TABLE _tidemark_watermark;");
	else
		world_exec(w, "DROP TABLE orders;"
			      "DROP TABLE _tidemark_watermark;");
}

/* The table, if its columns have types that Tidemark would not choose. */
static void group_make(struct world *w, const struct group *g)
{
	bool raw = w->target.mode == LOAD_APPEND;
	struct strbuf sql = STRBUF_INIT;

	if (!g->cases[0]->type)
		return;
	strbuf_addf(&sql, "CREATE TABLE orders%s (id %s %s", raw ? "_raw" : "",
		    w->quirks->bigint, raw ? "NOT NULL" : "PRIMARY KEY");
	for (size_t i = 0; i < g->n; i++)
		strbuf_addf(&sql, ", v%zu %s", i, g->cases[i]->type);
	if (raw)
		strbuf_addf(&sql,
			    ", _tidemark_batch %s, _tidemark_seq %s, "
			    "_tidemark_loaded_at %s",
			    w->quirks->text, w->quirks->bigint,
			    w->quirks->plugin ? "datetime(6)"
					      : "timestamp with time zone");
	strbuf_addstr(&sql, ");");
	world_exec(w, sql.data);
	strbuf_release(&sql);
}

static void group_schema(struct world *w, const struct group *g)
{
	struct strbuf spec = STRBUF_INIT;

	strbuf_addstr(&spec, "id:int64!");
	for (size_t i = 0; i < g->n; i++)
		strbuf_addf(&spec, " v%zu:%s", i, g->cases[i]->kind);
	world_schema(w, spec.data);
	strbuf_release(&spec);
}

/* The row of a case: its value stands in its own column, the others are NULL.
 */
static void group_row(struct strbuf *rows, const struct group *g, size_t row,
		      const char *value)
{
	strbuf_addf(rows, "%s%zu", rows->len ? "\n" : "", row);
	for (size_t i = 0; i < g->n; i++)
		strbuf_addf(rows, "|%s", i == row ? value : "NULL");
}

enum which { WRITTEN = 1, NOT_WRITTEN = 2 };

/* Load one value of each case: `before` or after its change. The cases are
 * those that a load writes, those that it leaves, or both. All rows are
 * written, or none. */
static void group_load(struct world *w, const struct group *g, unsigned which,
		       bool before, bool written)
{
	struct strbuf rows = STRBUF_INIT;
	int n = 0, done;

	for (size_t i = 0; i < g->n; i++) {
		const struct change *c = g->cases[i];

		if (!(which & (c->written ? WRITTEN : NOT_WRITTEN)))
			continue;
		group_row(&rows, g, i, before ? c->before : c->after);
		n++;
	}
	if (n) {
		world_sync(w, rows.data, "{}");
		done = (int)(w->counts.inserted + w->counts.updated);
		if (done != (written ? n : 0) ||
		    done + w->counts.unchanged != n)
			fail_msg("mode %s: %d of %d rows written:\n%s",
				 load_mode_name(w->target.mode), done, n,
				 rows.data);
	}
	strbuf_release(&rows);
}

static void group_test(struct world *w, const struct group *g,
		       enum load_mode mode)
{
	if (!g->n)
		return;
	group_schema(w, g);
	w->target.table = "orders";
	w->target.mode = mode;
	group_make(w, g);
	group_load(w, g, WRITTEN | NOT_WRITTEN, true, true);
	group_load(w, g, NOT_WRITTEN, false, false);
	group_load(w, g, WRITTEN, false, true);
	/* Once it is there, it is there. */
	group_load(w, g, WRITTEN | NOT_WRITTEN, false, false);
	group_clean(w);
}

static void changes_of(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);
	struct group own = { .n = 0 }, by_hand = { .n = 0 };

	for (size_t i = 0; i < CHANGES; i++) {
		const struct change *c = &changes[i];
		struct group *g = c->type ? &by_hand : &own;

		if (!c->engine || !strcmp(c->engine, w->quirks->engine))
			g->cases[g->n++] = c;
	}
	group_test(w, &own, mode);
	group_test(w, &by_hand, mode);
}

static void test_changes(void **state)
{
	changes_of(state, LOAD_UPSERT);
}

static void test_changes_delete_insert(void **state)
{
	changes_of(state, LOAD_DELETE_INSERT);
}

static void test_changes_append(void **state)
{
	changes_of(state, LOAD_APPEND);
}

const struct CMUnitTest suite_changes[] = {
	SUITE_TEST(test_changes),
	SUITE_TEST(test_changes_delete_insert),
	SUITE_TEST(test_changes_append),
};
const size_t suite_changes_n = ARRAY_SIZE(suite_changes);

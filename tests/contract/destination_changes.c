/* When is a value another one? An engine's = takes a month for thirty days, 'a'
 * for 'A', 0.0 for -0.0 and 1.0 for 1.00; a load does not. */
#include "destination_suite.h"

#include <string.h>

#include "core/base/alloc.h"

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

static void change_clean(struct world *w)
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

static void change_make(struct world *w, const char *type)
{
	bool raw = w->target.mode == LOAD_APPEND;
	char *sql;

	if (!type)
		return;
	sql = raw ? xstrfmt("CREATE TABLE orders_raw (id %s NOT NULL, v %s, "
			    "_tidemark_batch %s, _tidemark_seq %s, "
			    "_tidemark_loaded_at %s);",
			    w->quirks->bigint, type, w->quirks->text,
			    w->quirks->bigint,
			    w->quirks->plugin ? "datetime(6)"
					      : "timestamp with time zone")
		  : xstrfmt("CREATE TABLE orders (id %s PRIMARY KEY, v %s);",
			    w->quirks->bigint, type);
	world_exec(w, sql);
	free(sql);
}

static void change_load(struct world *w, const char *value, size_t i,
			bool written)
{
	char *row = xstrfmt("1|%s", value);
	int64_t n;

	world_sync(w, row, "{}");
	n = w->counts.inserted + w->counts.updated;
	if (n != (written ? 1 : 0) || n + w->counts.unchanged != 1)
		fail_msg("case %zu, mode %s: '%s' to '%s' into %s: written %d",
			 i, load_mode_name(w->target.mode), changes[i].before,
			 changes[i].after,
			 changes[i].type ? changes[i].type : "its own column",
			 (int)n);
	free(row);
}

static void changes_of(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		const struct change *c = &changes[i];
		char *spec;

		if (c->engine && strcmp(c->engine, w->quirks->engine))
			continue;
		spec = xstrfmt("id:int64! v:%s", c->kind);
		world_schema(w, spec);
		free(spec);
		w->target.table = "orders";
		w->target.mode = mode;
		change_make(w, c->type);
		change_load(w, c->before, i, true);
		change_load(w, c->after, i, c->written);
		/* Once it is there, it is there. */
		change_load(w, c->after, i, false);
		change_clean(w);
	}
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

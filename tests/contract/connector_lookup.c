/* Rows of given keys, wherever the mark is; the same for every engine. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"
#include "core/data/value.h"

static void lookup_ask(struct world *w, const char *text)
{
	strlist_add(&w->asked, text);
}

static int lookup_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of the last run, in their order as texts. */
static char *lookup_sorted(const struct world *w)
{
	struct strlist lines = STRLIST_INIT;
	struct strbuf sb = STRBUF_INIT;
	char *text = xstrdup(w->rows.data), *rest = text, *line;

	while ((line = strsep(&rest, "\n")) && rest)
		strlist_add(&lines, line);
	if (lines.n)
		qsort(lines.items, lines.n, sizeof(*lines.items),
		      lookup_compare);
	for (size_t i = 0; i < lines.n; i++)
		strbuf_addf(&sb, "%s\n", lines.items[i]);
	strlist_release(&lines);
	free(text);
	return strbuf_detach(&sb);
}

static void lookup_expect(struct world *w, size_t rows, const char *expected)
{
	char *got;

	if (world_run(w, rows))
		fail_msg("%s", w->err.message);
	got = lookup_sorted(w);
	assert_string_equal(got, expected);
	free(got);
}

/* Ten rows, a second apart. */
static void lookup_table(struct world *w)
{
	world_exec(w,
		   "CREATE TABLE %st (id int PRIMARY KEY, stamp %s NULL, "
		   "v int)",
		   w->quirks->prefix, w->quirks->mark_type);
	for (int id = 0; id < 10; id++)
		world_exec(w,
			   "INSERT INTO %st VALUES (%d, "
			   "'2024-01-01 00:00:%02d.5+00', %d)",
			   w->quirks->prefix, id, 9 - id, 10 * id);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
}

static void lookup_finds_rows(void **state)
{
	struct world *w = suite_world(state);

	lookup_table(w);
	lookup_ask(w, "7");
	lookup_ask(w, "99");
	lookup_ask(w, "-2");
	lookup_ask(w, "0");
	lookup_ask(w, "4");
	for (size_t rows = 1; rows < 5; rows++) {
		world_reset(w);
		lookup_expect(w, rows,
			      "0|2024-01-01 00:00:09.5+00|0\n"
			      "4|2024-01-01 00:00:05.5+00|40\n"
			      "7|2024-01-01 00:00:02.5+00|70\n");
		assert_null(w->from.value);
		world_expect_delivered(w, "2024-01-01 00:00:09.5+00");
	}
	/* The pass is over: the next one is as any. */
	strlist_release(&w->asked);
	world_reset(w);
	world_expect_count(w, 4, 10);
}

static void lookup_of_nothing(void **state)
{
	struct world *w = suite_world(state);

	lookup_table(w);
	lookup_ask(w, "77");
	world_expect(w, 10, "");
	assert_null(w->from.value);
	assert_null(json_object_get(w->from.pending, "delivered"));
}

/* The mark stays where it is; what lies beyond it is known as delivered. */
static void lookup_leaves_the_mark(void **state)
{
	struct world *w = suite_world(state);

	lookup_table(w);
	w->from.value = xstrdup("2024-01-01 00:00:05.5+00");
	strlist_add(&w->from.key, "4");
	lookup_ask(w, "7");
	lookup_expect(w, 10, "7|2024-01-01 00:00:02.5+00|70\n");
	assert_string_equal(w->from.value, "2024-01-01 00:00:05.5+00");
	assert_string_equal(w->from.key.items[0], "4");
	assert_null(json_object_get(w->from.pending, "delivered"));
	lookup_ask(w, "2");
	world_expect_count(w, 10, 2);
	assert_string_equal(w->from.value, "2024-01-01 00:00:05.5+00");
	world_expect_delivered(w, "2024-01-01 00:00:07.5+00");
}

static void lookup_keeps_to_the_pipeline(void **state)
{
	struct world *w = suite_world(state);

	lookup_table(w);
	world_exec(w, "UPDATE %st SET stamp = NULL WHERE id = 6",
		   w->quirks->prefix);
	w->source.where = "v > 30 -- not the small ones";
	for (int id = 2; id < 8; id += 2) {
		char text[8];
		snprintf(text, sizeof(text), "%d", id);
		lookup_ask(w, text);
	}
	w->mark.nulls = NULLS_SKIP;
	lookup_expect(w, 10, "4|2024-01-01 00:00:05.5+00|40\n");
	w->mark.nulls = NULLS_INCLUDE;
	world_reset(w);
	lookup_expect(w, 10,
		      "4|2024-01-01 00:00:05.5+00|40\n"
		      "6|NULL|60\n");
	world_expect_delivered(w, "2024-01-01 00:00:05.5+00");
}

/* The mark is not among the columns, and the key is of two. */
static void lookup_of_texts(void **state)
{
	static const char *const texts[] = {
		"",    "x",	"it''s \"a\" {b,c}",
		"a b", "NULL",	"ünï 🐘 $1 ? %s",
		"{}",  "a\x1f", "\x1f\x1e\x62"
	}; /* b */
	struct world *w = suite_world(state);
	char *sorted;

	world_exec(w,
		   "CREATE TABLE %st (part int, name varchar(60), stamp %s NOT "
		   "NULL, v int, PRIMARY KEY (part, name))",
		   w->quirks->prefix, w->quirks->mark_type);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		world_exec(w,
			   "INSERT INTO %st VALUES (1, '%s', "
			   "'2024-01-01 00:00:00+00', %zu), (2, '%s', "
			   "'2024-01-01 00:00:00+00', 0)",
			   w->quirks->prefix, texts[i], i, texts[i]);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	strlist_add(&w->columns, "part");
	strlist_add(&w->columns, "name");
	strlist_add(&w->columns, "v");
	world_key(w, "name", "part");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		bool quote = strstr(texts[i], "''") != NULL;
		const char *text = quote ? "it's \"a\" {b,c}" : texts[i];

		lookup_ask(w, text);
		lookup_ask(w, "1");
		strbuf_addf(&w->rows, "1|%s|%zu\n", text, i);
	}
	sorted = lookup_sorted(w);
	lookup_expect(w, 3, sorted);
	free(sorted);
}

/* A look-up by key finds each row again that a pass has read. */
void lookup_again(struct world *w)
{
	char *all;

	strlist_release(&w->asked);
	if (world_begin(w) || world_step(w, 100) != 1)
		fail_msg("%s", w->err.message);
	for (size_t row = 0; row < w->batch.n_rows; row++) {
		struct strbuf text = STRBUF_INIT;
		value_print(&text, &w->batch.vectors[0], row);
		lookup_ask(w, text.data);
		strbuf_release(&text);
	}
	if (world_run(w, 100))
		fail_msg("%s", w->err.message);
	all = lookup_sorted(w);
	assert_int_equal(w->n_rows, w->asked.n);
	strlist_release(&w->asked);
	world_reset(w);
	lookup_expect(w, 100, all);
	free(all);
}

static const struct lookup_kind {
	const char *engines; /* NULL: all */
	const char *type, *values[3];
} lookup_kinds[] = {
	{ NULL, "smallint", { "-32768", "0", "32767" } },
	{ NULL,
	  "bigint",
	  { "-9223372036854775807", "0", "9223372036854775807" } },
	{ NULL, "decimal(30,6)", { "-0.5", "1.10", "123456789012.000001" } },
	{ NULL, "varchar(40)", { "''", "'Ünï'", "'a\"b,c'" } },
	{ NULL, "date", { "'1969-12-31'", "'2024-02-29'", "'2262-01-01'" } },
	{ "postgres", "numeric", { "-1e30", "0.000001", "1e30" } },
	{ "postgres",
	  "uuid",
	  { "'00000000-0000-0000-0000-000000000001'",
	    "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
	    "'12345678-9abc-def0-1234-56789abcdef0'" } },
	{ "postgres", "bytea", { "'\\x'", "'\\x00ff'", "'\\x5c22'" } },
	{ "postgres", "tm_source.color", { "'red'", "'{a,\"b\"}'", "'x''y'" } },
	{ "postgres", "int[]", { "'{}'", "'{1,NULL}'", "'{{1,2},{3,4}}'" } },
	{ "postgres", "char(4)", { "''", "'a b'", "'abcd'" } },
	{ "postgres", "\"char\"", { "''", "'x'", "'\\377'" } },
	{ "postgres", "bit(3)", { "B'000'", "B'101'" } },
	{ "postgres duckdb", "boolean", { "true", "false" } },
	{ "mariadb mysql",
	  "bigint unsigned",
	  { "0", "9223372036854775808", "18446744073709551615" } },
	{ "mariadb mysql", "varbinary(20)", { "''", "x'00ff'", "x'5c22'" } },
	{ "mariadb mysql",
	  "varchar(40) CHARACTER SET latin1",
	  { "''", "'ä'", "'b'" } },
	{ "mariadb mysql",
	  "datetime(3)",
	  { "'1000-01-01'", "'2024-01-01 01:02:03.004'", "'9999-12-31'" } },
	{ "mariadb mysql",
	  "enum('red', 'a,b', 'x y')",
	  { "'red'", "'a,b'", "'x y'" } },
	{ "duckdb",
	  "ubigint",
	  { "0", "9223372036854775808", "18446744073709551615" } },
	{ "duckdb", "blob", { "''::blob", "'\\x00\\xff'::blob" } },
	{ "duckdb postgres mariadb",
	  "uuid",
	  { "'00000000-0000-0000-0000-000000000001'",
	    "'ffffffff-ffff-ffff-ffff-ffffffffffff'" } },
	{ "duckdb",
	  "timestamp",
	  { "'0044-03-15 (BC) 00:00:00'", "'2024-01-01 01:02:03.000004'" } },
	{ "postgres",
	  "timestamp",
	  { "'0044-03-15 00:00:00 BC'", "'2024-01-01 01:02:03.000004'" } },
	{ "sqlite",
	  "timestamptz",
	  { "'2024-01-01 01:02:03+00'", "'1970-01-01 00:00:00.000001+00'" } },
};

static void lookup_by_every_kind(void **state)
{
	struct world *w = suite_world(state);

	if (!strcmp(w->quirks->engine, "postgres"))
		world_exec(w, "CREATE TYPE tm_source.color AS ENUM ('red', "
			      "'{a,\"b\"}', 'x''y')");
	for (size_t i = 0; i < ARRAY_SIZE(lookup_kinds); i++) {
		const struct lookup_kind *k = &lookup_kinds[i];
		char table[24];

		if (k->engines && !strstr(k->engines, w->quirks->engine))
			continue;
		snprintf(table, sizeof(table), "k%zu", i);
		world_exec(w,
			   "CREATE TABLE %s%s (k %s PRIMARY KEY, n bigint NOT "
			   "NULL)",
			   w->quirks->prefix, table, k->type);
		for (size_t v = 0; v < 3 && k->values[v]; v++)
			world_exec(w, "INSERT INTO %s%s VALUES (%s, %zu)",
				   w->quirks->prefix, table, k->values[v], v);
		world_pipeline(w, table, STRATEGY_SEQUENCE, "n");
		lookup_again(w);
	}
}

static void lookup_of_many(void **state)
{
	struct world *w = suite_world(state);
	char text[16];
	int rc;

	world_exec(w, "CREATE TABLE %st (id int PRIMARY KEY, v int)",
		   w->quirks->prefix);
	world_exec(w, "INSERT INTO %st SELECT n, 1 FROM %s", w->quirks->prefix,
		   world_series(w, 1, 4000));
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	for (int id = 2; id <= 6000; id += 2) {
		snprintf(text, sizeof(text), "%d", id);
		lookup_ask(w, text);
	}
	w->quiet = true;
	for (size_t rows = 150; rows <= 6000; rows *= 20) {
		rc = world_run(w, rows);
		assert_int_equal(rc, 0);
		assert_int_equal(w->n_rows, 2000);
		assert_int_equal(w->sum, 2000 * 2001);
	}
	w->quiet = false;
}

/* Some are long, and a batch is full before all that was asked for is read:
 * none is lost. */
static void lookup_of_uneven_rows(void **state)
{
	struct world *w = suite_world(state);
	char text[16];
	int rc;

	world_exec(w, "CREATE TABLE %st (id int PRIMARY KEY, v text)",
		   w->quirks->prefix);
	world_exec(w,
		   "INSERT INTO %st SELECT n, "
		   "CASE WHEN n %% 50 = 49 THEN %s ELSE 'x' END FROM %s",
		   w->quirks->prefix, w->quirks->long_text,
		   world_series(w, 1, 1000));
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	for (int id = 1; id <= 1000; id++) {
		snprintf(text, sizeof(text), "%d", id);
		lookup_ask(w, text);
	}
	assert_int_equal(world_begin(w), 0);
	w->batch.max_bytes = 1000;
	w->quiet = true;
	do
		rc = world_step(w, 1000);
	while (rc > 0);
	w->quiet = false;
	assert_int_equal(rc, 0);
	assert_int_equal(w->n_rows, 1000);
	assert_int_equal(w->sum, 1000 * 1001 / 2);
}

/* `whole` gives these rows in batches of so many, and no row twice. */
static void lookup_expect_whole(struct world *w, size_t rows, int64_t n,
				uint64_t sum)
{
	int rc;

	world_reset(w);
	w->whole = w->quiet = true;
	w->n_rows = 0;
	w->sum = 0;
	rc = world_begin(w);
	assert_int_equal(rc, 0);
	while ((rc = world_step(w, rows)) > 0)
		;
	if (rc)
		fail_msg("%s", w->err.message);
	assert_int_equal(w->n_rows, n);
	assert_int_equal(w->sum, sum);
	w->whole = w->quiet = false;
}

/* Wherever their marks are, NULL too; the key is no index, and as a view. */
static void lookup_of_the_whole_table(void **state)
{
	struct world *w = suite_world(state);

	lookup_table(w);
	world_exec(w, "UPDATE %st SET stamp = NULL WHERE id = 6",
		   w->quirks->prefix);
	world_exec(w, "CREATE VIEW %sv AS SELECT id, v, stamp FROM %st",
		   w->quirks->prefix, w->quirks->prefix);
	w->from.value = xstrdup("2024-01-01 00:00:05.5+00");
	for (size_t rows = 1; rows < 30; rows *= 3)
		lookup_expect_whole(w, rows, 10, 45);
	w->source.where = "v > 30 -- not the small ones";
	lookup_expect_whole(w, 4, 6, 4 + 5 + 6 + 7 + 8 + 9);
	world_pipeline(w, "v", STRATEGY_TIMESTAMP, "stamp");
	w->source.where = NULL;
	world_key(w, "id", NULL);
	lookup_expect_whole(w, 4, 10, 45);
	w->mark.nulls = NULLS_INCLUDE;
	world_reset(w);
	world_expect_count(w, 4, 10);
}

const struct CMUnitTest suite_lookup[] = {
	SUITE_TEST(lookup_finds_rows),
	SUITE_TEST(lookup_of_nothing),
	SUITE_TEST(lookup_leaves_the_mark),
	SUITE_TEST(lookup_keeps_to_the_pipeline),
	SUITE_TEST(lookup_of_texts),
	SUITE_TEST(lookup_by_every_kind),
	SUITE_TEST(lookup_of_many),
	SUITE_TEST(lookup_of_uneven_rows),
	SUITE_TEST(lookup_of_the_whole_table),
};
const size_t suite_lookup_n = ARRAY_SIZE(suite_lookup);

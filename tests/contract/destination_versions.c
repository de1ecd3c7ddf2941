/* The newer one of two rows, where the mark is kept as text. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define ALL "SELECT id, name FROM orders ORDER BY id;"

/* In their order. */
static const char *const numbers[] = {
	"-12345678901234567890123456789012345678902",
	"-12345678901234567890123456789012345678901",
	"-10",
	"-9.5",
	"-9",
	"-0.25",
	"0",
	"0.07",
	"0.5",
	"9",
	"9.5",
	"10",
	"99.25",
	"100",
	"9007199254740993",
	"9007199254740994",
	"12345678901234567890123456789012345678901",
	"12345678901234567890123456789012345678902",
};
#define N_NUMBERS ARRAY_SIZE(numbers)

static struct world *versions_world(void **state, enum load_mode mode,
				    const char *mark)
{
	struct world *w = suite_world(state);
	char *spec = xstrfmt("id:int64! name:text v:%s@", mark);

	world_schema(w, spec);
	w->target.table = "orders";
	w->target.mode = mode;
	w->rehearse = true;
	free(spec);
	return w;
}

/* Each number that is stored meets each that comes. */
static void versions_meet(struct world *w)
{
	struct strbuf old = STRBUF_INIT, new = STRBUF_INIT, due = STRBUF_INIT;
	int newer = 0;

	for (size_t i = 0; i < N_NUMBERS; i++)
		for (size_t k = 0; k < N_NUMBERS; k++) {
			size_t id = i * N_NUMBERS + k;

			strbuf_addf(&old, "%zu|old|%s\n", id, numbers[i]);
			strbuf_addf(&new, "%zu|new|%s\n", id, numbers[k]);
			strbuf_addf(&due, "%s%zu|%s", id ? "\n" : "", id,
				    k >= i ? "new" : "old");
			newer += k >= i;
		}
	world_sync(w, old.data, "{}");
	world_sync(w, new.data, "{}");
	world_expect_counts(w, 0, newer, (int)(N_NUMBERS * N_NUMBERS) - newer);
	assert_string_equal(world_query(w, ALL), due.data);
	strbuf_release(&old);
	strbuf_release(&new);
	strbuf_release(&due);
}

/* A stored one gives way up to what was delivered. */
static void versions_delivered(struct world *w, size_t delivered)
{
	struct strbuf old = STRBUF_INIT, new = STRBUF_INIT, due = STRBUF_INIT;

	for (size_t i = 0; i < N_NUMBERS; i++) {
		strbuf_addf(&old, "%zu|old|%s\n", i, numbers[i]);
		strbuf_addf(&new, "%zu|new|%s\n", i, numbers[0]);
		strbuf_addf(&due, "%s%zu|%s", i ? "\n" : "", i,
			    i <= delivered ? "new" : "old");
	}
	world_sync(w, old.data, "{}");
	w->delivered = numbers[delivered];
	world_sync(w, new.data, "{}");
	assert_string_equal(world_query(w, ALL), due.data);
	strbuf_release(&old);
	strbuf_release(&new);
	strbuf_release(&due);
}

static void test_number_versions(void **state)
{
	versions_meet(versions_world(state, LOAD_UPSERT, "decimal"));
}

static void test_number_versions_delete_insert(void **state)
{
	versions_meet(versions_world(state, LOAD_DELETE_INSERT, "decimal"));
}

static void test_number_versions_delivered(void **state)
{
	versions_delivered(versions_world(state, LOAD_UPSERT, "decimal"), 9);
}

static void test_large_number_versions_delivered(void **state)
{
	versions_delivered(versions_world(state, LOAD_DELETE_INSERT, "decimal"),
			   14);
}

/* A table that was there before, with texts in others' notation. False: the
 * engine refuses such a mark, and says what to do. */
static bool versions_by_hand(struct world *w, const char *rows)
{
	char *sql = xstrfmt("CREATE TABLE orders (id %s PRIMARY KEY, name %s, "
			    "v %s); INSERT INTO orders (id, name, v) VALUES "
			    "%s;",
			    w->quirks->bigint, w->quirks->text, w->quirks->text,
			    rows);
	int rc;

	world_exec(w, sql);
	free(sql);
	rc = world_begin(w);
	world_close(w);
	if (!rc)
		return true;
	assert_int_equal(rc, ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "column v "));
	return false;
}

static void versions_of_numbers(struct world *w)
{
	if (!versions_by_hand(w, "(1, 'old', '007'), (2, 'old', '100'), "
				 "(3, 'old', '10.0'), (4, 'old', '9')"))
		return;
	world_sync(w, "1|new|8\n2|new|11\n3|new|10\n4|new|10", "{}");
	world_expect_counts(w, 0, 3, 1);
	assert_string_equal(world_query(w, ALL), "1|new\n2|old\n3|new\n4|new");
}

static void test_numbers_in_a_text(void **state)
{
	versions_of_numbers(versions_world(state, LOAD_UPSERT, "int64"));
}

static void test_numbers_in_a_text_delete_insert(void **state)
{
	versions_of_numbers(versions_world(state, LOAD_DELETE_INSERT, "int64"));
}

static void versions_of_instants(struct world *w)
{
	if (!versions_by_hand(w, "(1, 'old', '2026-01-05 14:00:00+05:00'), "
				 "(2, 'old', '2026-01-05 08:00:00-05:00'), "
				 "(3, 'old', '2026-01-05T09:00:00Z'), "
				 "(4, 'old', '2026-01-05 10:00:00.000+00:00'), "
				 "(5, 'old', '2026-01-05T10:00:01+00:00')"))
		return;
	world_sync(
		w,
		"1|new|2026-01-05 10:00:00+00\n2|new|2026-01-05 10:00:00+00\n"
		"3|new|2026-01-05 10:00:00+00\n4|new|2026-01-05 10:00:00+00\n"
		"5|new|2026-01-05 10:00:00+00",
		"{}");
	world_expect_counts(w, 0, 3, 2);
	assert_string_equal(world_query(w, ALL),
			    "1|new\n2|old\n3|new\n4|new\n5|old");
	/* By now they are in the engine's own notation. */
	w->delivered = "2026-01-05 14:00:00+00";
	world_sync(w, "2|newer|2026-01-05 11:00:00+00", "{}");
	world_expect_counts(w, 0, 1, 0);
}

static void test_instants_in_a_text(void **state)
{
	versions_of_instants(versions_world(state, LOAD_UPSERT, "timestamptz"));
}

static void test_instants_in_a_text_delete_insert(void **state)
{
	versions_of_instants(
		versions_world(state, LOAD_DELETE_INSERT, "timestamptz"));
}

/* A day may be written with a time, too. */
static void test_days_in_a_text(void **state)
{
	struct world *w = versions_world(state, LOAD_UPSERT, "date");

	if (!versions_by_hand(w, "(1, 'old', '2026-01-05 00:00:00'), "
				 "(2, 'old', '2026-01-06'), "
				 "(3, 'old', '2026-01-04')"))
		return;
	world_sync(w, "1|new|2026-01-05\n2|new|2026-01-05\n3|new|2026-01-05",
		   "{}");
	assert_string_equal(world_query(w, ALL), "1|new\n2|old\n3|new");
}

/* Written by a hand, and nothing that could be newer. */
static void test_no_number_gives_way(void **state)
{
	struct world *w = versions_world(state, LOAD_UPSERT, "int64");

	/* PostgreSQL's cast names the text that is none: exit 5. */
	if (!strcmp(w->quirks->engine, "postgres"))
		skip();
	if (!versions_by_hand(w, "(1, 'old', 'none'), (2, 'old', '')"))
		return;
	world_sync(w, "1|new|1\n2|new|-1", "{}");
	assert_string_equal(world_query(w, ALL), "1|new\n2|new");
}

const struct CMUnitTest suite_versions[] = {
	SUITE_TEST(test_number_versions),
	SUITE_TEST(test_number_versions_delete_insert),
	SUITE_TEST(test_number_versions_delivered),
	SUITE_TEST(test_large_number_versions_delivered),
	SUITE_TEST(test_numbers_in_a_text),
	SUITE_TEST(test_numbers_in_a_text_delete_insert),
	SUITE_TEST(test_instants_in_a_text),
	SUITE_TEST(test_instants_in_a_text_delete_insert),
	SUITE_TEST(test_days_in_a_text),
	SUITE_TEST(test_no_number_gives_way),
};
const size_t suite_versions_n = ARRAY_SIZE(suite_versions);

/* Rows that verify takes for equal. No difference cancels another. */
#include "unit.h"

#include "core/data/value.h"
#include "core/sync/verify/compare.h"
#include "core/sync/verify/fingerprints.h"
#include "core/sync/verify/part.h"
#include "core/sync/verify/roster.h"
#include "core/sync/verify/tally.h"

/* kinds, declared types ("" none), values ("\1": NULL), equal? */
static const struct {
	enum type_kind a, b;
	const char *a_type, *b_type, *x, *y;
	bool equal;
} values[] = {
	{ TYPE_TEXT, TYPE_TEXT, "", "", "a", "a", true },
	{ TYPE_TEXT, TYPE_TEXT, "", "", "a", "a ", false },
	{ TYPE_TEXT, TYPE_TEXT, "", "", "", "\1", false },
	{ TYPE_TEXT, TYPE_TEXT, "", "", "\1", "\1", true },
	{ TYPE_TEXT, TYPE_TEXT, "char(5)", "text", "a", "a    ", true },
	{ TYPE_TEXT, TYPE_TEXT, "character(5)", "", "a    ", "a", true },
	{ TYPE_TEXT, TYPE_TEXT, "character(5)", "", " a", "a", false },
	{ TYPE_TEXT, TYPE_TEXT, "character(5)", "", "", "\1", false },
	{ TYPE_TEXT, TYPE_TEXT, "character varying(5)", "", "a ", "a", false },
	{ TYPE_DECIMAL, TYPE_DECIMAL, "", "", "1.10", "1.1", true },
	{ TYPE_DECIMAL, TYPE_DECIMAL, "", "", "1.10", "1.11", false },
	{ TYPE_DECIMAL, TYPE_TEXT, "", "", "1.10", "1.1", true },
	{ TYPE_DECIMAL, TYPE_TEXT, "", "", "1.10", "", false },
	{ TYPE_JSON, TYPE_JSON, "", "", "{\"a\":1,\"b\":[ ]}",
	  "{\"b\": [], \"a\": 1.0}", true },
	{ TYPE_JSON, TYPE_TEXT, "", "", "{\"a\":1,\"b\":2}",
	  "{\"b\": 2, \"a\": 1}", true },
	{ TYPE_JSON, TYPE_TEXT, "", "", "[1,2]", "[2,1]", false },
	{ TYPE_NATIVE, TYPE_TEXT, "inet", "text", "::1", "::1", true },
};

struct end {
	struct schema schema;
	struct batch batch;
};

static void end_init(struct end *e, enum type_kind kind, const char *native)
{
	struct type id = { .kind = TYPE_INT64 };
	struct type v = { .kind = kind, .native = (char *)native };
	const size_t key = 0;

	schema_init(&e->schema);
	e->schema.table = xstrdup("t");
	schema_add(&e->schema, "id", &id, false);
	schema_add(&e->schema, "v", &v, true);
	schema_set_key(&e->schema, &key, 1);
	batch_init(&e->batch, &e->schema);
}

static void end_release(struct end *e)
{
	batch_release(&e->batch);
	schema_release(&e->schema);
}

static void end_begin(struct end *e, int64_t id)
{
	batch_reserve_row(&e->batch);
	vector_set_fixed(&e->batch.vectors[0], e->batch.n_rows, &id);
}

static void end_add_text(struct end *e, int64_t id, const char *text)
{
	struct vector *v = &e->batch.vectors[1];

	end_begin(e, id);
	if (*text == '\1')
		vector_set_null(v, e->batch.n_rows);
	else
		assert_int_equal(vector_set_bytes(v, e->batch.n_rows, text,
						  strlen(text), NULL),
				 0);
	batch_row_done(&e->batch);
}

static void end_add_i64(struct end *e, int64_t id, int64_t value)
{
	end_begin(e, id);
	vector_set_fixed(&e->batch.vectors[1], e->batch.n_rows, &value);
	batch_row_done(&e->batch);
}

static void end_add_bool(struct end *e, int64_t id, uint8_t value)
{
	end_begin(e, id);
	vector_set_fixed(&e->batch.vectors[1], e->batch.n_rows, &value);
	batch_row_done(&e->batch);
}

/* Is row 0 of both the same? */
static bool ends_equal(struct end *a, struct end *b)
{
	const size_t first = 0;
	struct compare_hash key[2], all[2];
	struct digest_rows slots = DIGEST_ROWS_INIT;
	struct error err = ERROR_INIT;
	struct compare c;

	if (compare_match(&c, &a->schema, &b->schema, &err))
		fail_msg("%s", err.message);
	compare_rows(&c, COMPARE_SOURCE, &a->batch, &first, 1, &slots, &key[0],
		     &all[0]);
	compare_rows(&c, COMPARE_DESTINATION, &b->batch, &first, 1, &slots,
		     &key[1], &all[1]);
	assert_memory_equal(&key[0], &key[1], sizeof(key[0]));
	digest_rows_release(&slots);
	compare_release(&c);
	return !memcmp(&all[0], &all[1], sizeof(all[0]));
}

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct end a, b;

		end_init(&a, values[i].a, values[i].a_type);
		end_init(&b, values[i].b, values[i].b_type);
		end_add_text(&a, 7, values[i].x);
		end_add_text(&b, 7, values[i].y);
		if (ends_equal(&a, &b) != values[i].equal)
			fail_msg("case %zu: %s and %s", i, values[i].x,
				 values[i].y);
		end_release(&a);
		end_release(&b);
	}
}

static void test_instants(void **state)
{
	static const char *const texts[] = {
		"2024-02-29 23:59:59.5+00:00", "2024-02-29 23:59:59.500000+00",
		"2024-02-29T23:59:59.5Z", "2024-02-29 23:59:59.500001+00:00"
	};
	const int64_t us =
		(civil_to_days(2024, 2, 29) * 86400 + 86399) * 1000000 + 500000;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts) + 1; i++) {
		bool text = i < ARRAY_SIZE(texts);
		struct end a, b;

		end_init(&a, TYPE_TIMESTAMPTZ, "");
		end_init(&b, text ? TYPE_TEXT : TYPE_TIMESTAMP, "");
		end_add_i64(&a, 7, us);
		if (text)
			end_add_text(&b, 7, texts[i]);
		else
			end_add_i64(&b, 7, us);
		assert_int_equal(ends_equal(&a, &b), i != 3);
		end_release(&a);
		end_release(&b);
	}
}

/* Each is beyond the instants that µs tell; infinity is neither. */
static void test_far_days(void **state)
{
	static const char *const texts[] = { "586525-01-01", "586525-01-02",
					     "infinity" };
	const int32_t days[] = { (int32_t)civil_to_days(586525, 1, 1),
				 (int32_t)civil_to_days(586525, 1, 2),
				 INT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(days); i++)
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			struct end a, b;

			end_init(&a, TYPE_DATE, "");
			end_init(&b, TYPE_TEXT, "");
			end_add_i64(&a, 7, days[i]);
			end_add_text(&b, 7, texts[k]);
			assert_int_equal(ends_equal(&a, &b), i == k);
			end_release(&a);
			end_release(&b);
		}
}

static void test_booleans(void **state)
{
	struct end a, b;

	(void)state;
	for (int64_t value = 0; value < 3; value++) {
		end_init(&a, TYPE_BOOL, "");
		end_init(&b, TYPE_INT64, "");
		end_add_bool(&a, 7, 1);
		end_add_i64(&b, 7, value);
		assert_int_equal(ends_equal(&a, &b), value == 1);
		end_release(&a);
		end_release(&b);
	}
}

static void test_types_that_do_not_compare(void **state)
{
	static const enum type_kind pairs[][2] = {
		{ TYPE_BYTES, TYPE_TEXT }, { TYPE_INT32, TYPE_DATE },
		{ TYPE_UUID, TYPE_INT64 }, { TYPE_JSON, TYPE_TIMESTAMP },
		{ TYPE_TIME, TYPE_UUID },
	};
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct end a, b;
		struct compare c;

		end_init(&a, pairs[i][0], "");
		end_init(&b, pairs[i][1], "");
		assert_int_equal(compare_match(&c, &a.schema, &b.schema, &err),
				 -ERROR_SCHEMA);
		assert_non_null(strstr(err.message, "column \"v\""));
		error_clear(&err);
		compare_release(&c);
		end_release(&a);
		end_release(&b);
	}
}

/* Rows of (id, value) at both sides; what is left of them as suspects. */
struct multiset {
	const char *what;
	int64_t source[4][2], destination[4][2];
	size_t n_source, n_destination, suspects;
};

static const struct multiset multisets[] = {
	{ "equal", { { 1, 1 }, { 2, 2 } }, { { 2, 2 }, { 1, 1 } }, 2, 2, 0 },
	{ "missing", { { 1, 1 }, { 2, 2 } }, { { 1, 1 } }, 2, 1, 1 },
	{ "extra", { { 1, 1 } }, { { 1, 1 }, { 2, 2 } }, 1, 2, 1 },
	{ "swapped", { { 1, 1 }, { 2, 2 } }, { { 1, 2 }, { 2, 1 } }, 2, 2, 2 },
	{ "cancel", { { 1, 5 }, { 2, 5 } }, { { 1, 6 }, { 2, 4 } }, 2, 2, 2 },
	{ "twice and gone",
	  { { 1, 1 }, { 2, 2 } },
	  { { 1, 1 }, { 1, 1 } },
	  2,
	  2,
	  2 },
	/* XOR would not see these. */
	{ "thrice", { { 1, 1 } }, { { 1, 1 }, { 1, 1 }, { 1, 1 } }, 1, 3, 1 },
	{ "another pair",
	  { { 1, 1 }, { 1, 1 } },
	  { { 1, 2 }, { 1, 2 } },
	  2,
	  2,
	  1 },
};

static void multiset_fill(struct end *e, const int64_t (*rows)[2], size_t n)
{
	end_init(e, TYPE_INT64, "");
	for (size_t i = 0; i < n; i++)
		end_add_i64(e, rows[i][0], rows[i][1]);
}

static void multiset_add(const struct compare *c, enum compare_side side,
			 const struct end *e, struct tally *t,
			 struct suspects *s)
{
	struct digest_rows slots = DIGEST_ROWS_INIT;
	struct compare_hash key, all;

	for (size_t row = 0; row < e->batch.n_rows; row++) {
		compare_rows(c, side, &e->batch, &row, 1, &slots, &key, &all);
		if (!s)
			tally_add(t, side, &key, &all);
		else if (tally_wants(t, &key))
			suspect_count(suspects_get(s, &key), side, &all);
	}
	digest_rows_release(&slots);
}

static size_t multiset_suspects(const struct compare *c, const struct end *ends)
{
	struct tally t;
	size_t found = 0;

	tally_init(&t);
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		multiset_add(c, (enum compare_side)i, &ends[i], &t, NULL);
	/* A round for each bucket. */
	while (tally_choose(&t, 1)) {
		struct suspects s;

		suspects_init(&s, c->n_key);
		for (size_t i = 0; i < COMPARE_SIDES; i++)
			multiset_add(c, (enum compare_side)i, &ends[i], &t, &s);
		suspects_sieve(&s);
		found += s.n;
		suspects_release(&s);
	}
	tally_release(&t);
	return found;
}

/* Some in each bucket. */
#define BOUNDED_ROWS 150000

/* Memory is bounded also where no key of one side is at the other. */
static void test_rounds_are_bounded(void **state)
{
	struct end ends[COMPARE_SIDES];
	struct compare c;
	struct tally t;
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		end_init(&ends[i], TYPE_INT64, "");
		for (int64_t n = 0; n < BOUNDED_ROWS; n++)
			end_add_i64(&ends[i], (int64_t)i * BOUNDED_ROWS + n, n);
	}
	assert_int_equal(
		compare_match(&c, &ends[0].schema, &ends[1].schema, NULL), 0);
	tally_init(&t);
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		multiset_add(&c, (enum compare_side)i, &ends[i], &t, NULL);
	while (tally_choose(&t, BOUNDED_ROWS)) {
		struct suspects s;

		suspects_init(&s, c.n_key);
		for (size_t i = 0; i < COMPARE_SIDES; i++)
			multiset_add(&c, (enum compare_side)i, &ends[i], &t,
				     &s);
		assert_in_range(s.n, 1, BOUNDED_ROWS);
		found += s.n;
		suspects_release(&s);
	}
	assert_int_equal(found, COMPARE_SIDES * BOUNDED_ROWS);
	tally_release(&t);
	compare_release(&c);
	end_release(&ends[0]);
	end_release(&ends[1]);
}

static void test_multisets(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(multisets); i++) {
		const struct multiset *m = &multisets[i];
		struct end ends[COMPARE_SIDES];
		struct compare c;

		multiset_fill(&ends[0], m->source, m->n_source);
		multiset_fill(&ends[1], m->destination, m->n_destination);
		assert_int_equal(compare_match(&c, &ends[0].schema,
					       &ends[1].schema, NULL),
				 0);
		if (multiset_suspects(&c, ends) != m->suspects)
			fail_msg("%s", m->what);
		compare_release(&c);
		end_release(&ends[0]);
		end_release(&ends[1]);
	}
}

/* So many that the table of suspects grows, and is found in again. */
static void test_many_suspects(void **state)
{
	const uint64_t n = 5000;
	struct suspects s;

	(void)state;
	suspects_init(&s, 1);
	for (uint64_t i = 0; i < n; i++) {
		struct compare_hash key = { i * 7, i }, all = { i, i };

		suspect_count(suspects_get(&s, &key), COMPARE_SOURCE, &all);
		if (i % 2)
			suspect_count(suspects_get(&s, &key),
				      COMPARE_DESTINATION, &all);
	}
	suspects_sieve(&s);
	assert_int_equal(s.n, n / 2);
	for (uint64_t i = 0; i < n; i++) {
		struct compare_hash key = { i * 7, i };

		assert_int_equal(suspects_find(&s, &key) != NULL, i % 2 == 0);
	}
	suspects_release(&s);
}

static void test_fingerprints(void **state)
{
	const size_t most = 5000;
	struct fingerprints f = { .n = 0 };

	(void)state;
	assert_false(fingerprints_has(&f, 0));
	/* Many that begin alike: they meet in the same places. */
	for (uint64_t i = 0; i < most; i++)
		assert_true(fingerprints_add(&f, i << 40 | i % 7, most));
	assert_int_equal(f.n, most);
	for (uint64_t i = 0; i < most; i++)
		assert_true(fingerprints_has(&f, i << 40 | i % 7));
	assert_true(fingerprints_add(&f, 0, most));
	assert_false(fingerprints_add(&f, 77, most));
	assert_false(fingerprints_has(&f, 77));
	fingerprints_release(&f);
}

static struct compare_hash roster_hash(uint64_t x)
{
	return (struct compare_hash){ x * UINT64_C(0x9e3779b97f4a7c15), x };
}

/* It takes so many keys and no more. A key is equal if all its rows are, as
 * often at either side. */
static void test_roster(void **state)
{
	struct roster r = { .n = 0 };
	struct digest sum = { 0, 0, 0 };
	struct compare_hash key, row;

	(void)state;
	key = roster_hash(1);
	roster_meet(&r, &key, &key);
	assert_false(roster_is_equal(&r, &key));
	for (uint64_t i = 0; i < ROSTER_ROWS; i++) {
		key = roster_hash(i);
		row = roster_hash(~i);
		assert_true(roster_add(&r, &key, &row));
		if (i != 7)
			roster_meet(&r, &key, &row);
	}
	key = roster_hash(ROSTER_ROWS);
	assert_false(roster_add(&r, &key, &key));
	roster_meet(&r, &key, &key);
	assert_false(roster_is_equal(&r, &key));
	assert_int_equal(roster_equal(&r, &sum), ROSTER_ROWS - 1);
	assert_int_equal(sum.rows, ROSTER_ROWS - 1);
	key = roster_hash(7);
	assert_false(roster_is_equal(&r, &key));
	row = roster_hash(~UINT64_C(8));
	key = roster_hash(8);
	assert_true(roster_is_equal(&r, &key));
	roster_meet(&r, &key, &row); /* twice there */
	assert_false(roster_is_equal(&r, &key));
	roster_add(&r, &key, &row); /* and twice here */
	assert_true(roster_is_equal(&r, &key));
	roster_release(&r);
}

/* Parts per million; 0: no share. */
static void test_shares(void **state)
{
	static const struct {
		const char *text;
		int64_t share;
	} shares[] = {
		{ "1%", 10000 },   { "0.5%", 5000 },  { "100%", 1000000 },
		{ "0.0001%", 1 },  { "4.0%", 40000 }, { "0%", 0 },
		{ "0.0%", 0 },	   { "101%", 0 },     { "100.1%", 0 },
		{ "0.00001%", 0 }, { "1", 0 },	      { "%", 0 },
		{ "", 0 },	   { "-1%", 0 },      { "1%%", 0 },
		{ "1e1%", 0 },	   { " 1%", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		struct verify_part part = { .share = 0 };

		if (verify_part_sample(&part, shares[i].text) !=
			    (shares[i].share > 0) ||
		    part.share != shares[i].share)
			fail_msg("\"%s\"", shares[i].text);
	}
}

/* So many of them, wherever it begins; at the end of the hashes, too. */
static void test_a_share_of_the_keys(void **state)
{
	static const uint64_t offsets[] = { 0, 12345, UINT64_MAX / 2,
					    UINT64_MAX - 1 };
	const uint64_t step = UINT64_MAX / 100000;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		struct verify_part part = { .share = 30000,
					    .offset = offsets[i] };
		int has = 0, all = 0;

		for (uint64_t n = 0; n < 100000; n++) {
			const struct compare_hash key = { n * step, 0 };

			has += verify_part_has(&part, &key);
		}
		assert_in_range(has, 2990, 3010);
		part.share = VERIFY_PART_ALL;
		for (uint64_t n = 0; n < 1000; n++) {
			const struct compare_hash key = { n * step * 100, 0 };

			all += verify_part_has(&part, &key);
		}
		assert_int_equal(all, 1000);
	}
}

static void test_parts_in_words(void **state)
{
	const struct pipeline_settings p = { .mark_column = "at" };
	static const struct {
		struct verify_part part;
		const char *words;
	} parts[] = {
		{ { "7", 0, 0 }, "rows since 7 by at" },
		{ { NULL, 10000, 0 }, "1% of the keys" },
		{ { NULL, 5000, 0 }, "0.5% of the keys" },
		{ { NULL, 1000000, 0 }, "100% of the keys" },
		{ { NULL, 10001, 0 }, "1.0001% of the keys" },
		{ { "7", 200000, 0 },
		  "20% of the keys, of rows since 7 by at" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct strbuf sb = STRBUF_INIT;

		verify_part_print(&sb, &parts[i].part, &p);
		assert_string_equal(sb.data, parts[i].words);
		strbuf_release(&sb);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_instants),
		cmocka_unit_test(test_far_days),
		cmocka_unit_test(test_booleans),
		cmocka_unit_test(test_types_that_do_not_compare),
		cmocka_unit_test(test_multisets),
		cmocka_unit_test(test_rounds_are_bounded),
		cmocka_unit_test(test_many_suspects),
		cmocka_unit_test(test_fingerprints),
		cmocka_unit_test(test_roster),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_a_share_of_the_keys),
		cmocka_unit_test(test_parts_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

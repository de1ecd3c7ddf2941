/* A gate's `unique`: which values are equal, and how far back it looks. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/gate_world.h"
#include "tests/unit/unit.h"

/* Batches set apart by "|", rows "id=value" by blanks; value _ is NULL. */
static const struct {
	enum type_kind type;
	const char *rows;
	const char *bad; /* the last batch's message holds it; NULL: none */
} unique[] = {
	{ TYPE_TEXT, "1=a 2=b 3=A", NULL },
	{ TYPE_TEXT, "1=a 2=b 3=a", "1 row (id=3)" },
	{ TYPE_TEXT, "1=a 2=a 3=a", "2 rows (id=2; id=3)" },
	{ TYPE_TEXT, "1=_ 2=_", NULL },
	{ TYPE_TEXT, "1=a 1=a", NULL }, /* the same row, read again */
	{ TYPE_TEXT, "1=a 2=b|3=b", "1 row (id=3)" },
	{ TYPE_TEXT, "1=a 2=b|2=b 1=a", NULL },
	{ TYPE_INT64, "1=5 2=6|3=7 4=5", "1 row (id=4)" },
	{ TYPE_DECIMAL, "1=1.10 2=1.1", "1 row (id=2)" },
	{ TYPE_FLOAT64, "1=0 2=-0.0", "1 row (id=2)" },
	{ TYPE_FLOAT64, "1=NaN 2=NaN", "1 row (id=2)" },
	{ TYPE_JSON, "1={\"a\":1,\"b\":2} 2={\"b\":2,\"a\":1}",
	  "1 row (id=2)" },
	{ TYPE_TIMESTAMPTZ, "1=2000-01-01T00:00:00Z 2=2000-01-01T01:00:00+01",
	  "1 row (id=2)" },
};

static const char *unique_check(struct world *w, struct gate *g,
				const char *rows, struct error *err)
{
	char one[64], *value;

	batch_reset(&w->batch);
	for (const char *at = rows; *at; at++) {
		size_t n = strcspn(at, " |");

		memcpy(one, at, n);
		one[n] = '\0';
		value = strchr(one, '=');
		*value++ = '\0';
		world_row(w, strtol(one, NULL, 10),
			  strcmp(value, "_") != 0 ? value : "");
		at += n;
		if (*at == '|') {
			assert_string_equal(world_check(w, g, err), "");
			batch_reset(&w->batch);
		}
		if (!*at)
			break;
	}
	return world_check(w, g, err);
}

static void test_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unique); i++) {
		struct error err = ERROR_INIT;
		const char *said, *bad = unique[i].bad;
		struct gate *g = NULL;
		struct world w;

		world_init(&w, unique[i].type);
		strlist_add(&w.p.gate.unique, "v");
		assert_int_equal(gate_open(&g, &w.p, &w.schema, &err), 0);
		said = unique_check(&w, g, unique[i].rows, &err);
		if (bad ? !strstr(said, bad) : *said)
			fail_msg("%s: %s", unique[i].rows, said);
		gate_free(g);
		world_release(&w);
	}
}

static void unique_fill(struct world *w, struct gate *g, int64_t from,
			int64_t n)
{
	struct error err = ERROR_INIT;
	char text[24];

	batch_reset(&w->batch);
	for (int64_t id = from; id < from + n; id++) {
		snprintf(text, sizeof(text), "%lld", (long long)id);
		world_row(w, id, text);
	}
	assert_string_equal(world_check(w, g, &err), "");
}

/* It sees as far back as it says, and forgets after that. */
static void test_unique_looks_back(void **state)
{
	static const int64_t step = 10000;
	struct error err = ERROR_INIT;
	struct gate *g = NULL;
	struct world w;
	int64_t at = 1;

	(void)state;
	world_init(&w, TYPE_INT64);
	strlist_add(&w.p.gate.unique, "v");
	assert_int_equal(gate_open(&g, &w.p, &w.schema, &err), 0);
	for (; at < 4 * GATE_UNIQUE_ROWS; at += step)
		unique_fill(&w, g, at, step);
	batch_reset(&w.batch);
	world_row(&w, -1, "1");
	assert_string_equal(world_check(&w, g, &err), "");
	for (int64_t back = 1; back <= GATE_UNIQUE_ROWS; back *= 2) {
		char text[24];

		snprintf(text, sizeof(text), "%lld", (long long)(at - back));
		batch_reset(&w.batch);
		world_row(&w, -2, text);
		assert_non_null(strstr(world_check(&w, g, &err), "id=-2"));
	}
	gate_free(g);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_unique_looks_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

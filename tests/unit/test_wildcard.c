#include "tests/unit/unit.h"

#include "core/settings/input.h"
#include "core/settings/wildcard.h"
#include "tests/unit/config_text.h"

/* pattern, table, does it match */
static const struct {
	const char *pattern, *table;
	bool matches;
} patterns[] = {
	{ "public.*", "public.orders", true },
	{ "public.*", "sales.orders", false },
	{ "public.*", "public.\"Order.Lines\"", true },
	{ "public.*", "public2.orders", false },
	{ "*", "public.orders", true },
	{ "*.orders", "sales.orders", true },
	{ "orders", "sales.orders", true },
	{ "orders", "sales.orders2", false },
	{ "orders", "sales.Orders", false },
	{ "Orders", "sales.Orders", true },
	{ "public.tmp_*", "public.tmp_", true },
	{ "public.tmp_*", "public.xtmp_1", false },
	{ "public.*_log", "public.a_log_b_log", true },
	{ "public.*_log", "public.a_log_b", false },
	{ "public.a*b*c", "public.axbxbxc", true },
	{ "public.a*b*c", "public.axcxb", false },
	{ "public.**", "public.x", true },
	{ "public.t?", "public.t1", true },
	{ "public.t?", "public.t", false },
	{ "public.t?", "public.t12", false },
	{ "public.t?", "public.t表", true },
	{ "public.?*", "public.表", true },
	{ "p*.o*", "public.orders", true },
	{ "public.\"a*\"", "public.ab", false },
	{ "public.\"a*\"", "public.\"a*\"", true },
	{ "public.a*", "public.\"a*\"", true },
	{ "public.\"say \"\"hi\"\"\"", "public.\"say \"\"hi\"\"\"", true },
	{ "\"public\".*", "public.x", true },
	{ "\"p*\".x", "public.x", false },
	{ "a.b.*", "b.c", false },
	{ "a.b.*", "a.b.c", true },
	{ "b.*", "a.b.c", true },
};

static void test_patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct error err = ERROR_INIT;
		struct table_pattern p;
		struct table_name name;

		assert_int_equal(
			table_pattern_parse(&p, patterns[i].pattern, &err), 0);
		assert_int_equal(
			table_name_parse(&name, patterns[i].table, &err), 0);
		if (table_pattern_match(&p, &name) != patterns[i].matches)
			fail_msg("%s and %s", patterns[i].pattern,
				 patterns[i].table);
		table_name_release(&name);
		table_pattern_release(&p);
	}
}

static void test_pattern_is_name(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "public.orders", true },   { "public.*", false },
		{ "p?.orders", false },	     { "\"p*\".orders", true },
		{ "a.\"b?\".\"c*\"", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_INIT;
		struct table_pattern p;

		table_pattern_parse(&p, cases[i].text, &err);
		assert_int_equal(table_pattern_is_name(&p), cases[i].is);
		table_pattern_release(&p);
	}
}

/* Lines 2 to 6; more keys of the wildcard may follow. */
#define WILDCARD                                                               \
	CONNECTIONS "pipelines:\n"                                             \
		    "  shop:\n"                                                \
		    "    tables: public.*\n"                                   \
		    "    source: {connection: s}\n"                            \
		    "    destination: {connection: w}\n"

static const struct {
	const char *text, *error;
} bad[] = {
	{ WILDCARD "    tabels: x\n",
	  "t.yaml:7:5: unknown key \"tabels\" in pipelines.shop; did you mean "
	  "\"tables\"? allowed: tables, exclude, on_missing, overrides, "
	  "source, "
	  "destination, watermark, key, " },
	{ CONNECTIONS "pipelines:\n  shop: {tabels: '*', source: {connection: "
		      "s}, destination: {connection: w}}\n",
	  "t.yaml:3:10: unknown key \"tabels\" in pipelines.shop; did you mean "
	  "\"tables\"?" },
	{ CONNECTIONS "pipelines:\n  shop: {exclude: '*', source: {connection: "
		      "s}, destination: {connection: w}}\n",
	  "t.yaml:3:9: pipelines.shop: \"tables\" is missing; write tables: "
	  "\"public.*\"" },
	{ CONNECTIONS "pipelines:\n  shop: {tables: [], source: {connection: "
		      "s}, destination: {connection: w}}\n",
	  "t.yaml:3:18: pipelines.shop.tables: names no table" },
	{ CONNECTIONS "pipelines:\n  shop: {tables: {a: b}, source: "
		      "{connection: s}, destination: {connection: w}}\n",
	  "t.yaml:3:18: pipelines.shop.tables: expected a pattern such as "
	  "\"public.*\", or a list of them, found a map" },
	{ CONNECTIONS "pipelines:\n  shop: {tables: [a, 'b\"'], source: "
		      "{connection: s}, destination: {connection: w}}\n",
	  "t.yaml:3:22: pipelines.shop.tables: table name 'b\"'" },
	{ WILDCARD "    exclude: 'a..b'\n",
	  "t.yaml:7:14: pipelines.shop.exclude: table name 'a..b': empty "
	  "part" },
	{ WILDCARD "    on_missing: stop\n",
	  "t.yaml:7:17: pipelines.shop.on_missing: \"stop\" is not allowed; "
	  "did "
	  "you mean \"skip\"? allowed: error, skip" },
	{ CONNECTIONS "pipelines:\n  shop: {tables: '*', source: {connection: "
		      "s, table: t}, destination: {connection: w}}\n",
	  "t.yaml:3:47: unknown key \"table\" in pipelines.shop.source;" },
	{ CONNECTIONS "pipelines:\n  shop: {tables: '*', source: {connection: "
		      "x}, destination: {connection: w}}\n",
	  "t.yaml:3:44: pipelines.shop.source.connection: no connection "
	  "\"x\"" },
	{ WILDCARD "    watermark: {column: id}\n",
	  "t.yaml:7:25: pipelines.shop.watermark.column: goes with a "
	  "strategy" },
	{ WILDCARD "    overrides: {t: {lod: {mode: append}}}\n",
	  "t.yaml:7:21: unknown key \"lod\" in pipelines.shop.overrides.t; did "
	  "you mean \"load\"?" },
	{ WILDCARD "    overrides: {t: {load: {mode: apend}}}\n",
	  "t.yaml:7:34: pipelines.shop.overrides.t.load.mode: \"apend\" is not "
	  "allowed; did you mean \"append\"?" },
	{ WILDCARD "    overrides: {t: {source: {table: u}}}\n",
	  "t.yaml:7:37: pipelines.shop.overrides.t.source.table: the table is "
	  "the one that the override is for" },
	{ WILDCARD "    overrides: {'a.': {}}\n",
	  "t.yaml:7:17: pipelines.shop.overrides: table name 'a.'" },
	{ WILDCARD "    overrides: [t]\n",
	  "t.yaml:7:16: pipelines.shop.overrides: expected a map of tables to "
	  "keys of a pipeline, found a list" },
	{ WILDCARD "    load: {mode: apend}\n",
	  "t.yaml:7:18: pipelines.shop.load.mode: \"apend\" is not allowed" },
	{ COMPLETE "    tables: x\n",
	  "t.yaml:4:29: unknown key \"table\" in pipelines.p.source;" },
};

static void test_mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_INIT;
		struct settings s;

		if (!config_text(&s, bad[i].text, false, &err))
			fail_msg("accepted: %s", bad[i].text);
		assert_int_equal(err.code, ERROR_CONFIG);
		if (strncmp(err.message, bad[i].error, strlen(bad[i].error)) !=
		    0)
			fail_msg("%s\nexpected: %s\nfound: %s", bad[i].text,
				 bad[i].error, err.message);
	}
}

static json_t *chosen(const char *key, const char *strategy, const char *column)
{
	json_t *out = json_pack("{s:[s], s:{s:s}}", "key", key, "watermark",
				"strategy", strategy);

	if (column)
		json_object_set_new(json_object_get(out, "watermark"), "column",
				    json_string(column));
	return out;
}

static struct settings load(const char *text)
{
	struct settings s;
	struct error err = ERROR_INIT;

	if (config_text(&s, text, false, &err))
		fail_msg("%s", err.message);
	return s;
}

static const struct pipeline_settings *named(const struct settings *s,
					     const char *name)
{
	struct error err = ERROR_INIT;
	const struct pipeline_settings *p = settings_pipeline(s, name, &err);

	if (!p)
		fail_msg("%s", err.message);
	return p;
}

static void expand(struct settings *s, struct catch *caught)
{
	struct error err = ERROR_INIT;

	if (settings_expand(s, caught, &err))
		fail_msg("%s", err.message);
	catch_release(caught);
}

/* A wildcard between two pipelines, and what it has caught. */
static struct settings shop(void)
{
	struct settings s = load(
		"defaults: {retry: {attempts: 3}}\n" CONNECTIONS "pipelines:\n"
		"  before: {source: {connection: s, table: a}, destination: "
		"{connection: w, table: a}, watermark: {strategy: xmin}}\n"
		"  shop:\n"
		"    tables: [public.*]\n"
		"    source: {connection: s}\n"
		"    destination: {connection: w, schema: main}\n"
		"    batch: {rows: 7}\n"
		"    watermark: {lag: 1m}\n"
		"    overrides:\n"
		"      public.b: {watermark: {strategy: sequence, column: n}, "
		"key: [x], batch: {rows: 9}}\n"
		"      public.d: {destination: {table: main.other}}\n"
		"  after: {source: {connection: s, table: z}, destination: "
		"{connection: w, table: z}, watermark: {strategy: xmin}}\n");
	struct catch caught = { .items = NULL };

	assert_int_equal(s.n_pipelines, 2);
	assert_int_equal(s.n_wildcards, 1);
	settings_set_origin(&s, "/here/t.yaml");
	catch_add(&caught, "shop.a", "public.a",
		  chosen("id", "timestamp", "changed"));
	catch_add(&caught, "shop.b", "public.b", chosen("id", "xmin", NULL));
	catch_add(&caught, "shop.o d", "public.\"o d\"",
		  chosen("id", "xmin", NULL))
		->known = true;
	catch_add(&caught, "shop.d", "public.d", chosen("id", "xmin", NULL));
	catch_add(&caught, "shop.e", "public.e", NULL);
	error_set(&caught.items[4].fault, ERROR_SCHEMA, "it has no key");
	expand(&s, &caught);
	return s;
}

static void test_what_is_made(void **state)
{
	struct settings s = shop();
	const struct pipeline_settings *p = named(&s, "shop.a");

	(void)state;
	assert_int_equal(s.n_pipelines, 7);
	assert_string_equal(s.pipelines[0].name, "before");
	assert_string_equal(s.pipelines[1].name, "shop.a");
	assert_string_equal(s.pipelines[6].name, "after");
	assert_null(s.pipelines[6].wildcard);
	assert_string_equal(p->source_table, "public.a");
	assert_string_equal(p->destination_table, "main.a");
	assert_string_equal(p->mark_column, "changed");
	assert_int_equal(p->strategy, STRATEGY_TIMESTAMP);
	assert_int_equal(p->lag_us, 60 * 1000000);
	assert_string_equal(p->key.items[0], "id");
	assert_int_equal(p->batch_rows, 7);
	assert_int_equal(p->retry.attempts, 3);
	assert_string_equal(p->origin, "/here/t.yaml");
	assert_int_equal(p->line, 5);
	assert_false(p->known);
	assert_null(p->fault);
	settings_release(&s);
}

static void test_what_overrides_make(void **state)
{
	struct settings s = shop();
	const struct pipeline_settings *p = named(&s, "shop.b");

	(void)state;
	assert_int_equal(p->strategy, STRATEGY_SEQUENCE);
	assert_string_equal(p->mark_column, "n");
	assert_string_equal(p->key.items[0], "x");
	assert_int_equal(p->batch_rows, 9);
	/* A lag of time is none of a sequence's, and was not said of it. */
	assert_int_equal(p->lag_count, 0);

	p = named(&s, "shop.o d");
	assert_string_equal(p->destination_table, "main.\"o d\"");
	assert_string_equal(p->word, "'shop.o d'");
	assert_int_equal(p->strategy, STRATEGY_XMIN);
	assert_null(p->mark_column);
	assert_true(p->known);
	assert_string_equal(named(&s, "shop.d")->destination_table,
			    "main.other");
	settings_release(&s);
}

static void test_table_with_a_fault(void **state)
{
	struct settings s = shop();
	const struct pipeline_settings *p = named(&s, "shop.e");
	struct error err = ERROR_INIT;

	(void)state;
	assert_non_null(p->fault);
	assert_int_equal(settings_fault(p, &err), -ERROR_SCHEMA);
	assert_string_equal(err.message, "it has no key");
	assert_string_equal(p->source_table, "public.e");
	assert_string_equal(p->destination->name, "w");
	error_clear(&err);
	assert_null(settings_pipeline(&s, "shop", &err));
	assert_non_null(strstr(err.message, "is a wildcard"));
	error_clear(&err);
	assert_null(settings_pipeline(&s, "shop.aa", &err));
	assert_non_null(strstr(err.message, "did you mean \"shop.a\"?"));
	settings_release(&s);
}

static void test_another_list(void **state)
{
	struct settings s = shop();
	struct catch caught = { .items = NULL };

	(void)state;
	catch_add(&caught, "shop.z", "public.d", chosen("id", "xmin", NULL));
	catch_add(&caught, "shop.b", "public.b", chosen("id", "xmin", NULL));
	expand(&s, &caught);
	assert_int_equal(s.n_pipelines, 4);
	assert_string_equal(s.pipelines[1].name, "shop.z");
	settings_release(&s);
}

/* A mistake about one table says where, and leaves the others alone. */
static void test_fault_of_one(void **state)
{
	struct settings s =
		load(CONNECTIONS "pipelines:\n"
				 "  shop:\n"
				 "    tables: public.*\n"
				 "    source: {connection: m}\n"
				 "    destination: {connection: w}\n"
				 "    overrides:\n"
				 "      b: {watermark: {strategy: xmin}}\n");
	static const char place[] = "t.yaml:8:33: pipelines.shop.b.watermark."
				    "strategy: xmin is PostgreSQL's own";
	struct catch caught = { .items = NULL };
	const struct pipeline_settings *p;

	(void)state;
	catch_add(&caught, "shop.a", "public.a", chosen("i", "sequence", "i"));
	catch_add(&caught, "shop.b", "public.b", chosen("i", "sequence", "i"));
	expand(&s, &caught);
	assert_null(named(&s, "shop.a")->fault);
	p = named(&s, "shop.b");
	assert_non_null(p->fault);
	assert_int_equal(p->fault->code, ERROR_CONFIG);
	if (strncmp(p->fault->message, place, strlen(place)) != 0)
		fail_msg("%s", p->fault->message);
	settings_release(&s);
}

/* Nothing that was chosen joins a strategy that the config names. */
static void test_strategy_of_the_config(void **state)
{
	struct settings s =
		load(WILDCARD "    watermark: {strategy: sequence}\n");
	struct catch caught = { .items = NULL };

	(void)state;
	catch_add(&caught, "shop.a", "public.a",
		  chosen("id", "timestamp", "changed"));
	expand(&s, &caught);
	assert_non_null(s.pipelines[0].fault);
	assert_non_null(strstr(s.pipelines[0].fault->message,
			       "needs the name of its column"));
	settings_release(&s);
}

static void refuse(struct settings *s, struct catch *caught, const char *text)
{
	struct error err = ERROR_INIT;
	size_t n = s->n_pipelines;

	assert_int_equal(settings_expand(s, caught, &err), -ERROR_CONFIG);
	if (!strstr(err.message, text))
		fail_msg("expected: %s\nfound: %s", text, err.message);
	assert_int_equal(s->n_pipelines, n);
	for (size_t i = 0; i < s->n_wildcards; i++)
		catch_release(&caught[i]);
}

#define SHOP(name, rest)                                                       \
	"  " name ": {tables: '*', source: {connection: s}, destination: "     \
	"{connection: w" rest "}\n"

static void test_collisions(void **state)
{
	struct settings s =
		load(CONNECTIONS "pipelines:\n" SHOP("a", "}") SHOP("b", "}"));
	struct settings t = load(COMPLETE SHOP("a", ", schema: x}"));
	struct catch caught[2] = { { .items = NULL }, { .items = NULL } };

	(void)state;
	catch_add(&caught[0], "a.t", "public.t", chosen("i", "xmin", NULL));
	catch_add(&caught[1], "b.t", "public.t", chosen("i", "xmin", NULL));
	refuse(&s, caught,
	       "t.yaml:4:3: pipelines.b.t.destination.table: pipeline \"a.t\" "
	       "writes to this table already (t.yaml:3)");
	/* In case alone, which SQLite does not tell apart. */
	catch_add(&caught[0], "a.t", "public.t", chosen("i", "xmin", NULL));
	catch_add(&caught[0], "a.T", "public.T", chosen("i", "xmin", NULL));
	refuse(&s, caught, "pipeline \"a.t\" writes to this table already");
	catch_add(&caught[0], "p", "public.u", chosen("i", "xmin", NULL));
	refuse(&t, caught,
	       "t.yaml:7:1: two pipelines have the name \"p\": this one and "
	       "that of t.yaml:3");
	settings_release(&s);
	settings_release(&t);
}

/* The one that came last fails alone. */
static void test_collision_with_one_that_was_there(void **state)
{
	struct settings s = load(CONNECTIONS "pipelines:\n" SHOP("a", "}"));

	(void)state;
	for (int first = 0; first < 2; first++) {
		struct catch caught = { .items = NULL };

		catch_add(&caught, "a.x", "one.t", chosen("i", "xmin", NULL));
		catch_add(&caught, "a.y", "two.t", chosen("i", "xmin", NULL));
		caught.items[first].known = true;
		expand(&s, &caught);
		assert_int_equal(s.n_pipelines, 2);
		assert_null(s.pipelines[first].fault);
		assert_non_null(s.pipelines[!first].fault);
		assert_non_null(strstr(s.pipelines[!first].fault->message,
				       first ? "\"a.y\"" : "\"a.x\""));
	}
	settings_release(&s);
}

static void test_overrides_for_nothing(void **state)
{
	struct settings s = load(WILDCARD "    overrides:\n"
					  "      public.ordres: {}\n"
					  "      'public.o*': {}\n");
	struct catch caught = { .items = NULL };

	(void)state;
	catch_add(&caught, "shop.orders", "public.orders",
		  chosen("i", "xmin", NULL));
	refuse(&s, &caught,
	       "t.yaml:8:7: pipelines.shop: the override \"public.ordres\" is "
	       "for none of the 1 tables of this wildcard; did you mean "
	       "\"public.orders\"?");
	catch_add(&caught, "shop.ordres", "public.ordres",
		  chosen("i", "xmin", NULL));
	refuse(&s, &caught,
	       "t.yaml:9:7: pipelines.shop: the override \"public.o*\" and "
	       "\"public.ordres\" of line 8 are both for public.ordres");
	/* Where not all are known, nothing is known of an override. */
	caught.partial = true;
	catch_add(&caught, "shop.orders", "public.orders",
		  chosen("i", "xmin", NULL));
	caught.partial = true;
	expand(&s, &caught);
	settings_release(&s);
}

static void test_said(void **state)
{
	struct settings s =
		load(WILDCARD "    overrides: {b: {key: [x, y], watermark: "
			      "{strategy: sequence, column: n}}}\n");
	json_t *nothing = wildcard_said(s.wildcards[0], "public.a");
	json_t *all = wildcard_said(s.wildcards[0], "public.b");
	char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);

	(void)state;
	assert_int_equal(json_object_size(nothing), 0);
	assert_string_equal(text, "{\"key\":[\"x\",\"y\"],\"watermark\":{"
				  "\"column\":\"n\",\"strategy\":\"sequence\"}"
				  "}");
	free(text);
	json_decref(nothing);
	json_decref(all);
	settings_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_pattern_is_name),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_what_is_made),
		cmocka_unit_test(test_what_overrides_make),
		cmocka_unit_test(test_table_with_a_fault),
		cmocka_unit_test(test_another_list),
		cmocka_unit_test(test_fault_of_one),
		cmocka_unit_test(test_strategy_of_the_config),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_collision_with_one_that_was_there),
		cmocka_unit_test(test_overrides_for_nothing),
		cmocka_unit_test(test_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

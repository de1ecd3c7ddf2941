#include <ctype.h>

#include "tests/unit/unit.h"

#include "core/base/clock.h"
#include "core/settings/settings.h"

static const struct copy_arguments plain = {
	.source_url = "postgresql://app:${T_PASSWORD}@db/shop",
	.destination_url = "postgresql://w/x",
	.table = "public.Orders",
	.watermark = "timestamp:updated_at",
};

static struct settings copy(struct copy_arguments args)
{
	struct settings s;
	struct error err = ERROR_INIT;

	if (settings_from_copy(&s, &args, &err))
		fail_msg("%s", err.message);
	return s;
}

static char *name_of(struct copy_arguments args)
{
	struct settings s = copy(args);
	char *name = xstrdup(s.pipelines[0].name);

	for (const char *p = name; *p; p++)
		assert_true(islower(*p) || isdigit(*p) || *p == '_');
	settings_release(&s);
	return name;
}

static void check_name(struct copy_arguments args, const char *name, bool same)
{
	char *other = name_of(args);

	assert_int_equal(!strcmp(name, other), same);
	free(other);
}

static void test_name(void **state)
{
	struct copy_arguments args = plain;
	char *name = name_of(plain);

	(void)state;
	assert_int_equal(strlen(name),
			 strlen("public_orders_to_postgres_public_orders_") +
				 8);
	assert_memory_equal(name, "public_orders_to_postgres_public_orders_",
			    40);
	check_name(plain, name, true);
	args.source_url = "postgresql://app:another1@db/shop";
	check_name(args, name, true);
	args.mode = "append";
	check_name(args, name, true);
	args.source_url = "postgresql://app:another1@db2/shop";
	check_name(args, name, false);
	args = plain;
	args.table = "public.orders";
	args.to = "public.Orders";
	check_name(args, name, false);
	args = plain;
	args.watermark = "sequence:id";
	check_name(args, name, false);
	free(name);
}

static void test_settings(void **state)
{
	struct copy_arguments args = plain;
	struct settings s;
	const struct pipeline_settings *p;

	(void)state;
	args.destination_url = "duckdb:w.duckdb";
	args.source_url = "mysql://h/d";
	args.zero_dates = "null";
	args.key = "a,b";
	args.lag = "1m";
	args.mode = "append";
	args.state = "sqlite:other.db";
	s = copy(args);
	p = &s.pipelines[0];
	assert_string_equal(s.file, "");
	assert_int_equal(p->line, 0);
	assert_string_equal(p->source->url.text, "mysql://h/d");
	assert_int_equal(p->zero_dates, ZERO_DATES_NULL);
	assert_string_equal(p->source->name, "source");
	assert_string_equal(p->source_table, "public.Orders");
	assert_string_equal(p->destination_table, "Orders");
	assert_string_equal(p->mark_column, "updated_at");
	assert_int_equal(p->lag_us, 60 * US_PER_SECOND);
	assert_int_equal(p->key.n, 2);
	assert_string_equal(p->key.items[1], "b");
	assert_int_equal(p->mode, LOAD_APPEND);
	assert_int_equal(p->tail, TAIL_HOLD);
	assert_int_equal(p->batch_rows, 20000);
	assert_string_equal(s.state->url.path, "other.db");
	settings_release(&s);
}

static void test_file_table_is_quoted(void **state)
{
	struct copy_arguments args = plain;
	struct settings s;

	(void)state;
	args.destination_url = "sqlite:x.db";
	args.table = "sales.\"Order.Lines\"";
	s = copy(args);
	assert_string_equal(s.pipelines[0].destination_table,
			    "\"Order.Lines\"");
	settings_release(&s);
}

/* Where the table goes without --to. */
static void test_target(void **state)
{
	static const struct {
		const char *from, *to, *table;
	} cases[] = {
		{ "postgresql://h/d", "postgresql://w/x", "sales.orders" },
		{ "mysql://h/d", "postgresql://w/x", "sales.orders" },
		{ "mysql://h/d", "mariadb://w/x", "sales.orders" },
		{ "postgresql://h/d", "mysql://w/x", "orders" },
		{ "postgresql://h/d", "mariadb://w/x", "orders" },
		{ "postgresql://h/d", "clickhouse://w/x", "orders" },
		{ "clickhouse://h/d", "clickhouses://w/x", "orders" },
		{ "postgresql://h/d", "bigquery://project/dataset", "orders" },
		{ "duckdb:a", "duckdb:b", "orders" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct copy_arguments args = plain;
		struct settings s;

		args.source_url = cases[i].from;
		args.destination_url = cases[i].to;
		args.table = "sales.orders";
		s = copy(args);
		assert_string_equal(s.pipelines[0].destination_table,
				    cases[i].table);
		settings_release(&s);
	}
}

#define PG   "postgresql://h/d"
#define LITE "sqlite:x"

static const struct {
	struct copy_arguments args;
	const char *error;
} bad[] = {
	{ { .source_url = PG, .destination_url = LITE, .watermark = "xmin" },
	  "--table is missing" },
	{ { .source_url = PG, .destination_url = LITE, .table = "t" },
	  "--watermark is missing; write --watermark timestamp:COLUMN" },
	{ { .source_url = "postgre://h/d",
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "xmin" },
	  "SOURCE_URL: unknown URL scheme \"postgre\" (did you mean "
	  "\"postgres\"?)" },
	{ { .source_url = PG,
	    .destination_url = "${T_NOT_SET}",
	    .table = "t",
	    .watermark = "xmin" },
	  "DESTINATION_URL: ${T_NOT_SET}: the environment variable" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "xmn" },
	  "--watermark: \"xmn\" is not allowed; did you mean \"xmin\"? "
	  "allowed: timestamp, xmin, sequence" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "timestamp" },
	  "--watermark: strategy timestamp needs the name of its column" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "xmin:a" },
	  "--watermark: strategy xmin takes no column" },
	{ { .source_url = "mysql://h/d",
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "xmin" },
	  "--watermark: xmin is PostgreSQL's own row version" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "a..b",
	    .watermark = "xmin" },
	  "--table: table name 'a..b': empty part" },
	{ { .source_url = PG,
	    .destination_url = "postgresql://h/d",
	    .table = "t",
	    .watermark = "xmin" },
	  "--to: source and destination are the same table" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "xmin",
	    .mode = "upsrt" },
	  "--mode: \"upsrt\" is not allowed; did you mean \"upsert\"?" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "xmin",
	    .key = "a,,b" },
	  "--key: expected a list of names" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "sequence:id",
	    .lag = "1m" },
	  "--lag: a sequence's lag is a count such as 1000" },
	{ { .source_url = PG,
	    .destination_url = LITE,
	    .table = "t",
	    .watermark = "xmin",
	    .state = "sqlit:y" },
	  "--state: unknown URL scheme \"sqlit\" (did you mean \"sqlite\"?)" },
};

static void test_bad(void **state)
{
	(void)state;
	unsetenv("T_NOT_SET");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_INIT;
		struct settings s;

		assert_int_equal(settings_from_copy(&s, &bad[i].args, &err),
				 -ERROR_CONFIG);
		if (strncmp(err.message, bad[i].error, strlen(bad[i].error)) !=
		    0)
			fail_msg("expected: %s\n  gives: %s", bad[i].error,
				 err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_file_table_is_quoted),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_bad),
	};

	setenv("T_PASSWORD", "hunter22", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

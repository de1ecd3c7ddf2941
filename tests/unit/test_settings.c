#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/unit/config_text.h"

static struct settings load(const char *text)
{
	struct settings s;
	struct error err = ERROR_INIT;

	if (config_text(&s, text, false, &err))
		fail_msg("%s", err.message);
	return s;
}

static void test_defaults(void **state)
{
	struct settings s = load(COMPLETE);
	const struct pipeline_settings *p = &s.pipelines[0];

	(void)state;
	assert_int_equal(s.n_pipelines, 1);
	assert_int_equal(s.n_connections, 3);
	assert_string_equal(s.state->url.text, "sqlite:.tidemark/state.db");
	assert_int_equal(s.state_keep_us, 30 * US_PER_DAY);
	assert_int_equal(s.state_letters_us, 0);
	assert_false(s.row_values);
	assert_string_equal(p->name, "p");
	assert_int_equal(p->line, 3);
	assert_string_equal(p->source->name, "s");
	assert_string_equal(p->destination->name, "w");
	assert_int_equal(p->source->tls_mode, TLS_AUTO);
	assert_int_equal(p->source->connect_timeout_us, 10 * US_PER_SECOND);
	assert_int_equal(p->source->silence_timeout_us, 300 * US_PER_SECOND);
	assert_null(p->source->password);
	assert_int_equal(p->columns.n, 0);
	assert_int_equal(p->key.n, 0);
	assert_null(p->where);
	assert_null(p->mark_column);
	assert_string_equal(p->time_zone, "auto");
	assert_true(p->settle);
	assert_int_equal(p->tail, TAIL_DELIVER);
	assert_int_equal(p->nulls, NULLS_ERROR);
	assert_int_equal(p->mode, LOAD_UPSERT);
	assert_int_equal(p->drift.on_new_column, DRIFT_ADD);
	assert_int_equal(p->drift.on_type_change, DRIFT_WIDEN);
	assert_int_equal(p->drift.on_dropped_column, DRIFT_KEEP);
	assert_int_equal(p->batch_rows, 20000);
	assert_int_equal(p->batch_bytes, 32 << 20);
	assert_int_equal(p->batch_target_us, US_PER_SECOND);
	assert_int_equal(p->retry.attempts, 5);
	assert_int_equal(p->retry.backoff_us, US_PER_SECOND);
	assert_int_equal(p->retry.max_backoff_us, 60 * US_PER_SECOND);
	assert_int_equal(p->logic_version, 1);
	assert_string_equal(p->tenant, "");
	settings_release(&s);
	settings_release(NULL);
}

/* The values that product.md gives as the defaults, written out. */
static void test_everything_written_out(void **state)
{
	struct settings s = load(
		"version: 1\n"
		"state: { url: 'sqlite:.tidemark/state.db', lease: 30s, "
		"keep: 30d }\n"
		"connections:\n"
		"  shop: postgresql://app@db.example/shop\n"
		"  legacy: { url: \"mysql://app@db2.example/erp\", password: "
		"\"${T_PASSWORD}\", tls: { mode: verify-full, ca: ca.pem }, "
		"timeout: { connect: 10s, silence: 5m } }\n"
		"  warehouse: duckdb:warehouse.duckdb\n"
		"defaults: { batch: { rows: 20000 } }\n"
		"pipelines:\n"
		"  orders:\n"
		"    source: { connection: shop, table: public.orders, "
		"columns: [id, amount], expressions: {total_cents: "
		"\"round(amount*100)::bigint\"}, where: \"id > 0\" }\n"
		"    destination: { connection: warehouse, table: main.orders "
		"}\n"
		"    key: [id]\n"
		"    watermark:\n"
		"      strategy: timestamp\n"
		"      column: updated_at\n"
		"      lag: 0s\n"
		"      time_zone: auto\n"
		"      settle: auto\n"
		"      tail: deliver\n"
		"      nulls: error\n"
		"    load: { mode: upsert }\n"
		"    schema: { on_new_column: add, on_type_change: widen, "
		"on_dropped_column: keep }\n"
		"    batch: { rows: 20000, bytes: 32MiB, target: 1s }\n"
		"    gate:\n"
		"      { not_null: [], min: {}, max: {}, match: {}, unique: "
		"[], min_rows: 0, max_rows: 0 }\n"
		"    on_bad_row: halt\n"
		"    pace: { rows_per_second: 0, bytes_per_second: 0, "
		"replica_lag: 0s, max_active: 0, pause_file: \"\" }\n"
		"    retry: { attempts: 5, backoff: 1s, max_backoff: 60s, "
		"breaker: { failures: 5, cool_down: 30s } }\n"
		"    logic_version: 1\n"
		"    schedule: every 5m\n"
		"    tenant: \"\"\n");
	const struct pipeline_settings *p = &s.pipelines[0];

	(void)state;
	assert_string_equal(p->columns.items[1], "amount");
	assert_int_equal(p->n_expressions, 1);
	assert_string_equal(p->expressions[0].name, "total_cents");
	assert_string_equal(p->expressions[0].sql, "round(amount*100)::bigint");
	assert_string_equal(p->where, "id > 0");
	assert_string_equal(p->key.items[0], "id");
	assert_string_equal(p->mark_column, "updated_at");
	assert_string_equal(s.connections[1]->password, "hunter22");
	assert_false(p->verify);
	assert_int_equal(s.connections[1]->tls_mode, TLS_VERIFY_FULL);
	assert_string_equal(s.connections[1]->tls_ca, "ca.pem");
	assert_string_equal(s.connections[1]->url.engine, "mysql");
	settings_release(&s);
}

static void test_other_values(void **state)
{
	struct settings s = load(
		PIPELINE "    watermark: {strategy: sequence, column: id, lag: "
			 "1_000, settle: off, nulls: skip}\n"
			 "    load: {mode: append}\n"
			 "    schema: {on_new_column: stop, on_type_change: "
			 "stop, on_dropped_column: stop}\n"
			 "    batch: {rows: \"${T_ROWS}\", bytes: 1MB}\n"
			 "    retry: {attempts: 1, backoff: 10ms}\n"
			 "    tenant: 7\n"
			 "    verify: window\n"
			 "log: {row_values: true}\n"
			 "state: {keep: 1d, letters_keep: 90d}\n");
	const struct pipeline_settings *p = &s.pipelines[0];

	(void)state;
	assert_int_equal(p->strategy, STRATEGY_SEQUENCE);
	assert_int_equal(p->lag_count, 1000);
	assert_int_equal(p->lag_us, 0);
	assert_false(p->settle);
	assert_int_equal(p->nulls, NULLS_SKIP);
	assert_int_equal(p->mode, LOAD_APPEND);
	assert_int_equal(p->tail, TAIL_HOLD);
	assert_int_equal(p->drift.on_new_column, DRIFT_STOP);
	assert_int_equal(p->drift.on_type_change, DRIFT_STOP);
	assert_int_equal(p->drift.on_dropped_column, DRIFT_STOP);
	assert_int_equal(p->batch_rows, 77);
	assert_int_equal(p->batch_bytes, 1000000);
	assert_int_equal(p->retry.attempts, 1);
	assert_string_equal(p->tenant, "7");
	assert_true(p->verify);
	assert_string_equal(s.state->url.path, ".tidemark/state.db");
	assert_int_equal(s.state_keep_us, US_PER_DAY);
	assert_int_equal(s.state_letters_us, 90 * US_PER_DAY);
	assert_true(s.row_values);
	settings_release(&s);
}

static void test_bad_rows(void **state)
{
	static const struct {
		const char *text;
		bool keep;
		int64_t limit, share;
	} cases[] = {
		{ "halt", false, 100, -1 },
		{ "dead_letter", true, 100, -1 },
		{ "{dead_letter: }", true, 100, -1 },
		{ "{dead_letter: {limit: 0}}", true, 0, -1 },
		{ "{dead_letter: {limit: 2_000}}", true, 2000, -1 },
		{ "{dead_letter: {limit: 0.1%}}", true, 0, 1000 },
		{ "{dead_letter: {limit: 100%}}", true, 0, 1000000 },
		{ "{dead_letter: {limit: \"0.0001%\"}}", true, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = xstrfmt(PIPELINE "    watermark: {strategy: "
					      "xmin}\n    on_bad_row: %s\n",
				     cases[i].text);
		struct settings s = load(text);
		const struct bad_row_settings *b = &s.pipelines[0].bad_rows;

		assert_int_equal(b->keep, cases[i].keep);
		assert_int_equal(b->limit.rows, cases[i].limit);
		assert_int_equal(b->limit.share, cases[i].share);
		assert_int_equal(row_limit_allowed(&b->limit, 3000000),
				 b->limit.share < 0 ? b->limit.rows
						    : 3 * b->limit.share);
		settings_release(&s);
		free(text);
	}
}

static void test_append_may_deliver(void **state)
{
	struct settings s = load(PIPELINE "    watermark: {strategy: xmin, "
					  "tail: deliver}\n"
					  "    load: {mode: append}\n");

	(void)state;
	assert_int_equal(s.pipelines[0].tail, TAIL_DELIVER);
	settings_release(&s);
}

/* `defaults` are merged map by map; another strategy leaves the column, lag
 * and zone that were meant for the default one. */
static void test_merged_defaults(void **state)
{
	struct settings s = load(
		CONNECTIONS
		"defaults:\n"
		"  source: {connection: s}\n"
		"  destination: {connection: w}\n"
		"  watermark: {strategy: timestamp, column: u, lag: 1m, "
		"time_zone: UTC, nulls: include}\n"
		"  batch: {rows: 5, bytes: 1MiB}\n"
		"pipelines:\n"
		"  a: {source: {table: a}, destination: {table: a}}\n"
		"  b: {source: {table: b}, destination: {table: b}, watermark: "
		"{strategy: xmin}, batch: {rows: 6}}\n"
		"  c: {source: {table: c}, destination: {table: c}, watermark: "
		"{strategy: sequence, column: id}}\n");

	(void)state;
	assert_int_equal(s.pipelines[0].lag_us, 60 * US_PER_SECOND);
	assert_string_equal(s.pipelines[0].mark_column, "u");
	assert_string_equal(s.pipelines[0].time_zone, "UTC");
	assert_int_equal(s.pipelines[0].batch_rows, 5);
	assert_null(s.pipelines[1].mark_column);
	assert_int_equal(s.pipelines[1].lag_us, 0);
	assert_int_equal(s.pipelines[1].nulls, NULLS_INCLUDE);
	assert_int_equal(s.pipelines[1].batch_rows, 6);
	assert_int_equal(s.pipelines[1].batch_bytes, 1 << 20);
	assert_string_equal(s.pipelines[2].mark_column, "id");
	assert_int_equal(s.pipelines[2].lag_count, 0);
	assert_string_equal(s.pipelines[2].time_zone, "auto");
	settings_release(&s);
}

/* A lag for all, where some strategies have none. */
static void test_default_lag_of_no_strategy(void **state)
{
	struct settings s = load(
		CONNECTIONS
		"defaults: {watermark: {lag: 1m, column: u, time_zone: UTC}}\n"
		"pipelines:\n"
		"  a: {source: {connection: s, table: a}, destination: "
		"{connection: w, table: a}, watermark: {strategy: xmin}}\n"
		"  b: {source: {connection: s, table: b}, destination: "
		"{connection: w, table: b}, watermark: {strategy: "
		"timestamp}}\n");

	(void)state;
	assert_null(s.pipelines[0].mark_column);
	assert_string_equal(s.pipelines[0].time_zone, "auto");
	assert_int_equal(s.pipelines[1].lag_us, 60 * US_PER_SECOND);
	assert_string_equal(s.pipelines[1].mark_column, "u");
	settings_release(&s);
}

static const char *const zones[] = { "auto",	    "UTC",
				     "+05:30",	    "-12:00",
				     "Europe/Rome", "America/Port-au-Prince",
				     "Etc/GMT+5" };

static void test_time_zones(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
		char *text =
			xstrfmt(PIPELINE "    watermark: {strategy: timestamp, "
					 "column: u, time_zone: '%s'}\n",
				zones[i]);
		struct settings s = load(text);

		assert_string_equal(s.pipelines[0].time_zone, zones[i]);
		settings_release(&s);
		free(text);
	}
}

static void test_zero_dates(void **state)
{
	static const struct {
		const char *text;
		enum zero_dates expected;
	} cases[] = {
		{ "", ZERO_DATES_ERROR },
		{ ", zero_dates: error", ZERO_DATES_ERROR },
		{ ", zero_dates: null", ZERO_DATES_NULL },
		{ ", zero_dates: ~", ZERO_DATES_NULL },
		{ ", zero_dates: 'null'", ZERO_DATES_NULL },
		{ ", \"zero_dates\": null", ZERO_DATES_NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source_spec spec;
		struct settings s = { 0 };
		struct error err = ERROR_INIT;
		char *text = xstrfmt(
			CONNECTIONS
			"pipelines:\n  p:\n    source: {connection: m, table: t"
			"%s}\n    destination: {connection: w, table: t}\n"
			"    watermark: {strategy: sequence, column: id}\n",
			cases[i].text);
		if (config_text(&s, text, false, &err))
			fail_msg("%s", err.message);
		settings_source_spec(&s.pipelines[0], &spec);
		assert_int_equal(spec.zero_dates, cases[i].expected);
		settings_release(&s);
		free(text);
	}
}

static void test_lookup(void **state)
{
	struct settings s = load(COMPLETE);
	struct error err = ERROR_INIT;
	struct source_spec source;
	struct watermark_spec mark;

	(void)state;
	assert_ptr_equal(settings_pipeline(&s, "p", &err), &s.pipelines[0]);
	assert_null(settings_pipeline(&s, "q", &err));
	assert_string_equal(err.message,
			    "no pipeline \"q\" in t.yaml; did you mean \"p\"? "
			    "there are: p");
	settings_source_spec(&s.pipelines[0], &source);
	assert_string_equal(source.table, "public.t");
	assert_ptr_equal(source.key, &s.pipelines[0].key);
	settings_watermark_spec(&s.pipelines[0], &mark);
	assert_int_equal(mark.strategy, STRATEGY_XMIN);
	assert_true(mark.settle);
	settings_release(&s);
}

static void test_serve(void **state)
{
	struct error err = ERROR_INIT;
	struct settings s = { 0 };

	(void)state;
	assert_int_equal(config_text(&s, COMPLETE, false, &err), 0);
	assert_int_equal(s.serve.address.kind, LISTEN_TCP);
	assert_string_equal(s.serve.address.host, "127.0.0.1");
	assert_int_equal(s.serve.address.port, 9464);
	assert_string_equal(s.serve.token, "");
	assert_int_equal(s.serve.hosts.n, 2);
	assert_int_equal(s.serve.watchdog_us, 60 * 1000000);
	settings_release(&s);
	assert_int_equal(config_text(&s,
				     COMPLETE
				     "serve: { listen: '0.0.0.0:80', hosts: "
				     "t.example, token: sixteen-letters-x }\n",
				     false, &err),
			 0);
	assert_int_equal(s.serve.address.port, 80);
	assert_string_equal(s.serve.hosts.items[0], "t.example");
	settings_release(&s);
}

/* A token in a file, which others may read or not. */
static void test_serve_token_file(void **state)
{
	char folder[] = "/tmp/tidemark-token-XXXXXX";
	char *path, *text;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = xstrfmt("%s/token", folder);
	text = xstrfmt(COMPLETE "serve: { listen: '0.0.0.0:80', "
				"token: '${file:%s}' }\n",
		       path);
	for (int open = 0; open < 2; open++) {
		struct error err = ERROR_INIT;
		struct settings s = { 0 };
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs("a-token-of-24-characters\n", file);
		fclose(file);
		assert_int_equal(chmod(path, open ? 0644 : 0600), 0);
		if (open) {
			assert_int_not_equal(config_text(&s, text, false, &err),
					     0);
			assert_non_null(strstr(err.message, "t.yaml:7:"));
			assert_non_null(strstr(err.message, path));
			continue;
		}
		assert_int_equal(config_text(&s, text, true, &err), 0);
		assert_string_equal(s.serve.token, "a-token-of-24-characters");
		settings_release(&s);
	}
	unlink(path);
	rmdir(folder);
	free(text);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_everything_written_out),
		cmocka_unit_test(test_other_values),
		cmocka_unit_test(test_bad_rows),
		cmocka_unit_test(test_append_may_deliver),
		cmocka_unit_test(test_merged_defaults),
		cmocka_unit_test(test_default_lag_of_no_strategy),
		cmocka_unit_test(test_time_zones),
		cmocka_unit_test(test_zero_dates),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_serve),
		cmocka_unit_test(test_serve_token_file),
	};

	setenv("T_PASSWORD", "hunter22", 1);
	setenv("T_ROWS", "77", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

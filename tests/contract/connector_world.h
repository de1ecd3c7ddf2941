/*
 * The base of the contract suite over connectors. It has an engine's quirks and
 * a connector opened through the registry. Its sessions write as other programs
 * do, and its passes give rows as text.
 */
#ifndef TIDEMARK_TESTS_CONTRACT_CONNECTOR_WORLD_H
#define TIDEMARK_TESTS_CONTRACT_CONNECTOR_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/strbuf.h"
#include "core/plugin/connector.h"

/* The differences between engines, and nothing else. */
struct quirks {
	const char *engine; /* as the suite is called for it */
	const char *connector; /* registry name */
	const char *variable; /* environment variable with the URL, or NULL: a
			       * temporary file serves */
	const char *admin; /* with that of one who may do all, or NULL */
	const char *clean; /* empties the place of the tests */
	const char *prefix; /* before a table's name: "tm_source." */
	const char *mark_type; /* type of a mark that is an instant */
	const char *now; /* the statement's clock as an expression */
	const char *series; /* numbers "n" from %d to %d as a table */
	const char *third; /* 'k' and a third of n, as text */
	const char *long_text; /* a text of n modulo 1000 characters */
	bool alone; /* a writer must be the only one that has the file open */
	bool table_unnamed; /* a table made anew is not told from the old one */
	bool unkeyed; /* PRIMARY KEY is no key here: pipelines name it */
	const char *make_writer; /* makes what `write` needs */
	const char *write; /* a where that writes when evaluated, or NULL */
	const char *fail_at_five; /* a where that fails for id 5 alone ... */
	const char *fail_text; /* ... and how */
	const char *nasty; /* CREATE TABLE with the worst of names */
	const char *nasty_table, *nasty_mark; /* names of that kind */
	const char *nasty_key; /* unkeyed: and that one */
	void *(*connect)(const struct connection *conn);
	void (*disconnect)(void *session);
	/* Statements; the test fails if the server refuses. */
	void (*exec)(void *session, const char *sql);
};

#define WORLD_SESSIONS 3

struct world {
	const struct quirks *quirks;
	char series[200];
	char *file; /* the temporary one, or NULL */
	struct connection conn;
	void *sessions[WORLD_SESSIONS]; /* opened when first used */
	const struct connector_ops *ops;
	struct connector *connector;
	struct source_spec source;
	char *table;
	struct strlist columns, key;
	struct strlist
		keys; /* unkeyed: tables, and the columns of each's key */
	struct watermark_spec mark;
	struct schema schema;
	struct watermark from; /* as if the destination had kept it */
	struct settled settled;
	json_t *identity;
	struct strlist asked; /* keys; empty: what is past the mark */
	bool whole; /* each row, without a mark */
	const struct range *range; /* not NULL: its rows */
	bool unordered; /* the range's rows come in any order */
	struct scan scan;
	struct batch batch;
	bool batch_ready;
	struct error err;
	/* The last run. */
	struct strbuf rows; /* one a line, values between "|" */
	bool quiet; /* rows are only counted */
	bool pauses; /* before each batch, of one row, in the midst of a page */
	int64_t n_rows, n_tail, n_batches;
	uint64_t sum; /* sum of the first column, if it is an integer */
};

extern const struct quirks *const world_quirks[];

/* NULL when the engine cannot be tested here; the reason goes to stderr. */
struct world *world_new(const struct quirks *quirks);
void world_free(struct world *w);

void world_exec(struct world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* In session `n` of its own, 1 or 2. */
void world_other(struct world *w, int n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A session that may do everything; without its URL the test is skipped. */
void *world_boss(struct world *w);
/* MySQL and MariaDB: keep what is run in mysql.general_log. */
void world_keep_log(struct world *w, bool keep);

/* Table (without the prefix), strategy and column: a new pipeline. */
void world_pipeline(struct world *w, const char *table, enum strategy strategy,
		    const char *column);
/* In place of the key that it has. */
void world_key(struct world *w, const char *a, const char *b);
/* describe; the error's code. */
int world_describe(struct world *w);
/* settle and scan from where the last run ended. */
int world_begin(struct world *w);
/* One batch of at most `rows`; its rows are added to the run's, its mark is
 * kept. 1: rows; 0: the end; negative: error. */
int world_step(struct world *w, size_t rows);
/* describe (once), begin, and steps to the end; the error's code. */
int world_run(struct world *w, size_t rows);
/* A run that ends well and brings just these rows. */
void world_expect(struct world *w, size_t rows, const char *expected);
void world_expect_count(struct world *w, size_t rows, int64_t n);
/* The catalog's list of tm_source: "tm_source.t table\n" and so on. */
void world_expect_tables(struct world *w, const char *expected);
/* A run that fails with this code and a text that holds `text`. */
void world_refuse(struct world *w, enum error_code code, const char *text);
/* The mark's pending.delivered. */
void world_expect_delivered(struct world *w, const char *mark);
void world_reset(struct world *w); /* no mark: from the beginning */
void world_reopen(struct world *w); /* another process */

/* Numbers from `from` to `to` as the engine's FROM item, column n; the text is
 * good until the next call. */
const char *world_series(struct world *w, int from, int to);

/* connector_lookup.c: what a pass reads is found again by the first column,
 * which is the key. */
void lookup_again(struct world *w);

struct world *suite_world(void **state);
int suite_setup(void **state);
int suite_teardown(void **state);
#define SUITE_TEST(f)                                                          \
	cmocka_unit_test_setup_teardown(f, suite_setup, suite_teardown)

extern const struct CMUnitTest suite_pages[];
extern const size_t suite_pages_n;
extern const struct CMUnitTest suite_lookup[];
extern const size_t suite_lookup_n;
extern const struct CMUnitTest suite_marks[];
extern const size_t suite_marks_n;
extern const struct CMUnitTest suite_unique[];
extern const size_t suite_unique_n;
extern const struct CMUnitTest suite_mysql[];
extern const size_t suite_mysql_n;
extern const struct CMUnitTest suite_mysql_faults[];
extern const size_t suite_mysql_faults_n;
extern const struct CMUnitTest suite_mysql_keyset[];
extern const size_t suite_mysql_keyset_n;
extern const struct CMUnitTest suite_mysql_guarantee[];
extern const size_t suite_mysql_guarantee_n;
extern const struct CMUnitTest suite_mysql_types[];
extern const size_t suite_mysql_types_n;
extern const struct CMUnitTest suite_clickhouse[];
extern const size_t suite_clickhouse_n;
extern const struct CMUnitTest suite_bigquery[];
extern const size_t suite_bigquery_n;
extern const struct CMUnitTest suite_duckdb[];
extern const size_t suite_duckdb_n;
extern const struct CMUnitTest suite_sqlite[];
extern const size_t suite_sqlite_n;
extern const struct CMUnitTest suite_postgres_pages[];
extern const size_t suite_postgres_pages_n;
extern const struct CMUnitTest suite_postgres_leaves[];
extern const size_t suite_postgres_leaves_n;
extern const struct CMUnitTest suite_postgres_sequence[];
extern const size_t suite_postgres_sequence_n;
extern const struct CMUnitTest suite_postgres_settle[];
extern const size_t suite_postgres_settle_n;
extern const struct CMUnitTest suite_postgres_xmin[];
extern const size_t suite_postgres_xmin_n;
extern const struct CMUnitTest suite_postgres_types[];
extern const size_t suite_postgres_types_n;
extern const struct CMUnitTest suite_postgres_catalog[];
extern const size_t suite_postgres_catalog_n;

#endif

/* The parts of clients/clickhouse that need no server: numbers, tables of text,
 * exceptions, and answers that are not as they should be. */
#include "unit.h"

#include "clients/clickhouse.h"
#include "clients/clickhouse_decimal.h"
#include "clients/clickhouse_errors.h"
#include "clients/clickhouse_handle.h"
#include "http_peer.h"

#define NINES_66                                                               \
	"999999999999999999999999999999999999999999999999999999999999999999"

/* A written text is read again as `again`; NULL: it is refused. */
static const struct {
	const char *text;
	int precision, scale;
	const char *again;
} decimals[] = {
	{ "0", 9, 0, "0" },
	{ "-0", 9, 2, "0.00" },
	{ "1.5", 9, 2, "1.50" },
	{ "1.500", 9, 2, "1.50" },
	{ "-1.55", 9, 2, "-1.55" },
	{ "0.01", 9, 2, "0.01" },
	{ "-0.01", 9, 2, "-0.01" },
	{ "9999999.99", 9, 2, "9999999.99" },
	{ "007", 1, 0, "7" },
	{ "-999999999999999999", 18, 0, "-999999999999999999" },
	{ "99999999999999999999999999999999999999", 38, 0,
	  "99999999999999999999999999999999999999" },
	{ "-" NINES_66 "9999999999", 76, 0, "-" NINES_66 "9999999999" },
	{ NINES_66 ".0123456789", 76, 10, NINES_66 ".0123456789" },
	{ "0.0000000001", 76, 10, "0.0000000001" },
	{ "1.555", 9, 2, NULL },
	{ "10000000.00", 9, 2, NULL },
	{ "1" NINES_66 "9999999999", 76, 0, NULL },
	{ "", 9, 2, NULL },
	{ ".", 9, 2, NULL },
	{ "-", 9, 2, NULL },
	{ "1.2.3", 9, 2, NULL },
	{ "1e3", 9, 2, NULL },
	{ "NaN", 9, 2, NULL },
	{ "Infinity", 9, 2, NULL },
};

static void decimals_come_back(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(decimals); i++) {
		const char *text = decimals[i].text;
		size_t width = clickhouse_decimal_width(decimals[i].precision);
		uint8_t out[32];
		bool fits = clickhouse_decimal_encode(text, strlen(text),
						      decimals[i].precision,
						      decimals[i].scale, out);

		if (fits != (decimals[i].again != NULL))
			fail_msg("%s", text);
		strbuf_reset(&sb);
		if (fits)
			clickhouse_decimal_print(&sb, out, width, true,
						 decimals[i].scale);
		assert_string_equal(sb.data, fits ? decimals[i].again : "");
	}
	strbuf_release(&sb);
}

static void numbers_without_a_sign(void **state)
{
	static const uint8_t most[32] = { 255, 255, 255, 255, 255, 255, 255,
					  255, 255, 255, 255, 255, 255, 255,
					  255, 255, 255, 255, 255, 255, 255,
					  255, 255, 255, 255, 255, 255, 255,
					  255, 255, 255, 255 };
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	clickhouse_decimal_print(&sb, most, 16, false, 0);
	assert_string_equal(sb.data, "340282366920938463463374607431768211455");
	strbuf_reset(&sb);
	clickhouse_decimal_print(&sb, most, 32, false, 0);
	assert_int_equal(sb.len, 78);
	strbuf_reset(&sb);
	clickhouse_decimal_print(&sb, most, 32, true, 0);
	assert_string_equal(sb.data, "-1");
	strbuf_release(&sb);
}

/* A byte of the answer may be a cell, which takes forty in memory. */
static void cells_are_bounded(void **state)
{
	size_t n = CLICKHOUSE_CELLS_MOST + 1;
	char *text = xmalloc(n);
	struct clickhouse_rows rows;
	struct error err = ERROR_INIT;

	(void)state;
	memset(text, '\n', n);
	assert_int_equal(clickhouse_rows_parse(&rows, text, n, &err),
			 -ERROR_ACCESS);
	assert_null(rows.cells);
	error_clear(&err);
	memset(text, '\t', n);
	text[n - 1] = '\n';
	assert_int_equal(clickhouse_rows_parse(&rows, text, n, &err),
			 -ERROR_ACCESS);
	free(text);
}

/* With a scale that no type has, nothing is written in front of the text. */
static void decimals_of_any_scale(void **state)
{
	static const uint8_t ones[32] = { 1 };
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	clickhouse_decimal_print(&sb, ones, 32, true, 90);
	assert_int_equal(sb.len, 78);
	strbuf_release(&sb);
}

static void tables_of_text(void **state)
{
	static const char text[] = "1\ta\\tb\\\\\\n\n2\t\\N\n\t\n";
	struct clickhouse_rows rows;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(clickhouse_rows_parse(&rows, text, strlen(text), &err),
			 0);
	assert_int_equal(rows.n_rows, 3);
	assert_int_equal(rows.n_columns, 2);
	assert_string_equal(clickhouse_cell(&rows, 0, 1), "a\tb\\\n");
	assert_null(clickhouse_cell(&rows, 1, 1));
	assert_string_equal(clickhouse_cell(&rows, 2, 0), "");
	assert_int_equal(clickhouse_rows_i64(&rows, 7), 1);
	assert_int_equal(clickhouse_rows_check(&rows, "t?", "x", NULL), 0);
	assert_int_equal(clickhouse_rows_check(&rows, "+t?", "x", NULL), 0);
	assert_int_not_equal(clickhouse_rows_check(&rows, "tt", "x", NULL), 0);
	assert_int_not_equal(clickhouse_rows_check(&rows, "t", "x", NULL), 0);
	assert_int_not_equal(clickhouse_rows_check(&rows, "t??", "x", NULL), 0);
	clickhouse_rows_release(&rows);
	assert_int_equal(clickhouse_rows_parse(&rows, "", 0, &err), 0);
	assert_int_equal(clickhouse_rows_i64(&rows, 7), 7);
	clickhouse_rows_release(&rows);
}

static void tables_that_are_none(void **state)
{
	static const char *const texts[] = { "1", "1\t2\n3\n", "1\n2\t3\n",
					     "1\n2" };
	struct clickhouse_rows rows;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(clickhouse_rows_parse(&rows, texts[i],
						       strlen(texts[i]), &err),
				 -ERROR_TRANSIENT);
		assert_null(rows.cells);
	}
}

static const struct {
	const char *text;
	enum error_code code;
	const char *says;
} exceptions[] = {
	{ "Code: 60. DB::Exception: Unknown table x. (UNKNOWN_TABLE) "
	  "(version 26.9.2.1)\n",
	  ERROR_SCHEMA, "it: Unknown table x. (UNKNOWN_TABLE)" },
	{ "1\t2\nCode: 241. DB::Exception: Memory limit\n", ERROR_TRANSIENT,
	  "it: Memory limit" },
	{ "Code: 516. DB::Exception: no", ERROR_ACCESS, "it: no" },
	{ "Code: 38. DB::Exception: Cannot parse", ERROR_DATA,
	  "it: Cannot parse" },
	{ "Code: 4711. DB::Exception: new", ERROR_UNKNOWN, "it: new" },
	{ "the value 'Code: 1' \nCode: 252. DB::Exception: Too many parts",
	  ERROR_TRANSIENT, "it: Too many parts" },
	/* Behind rows, a value that looks like an exception. */
	{ "1\t2\nCode: 6. DB::Exception: Cannot parse: Code: 241. "
	  "DB::Exception: zoe",
	  ERROR_DATA,
	  "it: an exception in the middle of rows (its text is left out; "
	  "log.row_values: true shows it)" },
	{ "1\t2\nCode: 6. DB::Exception: Cannot parse here: zoe", ERROR_DATA,
	  "it: Cannot parse here: ... (values are left out; log.row_values: "
	  "true shows them)" },
	{ "Code: 60. Something else", ERROR_NONE, "" },
	{ "Code: ", ERROR_NONE, "" },
	{ "", ERROR_NONE, "" },
};

static void exceptions_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++) {
		struct error err = ERROR_INIT;
		const char *text = exceptions[i].text;

		assert_int_equal(
			clickhouse_fail_text(&err, "it", text, strlen(text)),
			-(int)exceptions[i].code);
		assert_string_equal(err.message, exceptions[i].says);
	}
}

static void names_and_texts_are_quoted(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	clickhouse_quote_name(&sb, "a`b\\c");
	clickhouse_quote_text(&sb, "it's \\ \n");
	assert_string_equal(sb.data, "`a\\`b\\\\c`'it\\'s \\\\ \n'");
	strbuf_release(&sb);
}

#define BARE(type, length)                                                     \
	"HTTP/1.1 200 OK\r\nContent-Type: " type "\r\nContent-Length: " length \
	"\r\n"
#define HEAD(type, length)                                                     \
	BARE(type, length) "X-ClickHouse-Query-Id: 1-2\r\n\r\n"
#define TEXT "text/tab-separated-values"
#define ROWS "application/octet-stream"
/* Two columns. */
#define TYPES "\2\1n\1x\5UInt8\6String"
#define HELLO                                                                  \
	{                                                                      \
		.text = HEAD(TEXT, "9") "26.9.2.1\n"                           \
	}

static int open_peer(struct peer *p, const struct peer_answer *answers,
		     struct clickhouse **out, struct error *err)
{
	struct connection conn = { .connect_timeout_us = 5000000 };
	char *url;
	int rc;

	peer_start(p, answers);
	url = xstrfmt("clickhouse://app@127.0.0.1:%u/shop", p->port);
	assert_int_equal(url_parse(&conn.url, url, err), 0);
	free(url);
	rc = clickhouse_open(out, &conn, false, err);
	url_release(&conn.url);
	return rc;
}

/* The number of rows of one byte each until the end, or the error. */
static int select_all(struct clickhouse *db, struct error *err)
{
	const uint8_t *value;
	int rc = clickhouse_select(db, "SELECT x FROM t", 1, err), n = 0;

	while (!rc && (rc = clickhouse_next(db, err)) > 0) {
		rc = clickhouse_take(db, 1, &value, err);
		n++;
	}
	clickhouse_select_end(db);
	return rc ? rc : n;
}

static const struct {
	struct peer_answer answer;
	int result;
	const char *says;
} selects[] = {
	{ { .text = HEAD(ROWS, "22") TYPES "\1a\1b" }, 2, "" },
	{ { .text = HEAD(ROWS, "18") TYPES }, 0, "" },
	{ { .text = HEAD(ROWS, "0") }, 0, "" },
	{ { .text = HEAD(ROWS, "1") "\3" },
	  -ERROR_TRANSIENT,
	  "has 3 columns where 2 are due" },
	{ { .text = HEAD(ROWS, "9") "\2\1n\1x\5UIn" },
	  -ERROR_TRANSIENT,
	  "in the middle of a row" },
	{ { .text = HEAD(ROWS, "21") TYPES "\1a\1" },
	  -ERROR_TRANSIENT,
	  "in the middle of a row" },
	{ { .text = HEAD(ROWS, "22") TYPES "\1a", .then = PEER_CLOSE },
	  -ERROR_TRANSIENT,
	  "" },
	{ { .text = HEAD(ROWS, "58") TYPES
	    "\1a\r\nCode: 241. DB::Exception: Memory limi." },
	  -ERROR_TRANSIENT,
	  "Memory lim" },
	{ { .text = HEAD("text/html", "5") "hello" },
	  -ERROR_ACCESS,
	  "ClickHouse's HTTP port" },
	{ { .text = BARE(ROWS, "0") "\r\n" },
	  -ERROR_ACCESS,
	  "no X-ClickHouse-Query-Id" },
	{ { .text = "HTTP/1.1 404 No\r\nX-ClickHouse-Exception-Code: 60\r\n"
		    "Content-Length: 32\r\n\r\n"
		    "Code: 60. DB::Exception: no such" },
	  -ERROR_SCHEMA,
	  "no such" },
};

static void rows_that_break_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(selects); i++) {
		struct peer_answer answers[] = { HELLO,
						 selects[i].answer,
						 { .text = NULL } };
		struct clickhouse *db = NULL;
		struct error err = ERROR_INIT;
		struct peer p;
		int rc;

		assert_int_equal(open_peer(&p, answers, &db, &err), 0);
		rc = select_all(db, &err);
		if (rc != selects[i].result ||
		    !strstr(err.message, selects[i].says))
			fail_msg("case %zu: %d, %s", i, rc, err.message);
		clickhouse_close(db);
		peer_stop(&p);
		assert_non_null(strstr(p.asked.data, "X-ClickHouse-User: app"));
		assert_non_null(strstr(p.asked.data, "readonly=2"));
		peer_release(&p);
	}
}

static void servers_of_all_ages(void **state)
{
	static const struct {
		struct peer_answer answer;
		enum error_code code;
	} cases[] = {
		{ { .text = HEAD(TEXT, "7") "25.8.1\n" }, ERROR_NONE },
		{ { .text = HEAD(TEXT, "7") "25.7.1\n" }, ERROR_ACCESS },
		{ { .text = HEAD(TEXT, "7") "18.16.\n" }, ERROR_ACCESS },
		{ { .text = HEAD(TEXT, "7") "99.1.1\n" }, ERROR_NONE },
		{ { .text = HEAD(TEXT, "7") "mysql!\n" }, ERROR_ACCESS },
		{ { .text = HEAD(TEXT, "3") "\\N\n" }, ERROR_ACCESS },
		{ { .text = HEAD(TEXT, "0") }, ERROR_ACCESS },
		{ { .text = BARE(TEXT, "7") "\r\n25.8.1\n" }, ERROR_ACCESS },
		{ { .text = HEAD("text/html", "7") "<html>\n" }, ERROR_ACCESS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct peer_answer answers[] = { cases[i].answer,
						 { .text = NULL } };
		struct clickhouse *db = NULL;
		struct error err = ERROR_INIT;
		struct peer p;

		assert_int_equal(open_peer(&p, answers, &db, &err),
				 -(int)cases[i].code);
		clickhouse_close(db);
		peer_stop(&p);
		peer_release(&p);
	}
}

/* Rows are packed where the way is long, or as the URL says. */
static void rows_are_packed_on_the_way(void **state)
{
	static const struct {
		const char *url;
		enum error_code code;
		bool packs;
	} cases[] = {
		{ "clickhouse://127.0.0.1/x", ERROR_NONE, false },
		{ "clickhouses://localhost:1/x", ERROR_NONE, false },
		{ "clickhouses://[::1]/x", ERROR_NONE, false },
		{ "clickhouses://db.example/x", ERROR_NONE, true },
		{ "clickhouses://db.example/x?compression=none", ERROR_NONE,
		  false },
		{ "clickhouse://127.0.0.1/x?compression=zstd", ERROR_NONE,
		  true },
		{ "clickhouse://127.0.0.1/x?compression=gzip", ERROR_CONFIG,
		  false },
		{ "clickhouse://127.0.0.1/x?compression=", ERROR_CONFIG,
		  false },
		{ "clickhouse://127.0.0.1/x?compression=zstd&a=b", ERROR_CONFIG,
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_INIT;
		struct url url;
		bool packs = cases[i].packs;

		assert_int_equal(url_parse(&url, cases[i].url, &err), 0);
		assert_int_equal(clickhouse_take_options(&url, &packs, &err),
				 -(int)cases[i].code);
		assert_int_equal(packs, cases[i].packs);
		url_release(&url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimals_come_back),
		cmocka_unit_test(numbers_without_a_sign),
		cmocka_unit_test(tables_of_text),
		cmocka_unit_test(cells_are_bounded),
		cmocka_unit_test(decimals_of_any_scale),
		cmocka_unit_test(tables_that_are_none),
		cmocka_unit_test(exceptions_are_found),
		cmocka_unit_test(names_and_texts_are_quoted),
		cmocka_unit_test(rows_that_break_off),
		cmocka_unit_test(servers_of_all_ages),
		cmocka_unit_test(rows_are_packed_on_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

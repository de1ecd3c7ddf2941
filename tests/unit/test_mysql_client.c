/* The parts of clients/mysql that need no server: error classes, and how to
 * connect. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "clients/mysql_errno.h"
#include "clients/mysql_session.h"
#include "clients/mysql_target.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

struct errno_case {
	unsigned number;
	const char *state;
	enum error_code code;
};

static const struct errno_case numbers[] = {
	/* transient: worth another try */
	{ 1040, "08004", ERROR_TRANSIENT },
	{ 1047, "08S01", ERROR_TRANSIENT },
	{ 1053, "08S01", ERROR_TRANSIENT },
	{ 1180, "HY000", ERROR_TRANSIENT },
	{ 1317, "70100", ERROR_TRANSIENT },
	{ 1412, "HY000", ERROR_TRANSIENT },
	{ 1927, "70100", ERROR_TRANSIENT },
	{ 2002, "HY000", ERROR_TRANSIENT },
	{ 2003, "HY000", ERROR_TRANSIENT },
	{ 2006, "HY000", ERROR_TRANSIENT },
	{ 2013, "HY000", ERROR_TRANSIENT },
	{ 3024, "HY000", ERROR_TRANSIENT },
	/* conflict: the same transaction again */
	{ 1020, "HY000", ERROR_CONFLICT },
	{ 1205, "HY000", ERROR_CONFLICT },
	{ 1213, "40001", ERROR_CONFLICT },
	{ 9999, "40001", ERROR_CONFLICT },
	/* access: rights, room, read-only servers */
	{ 3, "HY000", ERROR_ACCESS },
	{ 1005, "HY000", ERROR_ACCESS },
	{ 1021, "HY000", ERROR_ACCESS },
	{ 1045, "28000", ERROR_ACCESS },
	{ 1049, "42000", ERROR_ACCESS },
	{ 1114, "HY000", ERROR_ACCESS },
	{ 1148, "42000", ERROR_ACCESS },
	{ 1197, "HY000", ERROR_ACCESS },
	{ 1665, "HY000", ERROR_ACCESS },
	{ 1836, "HY000", ERROR_ACCESS },
	{ 1878, "HY000", ERROR_ACCESS },
	{ 2000, "HY000", ERROR_ACCESS },
	{ 3675, "HY000", ERROR_ACCESS },
	{ 3948, "42000", ERROR_ACCESS },
	{ 4166, "HY000", ERROR_ACCESS },
	{ 1142, "42000", ERROR_ACCESS },
	{ 1227, "42000", ERROR_ACCESS },
	{ 1290, "HY000", ERROR_ACCESS },
	{ 1792, "25006", ERROR_ACCESS },
	{ 2026, "HY000", ERROR_ACCESS },
	{ 3159, "HY000", ERROR_ACCESS },
	/* data */
	{ 1062, "23000", ERROR_DATA },
	{ 1153, "08S01", ERROR_DATA },
	{ 1264, "22003", ERROR_DATA },
	{ 1292, "22007", ERROR_DATA },
	{ 1366, "HY000", ERROR_DATA },
	{ 1644, "45000", ERROR_DATA },
	{ 2020, "HY000", ERROR_DATA },
	/* schema */
	{ 1054, "42S22", ERROR_SCHEMA },
	{ 1146, "42S02", ERROR_SCHEMA },
	{ 1170, "42000", ERROR_SCHEMA },
	{ 3750, "HY000", ERROR_SCHEMA },
	{ 1356, "HY000", ERROR_SCHEMA },
	/* ours */
	{ 1046, "3D000", ERROR_CONFIG },
	{ 1298, "HY000", ERROR_CONFIG },
	{ 1064, "42000", ERROR_BUG },
	/* not in the table: by SQLSTATE, or unknown */
	{ 9999, "08S01", ERROR_TRANSIENT },
	{ 5010, "HY000", ERROR_ACCESS },
	{ 9999, "23000", ERROR_DATA },
	{ 9999, "42S99", ERROR_SCHEMA },
	{ 9999, "HY000", ERROR_UNKNOWN },
};

static void mysql_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct errno_case *c = &numbers[i];
		enum error_code code =
			mysql_client_errno_code(c->number, c->state);
		if (code != c->code)
			fail_msg("%u is %s", c->number, error_code_name(code));
	}
}

struct target_case {
	const char *url;
	enum tls_mode mode; /* the config's */
	const char *expected; /* user/password/host/port/database/socket/tls */
};

static const struct target_case targets[] = {
	{ "mysql://app:p%40ss@db.example:3307/shop", TLS_AUTO,
	  "app/p@ss/db.example/3307/shop/-/verify-full" },
	{ "mariadb://app@127.0.0.1/shop", TLS_AUTO,
	  "app/-/127.0.0.1/0/shop/-/disabled?" },
	{ "mysql://app@[::1]:3307", TLS_AUTO, "app/-/::1/3307/-/-/disabled?" },
	{ "mysql://a%3Ab@localhost/x?tls=required", TLS_AUTO,
	  "a:b/-/localhost/0/x/-/required" },
	{ "mysql://a@db/x?ssl-mode=VERIFY_IDENTITY", TLS_AUTO,
	  "a/-/db/0/x/-/verify-full" },
	{ "mysql://a@db/x?tls=disabled", TLS_VERIFY_CA,
	  "a/-/db/0/x/-/verify-ca" },
	{ "mysql://a@/x?socket=%2Frun%2Fs", TLS_AUTO,
	  "a/-/-/0/x//run/s/disabled?" },
	{ "mysql://a@db:70000/x", TLS_AUTO, NULL },
	{ "mysql://a@db:http/x", TLS_AUTO, NULL },
	{ "mysql://a@[::1/x", TLS_AUTO, NULL },
	{ "mysql://a@db/x?tls=maybe", TLS_AUTO, NULL },
	{ "mysql://a@db/x?sslmode=require", TLS_AUTO, NULL },
	{ "mysql://a@db/x?tls=required&ssl_mode=REQUIRED", TLS_AUTO, NULL },
};

static void mysql_print_target(struct strbuf *sb,
			       const struct mysql_client_target *t)
{
	static const char *const modes[] = { "auto", "disabled", "required",
					     "verify-ca", "verify-full" };
	const char *const texts[] = { t->server.user, t->password,
				      t->server.host };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		strbuf_addf(sb, "%s/", texts[i] ? texts[i] : "-");
	strbuf_addf(sb, "%u/%s/%s/%s%s", t->server.port,
		    t->server.database ? t->server.database : "-",
		    t->socket ? t->socket : "-", modes[t->tls],
		    t->tls_if_asked ? "?" : "");
}

static void mysql_targets(void **state)
{
	(void)state;
	unsetenv("MYSQL_PWD");
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct connection conn = { .name = (char *)"c",
					   .tls_mode = targets[i].mode };
		struct error err = ERROR_INIT;
		struct strbuf got = STRBUF_INIT;
		struct mysql_client_target t;

		assert_int_equal(url_parse(&conn.url, targets[i].url, &err), 0);
		if (mysql_client_target_fill(&t, &conn, "test", &err)) {
			assert_int_equal(err.code, ERROR_CONFIG);
			if (targets[i].expected)
				fail_msg("%s: %s", targets[i].url, err.message);
		} else {
			mysql_print_target(&got, &t);
			assert_non_null(targets[i].expected);
			assert_string_equal(got.data, targets[i].expected);
			mysql_client_target_release(&t);
		}
		strbuf_release(&got);
		url_release(&conn.url);
	}
}

/* A column that became another type is not converted in silence. */
static void mysql_forms(void **state)
{
	(void)state;
	assert_true(mysql_client_form_fits(MYSQL_CLIENT_INTEGER,
					   MYSQL_CLIENT_TYPE_LONG));
	assert_true(mysql_client_form_fits(MYSQL_CLIENT_UNSIGNED,
					   MYSQL_CLIENT_TYPE_YEAR));
	assert_false(mysql_client_form_fits(MYSQL_CLIENT_INTEGER, 253));
	assert_false(mysql_client_form_fits(MYSQL_CLIENT_BYTES,
					    MYSQL_CLIENT_TYPE_LONG));
	assert_false(mysql_client_form_fits(MYSQL_CLIENT_FLOAT,
					    MYSQL_CLIENT_TYPE_DOUBLE));
	assert_true(mysql_client_form_fits(MYSQL_CLIENT_BYTES,
					   MYSQL_CLIENT_TYPE_NEWDECIMAL));
	assert_false(mysql_client_form_fits(MYSQL_CLIENT_TIME, 253));
}

struct fill_case {
	const char *sql, *value; /* given for each "?" */
	int n;
	const char *filled; /* NULL: refused */
};

static const struct fill_case fills[] = {
	{ "SELECT 1", "x", 0, "SELECT 1" },
	{ "SELECT ?, ?", "x", 2, "SELECT 'x', 'x'" },
	{ "a = ?", "O'Br\\ien", 1, "a = 'O''Br\\\\ien'" },
	{ "a = ?", "?;", 1, "a = '?;'" },
	{ "a = ?", NULL, 1, "a = NULL" },
	/* In quotes they are no places, and no ends. */
	{ "`a?;` = ? AND b = '?;'", "x", 1, "`a?;` = 'x' AND b = '?;'" },
	{ "`a``?` = ? AND b = 'it''s ?'", "x", 1,
	  "`a``?` = 'x' AND b = 'it''s ?'" },
	{ "`a\\` = ?", "x", 1, "`a\\` = 'x'" },
	{ "'a\\'?' = ?", "x", 1, "'a\\'?' = 'x'" },
	{ "\"a\\\"?\" = ?", "x", 1, "\"a\\\"?\" = 'x'" },
	{ "SELECT ?", "x", 2, NULL },
	{ "SELECT ?, ?", "x", 1, NULL },
	{ "SELECT 1; SELECT 2", "x", 0, NULL },
	{ "SELECT 1;", "x", 0, NULL },
	{ "SELECT ';", "x", 0, "SELECT ';" }, /* the server refuses it */
};

static void mysql_fills(void **state)
{
	struct mysql_client db = { .target = { .where = "here" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fills); i++) {
		const struct fill_case *c = &fills[i];
		const char *values[] = { c->value, c->value };
		struct strbuf out = STRBUF_INIT;
		struct error err = ERROR_INIT;
		int rc = mysql_client_fill(&db, &out, c->sql, c->n, values,
					   &err);

		assert_int_equal(rc, c->filled ? 0 : -ERROR_BUG);
		if (c->filled)
			assert_string_equal(out.data, c->filled);
		strbuf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mysql_numbers),
		cmocka_unit_test(mysql_targets),
		cmocka_unit_test(mysql_forms),
		cmocka_unit_test(mysql_fills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "core/base/secret.h"
#include "core/base/url.h"
#include "tests/unit/unit.h"

static const struct {
	const char *text, *engine, *path, *shown;
} good[] = {
	{ "postgresql://app@db.example/shop", "postgres", "",
	  "postgresql://app@db.example/shop" },
	{ "postgres://app:hunter22@db/shop", "postgres", "",
	  "postgres://app:***@db/shop" },
	{ "POSTGRESQL://db", "postgres", "", "POSTGRESQL://db" },
	{ "postgresql:///shop?host=/run&user=a&password=hunter22&x=1",
	  "postgres", "",
	  "postgresql:///shop?host=/run&user=a&password=***&x=1" },
	{ "postgresql://a:hunter22@h1:5432,h2:5433/db?sslpassword=topsecret",
	  "postgres", "",
	  "postgresql://a:***@h1:5432,h2:5433/db?sslpassword=***" },
	/* libpq and we read on up to the slash */
	{ "postgresql://a:hun?ter22@h/db", "postgres", "",
	  "postgresql://a:***@h/db" },
	{ "postgresql://a:#?&=:+ \\@h/db?x=1&token=q", "postgres", "",
	  "postgresql://a:***@h/db?x=1&token=***" },
	{ "postgresql://h:5432?user=x@y", "postgres", "",
	  "postgresql://h:***@y" },
	{ "postgresql://a:x@h", "postgres", "", "postgresql://a:***@h" },
	{ "postgresql:///d?%70assword=x&p%61ssword=y&%73slpassword=z",
	  "postgres", "",
	  "postgresql:///d?%70assword=***&p%61ssword=***&%73slpassword=***" },
	{ "postgresql://a@h/d?application_name=x:y@z", "postgres", "",
	  "postgresql://a@h/d?application_name=x:y@z" },
	/* behind the user's "@", the query's text is the query's */
	{ "postgresql://a@h?password=hunter22:@x", "postgres", "",
	  "postgresql://a@h?password=***" },
	{ "postgresql://a@h?x=1:2&password=hun@ter22&y=3", "postgres", "",
	  "postgresql://a@h?x=1:***&y=3" },
	{ "mysql://a:hun@ter22@h/db", "mysql", "", "mysql://a:***@h/db" },
	{ "mysql://a:hun?ter22@h/db", "mysql", "", "mysql://a:***@h/db" },
	/* a user with an "@" */
	{ "mysql://a@b:hunter22@h/db", "mysql", "", "mysql://a@b:***@h/db" },
	{ "mysql://[a:hunter22@h/db", "mysql", "", "mysql://[a:***@h/db" },
	{ "mysql://[::1]:1/d@b", "mysql", "", "mysql://[::1]:1/d@b" },
	{ "mysql://a@h:3306/d@b", "mysql", "", "mysql://a@h:3306/d@b" },
	{ "postgresql://[a:hunter22@h/db", "postgres", "",
	  "postgresql://[a:***@h/db" },
	{ "postgresql://a?x=1@h/d?password=hunter22", "postgres", "",
	  "postgresql://a?x=1@h/d?password=***" },
	{ "postgresql://a@[fe80::1]:1/d@b", "postgres", "",
	  "postgresql://a@[fe80::1]:1/d@b" },
	{ "postgresql://a@h1:1,h2:2/d@b", "postgres", "",
	  "postgresql://a@h1:1,h2:2/d@b" },
	{ "clickhouse://h:8123?x=a@b", "clickhouse", "",
	  "clickhouse://h:8123?x=a@b" },
	{ "postgresql://h:5432/d@b", "postgres", "",
	  "postgresql://h:5432/d@b" },
	{ "postgresql://[::1]:5432/d@b", "postgres", "",
	  "postgresql://[::1]:5432/d@b" },
	{ "postgresql://a:@h/db", "postgres", "", "postgresql://a:@h/db" },
	{ "mariadb://a@h/db", "mysql", "", "mariadb://a@h/db" },
	{ "clickhouses://h:8443/db", "clickhouse", "",
	  "clickhouses://h:8443/db" },
	{ "bigquery://project/dataset", "bigquery", "",
	  "bigquery://project/dataset" },
	{ "sqlite:a b.db", "sqlite", "a b.db", "sqlite:a b.db" },
	{ "sqlite:/x/y.db", "sqlite", "/x/y.db", "sqlite:/x/y.db" },
	{ "sqlite:///x/y.db", "sqlite", "/x/y.db", "sqlite:///x/y.db" },
	{ "duckdb:w.duckdb?memory_limit=1GB&threads=2", "duckdb", "w.duckdb",
	  "duckdb:w.duckdb?memory_limit=1GB&threads=2" },
	{ "duckdb:w?motherduck_token=abcdef", "duckdb", "w",
	  "duckdb:w?motherduck_token=***" },
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error err = ERROR_INIT;
		struct url u, copy;

		if (url_parse(&u, good[i].text, &err))
			fail_msg("%s: %s", good[i].text, err.message);
		url_copy(&copy, &u);
		url_release(&u);
		assert_string_equal(copy.text, good[i].text);
		assert_string_equal(copy.engine, good[i].engine);
		assert_string_equal(copy.path, good[i].path);
		assert_string_equal(copy.shown, good[i].shown);
		url_release(&copy);
	}
	url_release(NULL);
}

static const struct {
	const char *text, *error;
} bad[] = {
	{ "", "a connection URL begins with its engine" },
	{ "shop.db", "a connection URL begins with its engine" },
	{ "/x/y:z", "a connection URL begins with its engine" },
	{ "host=db password=hunter22", "a libpq key=value string is no "
				       "connection URL: write postgresql://" },
	{ "postgre://a:hunter22@h/db",
	  "unknown URL scheme \"postgre\" (did you mean \"postgres\"?)" },
	{ "oracle://h/db", "unknown URL scheme \"oracle\"; known: postgresql" },
	{ "postgresql:", "is to be followed by //" },
	{ "postgresql://", "is to be followed by //" },
	{ "sqlite:", "without a file path" },
	{ "duckdb:?x=1", "without a file path" },
	{ "sqlite://rel.db", "names no file: write sqlite:relative/path" },
	{ "postgresql://a:hunter22@h/db\n", "control character" },
	{ "postgresql://a:hun@ter22@h/db", "holds a \"@\"" },
	{ "postgresql://a:hun/ter22@h/db", "holds a \"/\"" },
	{ "postgresql://a:hun/t?er22@h/db", "write %2F" },
	{ "postgresql://a:x@hun/ter22@h/db", "holds a \"@\"" },
	{ "postgresql://a:x@s/hun?ter22@h/db", "holds a \"@\"" },
	{ "postgresql://a:x@s/t?u?hunter22 d@h/db?x=y", "holds a \"@\"" },
	{ "mysql://a:hun/ter22@h/db", "holds a \"/\"" },
	{ "mysql://a@b:p/hunter22@h", "password in the URL holds a \"/\"" },
	{ "postgresql://h?password=hun@ter22", "holds a \"@\"" },
	{ "postgresql://h?password=hun@ter22:x", "holds a \"@\"" },
	{ "postgresql://a@b:hunter22@h/db", "user in the URL holds a \"@\"" },
	{ "postgresql://a:x@l,[:H/t?password=hunter22]:20/d", "no \"]\" ends" },
	{ "mysql://[a:hunter22/x@h/db", "holds a \"/\"" },
	{ "mysql://[a]:hunter22/x@h/db", "holds a \"/\"" },
	{ "postgresql://[::1?password=hunter22]/d", "no \"]\" ends" },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_INIT;
		struct url u;

		assert_int_equal(url_parse(&u, bad[i].text, &err),
				 -ERROR_CONFIG);
		if (!strstr(err.message, bad[i].error))
			fail_msg("%s: %s", bad[i].text, err.message);
		assert_null(strstr(err.message, "hunter22"));
	}
}

static void test_password_is_remembered(void **state)
{
	char text[] = "FATAL: p@ss w or p%40ss%20w, p%40ss%20w";
	struct url u;

	(void)state;
	assert_int_equal(url_parse(&u, "postgresql://a:p%40ss%20w@h/db", NULL),
			 0);
	secret_scrub(text);
	assert_string_equal(text, "FATAL: *** or ***, ***");
	url_release(&u);
	secret_forget_all();
}

static const struct {
	const char *text;
	int literal;
} literals[] = {
	{ "postgresql://app@h/db", 0 },
	{ "postgresql://app:hunter22@h/db", 1 },
	{ "postgresql://app:${PW}@h/db", 0 },
	{ "postgresql://app:${file:/run/secrets/pw}@h/db", 0 },
	{ "postgresql://app:${PW:-}@h/db", 0 },
	{ "postgresql://app:${PW:-hunter22}@h/db", 1 },
	{ "postgresql://app:x${PW}@h/db", 1 },
	{ "postgresql://${USER}:${PW}@${HOST}:${PORT}/db", 0 },
	{ "postgresql://h/db?password=${PW}", 0 },
	{ "postgresql://h/db?password=x", 1 },
	{ "postgresql://h/db?PASSWORD=x", 1 },
	{ "${URL}", 0 },
	{ "sqlite:x.db", 0 },
};

static void test_literal_password(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(literals); i++)
		if (url_has_password(literals[i].text) != literals[i].literal)
			fail_msg("%s", literals[i].text);
}

static void test_query(void **state)
{
	struct url u;
	char *value;

	(void)state;
	url_parse(&u, "duckdb:w?memory_limit=1%20GB&threads=2&e=", NULL);
	value = url_query_value(&u, "memory_limit");
	assert_string_equal(value, "1 GB");
	free(value);
	value = url_query_value(&u, "e");
	assert_string_equal(value, "");
	free(value);
	assert_null(url_query_value(&u, "thread"));
	assert_null(url_query_value(&u, "hreads"));
	url_release(&u);
}

static const struct {
	const char *text, *user, *password, *host, *database;
	unsigned port;
} servers[] = {
	{ "mysql://a:x@h:1/db", "a", "x", "h", "db", 1 },
	{ "mysql://a@b@h", "a@b", NULL, "h", NULL, 0 },
	{ "mysql://a@b:x:y@h/db", "a@b", "x:y", "h", "db", 0 },
	{ "mysql://a@[::1]:1/d@b", "a", NULL, "::1", "d@b", 1 },
	{ "mysql://a:@h", "a", "", "h", NULL, 0 },
	{ "clickhouse://a:x?#y@h", "a", "x?#y", "h", NULL, 0 },
	{ "clickhouse://h:8123/d?x=a@b", NULL, NULL, "h", "d", 8123 },
};

static void assert_text(const char *got, const char *wanted)
{
	assert_string_equal(got ? got : "none", wanted ? wanted : "none");
}

static void test_server(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		struct url_server server;
		struct url u;

		assert_int_equal(url_parse(&u, servers[i].text, NULL), 0);
		assert_int_equal(url_server_parse(&server, &u, NULL), 0);
		assert_text(server.user, servers[i].user);
		assert_text(server.password, servers[i].password);
		assert_text(server.host, servers[i].host);
		assert_text(server.database, servers[i].database);
		assert_int_equal(server.port, servers[i].port);
		url_server_release(&server);
		url_release(&u);
	}
	secret_forget_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_password_is_remembered),
		cmocka_unit_test(test_literal_password),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

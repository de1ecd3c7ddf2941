/* Engines that come from outside: facts are all that core has to know. */
#include "core/base/engine.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/url.h"
#include "core/base/url_secrets.h"
#include "core/data/table_identity.h"
#include "core/sync/parts/changing.h"
#include "tests/unit/config_text.h"
#include "tests/unit/unit.h"

static const char *const lake_schemes[] = { "lakes", "lake", NULL };
static const struct engine lake = {
	.name = "lake",
	.schemes = lake_schemes,
	.traits = ENGINE_FILE | ENGINE_ONE_WRITER | ENGINE_FOLDS_NAMES,
	.schema = "top",
};

static const char *const hive_schemes[] = { "hive", "honey", NULL };
static const struct engine_word hive_words[] = { { "moment", WORD_CALL },
						 { NULL, WORD_CALL } };
static const struct engine hive = {
	.name = "hive",
	.schemes = hive_schemes,
	.traits = ENGINE_SERVER | ENGINE_LIBPQ_URL | ENGINE_OWN_SCHEMA |
		  ENGINE_XMIN | ENGINE_ZERO_DATES | ENGINE_SQL_HASH,
	.words = hive_words,
	.listed = "hive, honey",
};

/* An engine without facts: all is its own affair. */
static const char *const queue_schemes[] = { "queue", NULL };
static const struct engine queue = { .name = "queue",
				     .schemes = queue_schemes };

static int set_up(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	/* Twice is once. */
	return engine_add(&lake, &err) || engine_add(&hive, &err) ||
	       engine_add(&lake, &err) || engine_add(&queue, &err);
}

static void test_table(void **state)
{
	size_t n = 0;

	(void)state;
	while (engine_table[n])
		n++;
	assert_true(n > 0);
	assert_ptr_equal(engine_at(0), engine_table[0]);
	assert_ptr_equal(engine_at(n), &lake);
	assert_ptr_equal(engine_at(n + 1), &hive);
	assert_null(engine_at(n + 3));
	assert_ptr_equal(engine_named("hive"), &hive);
	assert_null(engine_named("honey"));
	assert_true(engine_has("lake", ENGINE_ONE_WRITER));
	assert_false(engine_has("hive", ENGINE_ONE_WRITER));
	assert_false(engine_has("nowhere", ENGINE_ONE_WRITER));
}

/* Facts of the tree's engines are held to what those of a plug-in are. */
static void test_of_the_tree(void **state)
{
	(void)state;
	for (size_t i = 0; engine_table[i]; i++) {
		const struct engine *e = engine_table[i];
		bool own = false;

		for (size_t k = 0; e->schemes[k]; k++) {
			own = own || !strcmp(e->schemes[k], e->name);
			assert_ptr_equal(engine_of_url(e->schemes[k]), e);
		}
		assert_true(own);
		assert_ptr_equal(engine_named(e->name), e);
		assert_true(!(e->traits & ENGINE_FILE) ||
			    !(e->traits & ENGINE_SERVER));
	}
}

static const char *const own_scheme[] = { "mine", NULL };
static const char *const no_scheme[] = { NULL };
static const char *const not_own[] = { "other", NULL };
static const char *const taken[] = { "mine", "honey", NULL };
static const char *const of_the_tree[] = { "mine", "mariadb", NULL };
static const char *const loud[] = { "mine", "Mine", NULL };

static const struct {
	struct engine facts;
	const char *says;
} refused[] = {
	{ { .schemes = own_scheme }, "no name" },
	{ { .name = "", .schemes = own_scheme }, "no name" },
	{ { .name = "Mine", .schemes = own_scheme }, "no name" },
	{ { .name = "mine" }, "no scheme" },
	{ { .name = "mine", .schemes = no_scheme }, "no scheme" },
	{ { .name = "mine", .schemes = not_own }, "none of its schemes" },
	{ { .name = "mine", .schemes = taken }, "of the engine hive" },
	{ { .name = "mine", .schemes = of_the_tree }, "of the engine mysql" },
	{ { .name = "mine", .schemes = loud }, "small letters" },
	{ { .name = "hive", .schemes = hive_schemes }, "known already" },
	{ { .name = "sqlite", .schemes = own_scheme }, "known already" },
	{ { .name = "mine",
	    .schemes = own_scheme,
	    .traits = ENGINE_FILE | ENGINE_SERVER },
	  "a file and a server" },
	{ { .name = "mine", .schemes = own_scheme, .traits = ENGINE_LIBPQ_URL },
	  "not that it is a server" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(engine_add(&refused[i].facts, &err),
				 -ERROR_CONFIG);
		if (!strstr(err.message, refused[i].says))
			fail_msg("%zu: %s", i, err.message);
	}
	assert_null(engine_named("mine"));
}

/* URL, engine, path, as it is shown. */
static const char *const good[][4] = {
	{ "lake:a b.x", "lake", "a b.x", "lake:a b.x" },
	{ "LAKES:///x/y?token=hunter22", "lake", "/x/y",
	  "LAKES:///x/y?token=***" },
	{ "honey://a:hunter22@h/db", "hive", "", "honey://a:***@h/db" },
	{ "hive://a:8?x=hunter22@h/d", "hive", "", "hive://a:***@h/d" },
	{ "queue:what:ever@it?is", "queue", "what:ever@it",
	  "queue:what:ever@it?is" },
	{ "queue://h:8?x=a@b", "queue", "//h:8", "queue://h:8?x=a@b" },
	{ "queue:", "queue", "", "queue:" },
};

static const char *const bad[][2] = {
	{ "lake:", "lake: without a file path: write lake:FILE" },
	{ "lakes://rel", "write lakes:relative/path or lakes:/absolute/path" },
	{ "hive:x", "write hive://user@host:port/database" },
	{ "hive://h?password=hun@ter22", "holds a \"@\"" },
	{ "hive://[::1?password=hunter22]/d", "no \"]\" ends" },
	{ "honney://h/d", "(did you mean \"honey\"?)" },
	{ "oracle://h/d", "bigquery, lake, hive, honey, queue, and that of" },
};

static void test_urls(void **state)
{
	struct error err = ERROR_INIT;
	struct url u;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (url_parse(&u, good[i][0], &err))
			fail_msg("%s", err.message);
		assert_string_equal(u.engine, good[i][1]);
		assert_string_equal(u.path, good[i][2]);
		assert_string_equal(u.shown, good[i][3]);
		url_release(&u);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		error_clear(&err);
		assert_int_equal(url_parse(&u, bad[i][0], &err), -ERROR_CONFIG);
		if (!strstr(err.message, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.message);
		assert_null(strstr(err.message, "hunter22"));
	}
}

/* Wherever the URL turns up, its engine's rule finds the password. */
static void test_masked(void **state)
{
	char text[] = "no route to \"hive://a:8?x=hunter22@h/d\"";
	char word[] = "honey://a:8?x=hunter22@h/d";
	char plain[] = "queue://h:8?x=a@b";

	(void)state;
	url_scrub(text);
	assert_string_equal(text, "no route to \"hive://a:***@h/d\"");
	assert_true(url_wipe(word));
	assert_string_equal(word, "honey://a:***@h/d");
	assert_false(url_wipe(plain));
	assert_true(url_has_password("hive://a:8?x=hunter22@h/d"));
	assert_false(url_has_password(plain));
	/* One that is not loaded yet may read it either way. */
	assert_true(url_has_password("unheard://h:8?x=a@b"));
}

static void test_no_server(void **state)
{
	struct url_server server;
	struct error err = ERROR_INIT;
	struct url u;

	(void)state;
	assert_int_equal(url_parse(&u, "queue:x", &err), 0);
	assert_int_equal(url_server_parse(&server, &u, &err), -ERROR_CONFIG);
	assert_non_null(strstr(err.message, "names no server"));
	url_release(&u);
}

#define OUTSIDE                                                                \
	"connections: {l: 'lake:x', h: 'hive://u@h/db', q: 'queue:x', "        \
	"e: 'queue:'}\npipelines:\n"
#define FROM_TO(name, from, table, to, target)                                 \
	"  " name ":\n    source: {connection: " from ", table: " table        \
	"}\n    destination: {connection: " to ", table: " target "}\n"
#define UPDATE                                                                 \
	"    watermark: {strategy: timestamp, column: at}\n"                   \
	"    key: [id]\n    load: {mode: update}\n"
#define SEQUENCE "    watermark: {strategy: sequence, column: id}\n"

static const struct {
	const char *text, *error; /* NULL: it is fine */
} configs[] = {
	{ OUTSIDE FROM_TO("p", "h", "t", "l",
			  "t") "    watermark: {strategy: xmin}\n",
	  NULL },
	{ OUTSIDE FROM_TO("p", "l", "t", "h",
			  "t") "    watermark: {strategy: xmin}\n",
	  "a lake source has none" },
	{ "connections: {h: 'hive://u@h/db', l: 'lake:x'}\npipelines:\n"
	  "  p:\n    source: {connection: h, table: t, zero_dates: 'null'}\n"
	  "    destination: {connection: l, table: t}\n" SEQUENCE,
	  NULL },
	{ "connections: {h: 'hive://u@h/db', l: 'lake:x'}\npipelines:\n"
	  "  p:\n    source: {connection: l, table: t, zero_dates: 'null'}\n"
	  "    destination: {connection: h, table: t}\n" SEQUENCE,
	  "this source is lake" },
	{ "connections: {l: {url: 'lake:x', password: '${HOME}'}}\n"
	  "pipelines:\n" FROM_TO("p", "l", "t", "l", "u") SEQUENCE,
	  "lake:x is a file and takes no password" },
	{ "connections: {q: {url: 'queue:x', password: '${HOME}'}, "
	  "l: 'lake:x'}\npipelines:\n" FROM_TO("p", "q", "t", "l", "t")
		  SEQUENCE,
	  NULL },
};

static void test_settings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct error err = ERROR_INIT;
		struct settings s;
		int rc = config_text(&s, configs[i].text, false, &err);

		if (!rc != !configs[i].error ||
		    (rc && !strstr(err.message, configs[i].error)))
			fail_msg("%zu: %s", i, err.message);
		if (!rc)
			settings_release(&s);
	}
}

/* One connection at both ends, and two pipelines into it. */
static const struct {
	const char *connection, *from, *to;
	bool in_place;
} ends[] = {
	{ "l", "t", "top.t", true },	{ "l", "t", "main.t", false },
	{ "h", "t", "db.t", true },	{ "h", "t", "public.t", false },
	{ "q", "t", "t", true },	{ "e", "t", "t", true },
	{ "e", "t", "other.t", false },
};

static void test_both_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		char *text = xstrfmt(
			OUTSIDE FROM_TO("p", "%s", "%s", "%s", "%s")
				UPDATE FROM_TO("q", "h", "x", "%s", "%s")
					SEQUENCE,
			ends[i].connection, ends[i].from, ends[i].connection,
			ends[i].to, ends[i].connection, ends[i].from);
		struct error err = ERROR_INIT;
		struct settings s;

		if (config_text(&s, text, false, &err))
			fail_msg("%zu: %s", i, err.message);
		if (s.pipelines[0].in_place != ends[i].in_place)
			fail_msg("%zu", i);
		settings_release(&s);
		free(text);
	}
}

/* Where `copy` without --to puts shop.orders. */
static const char *const copies[][3] = {
	{ "hive://h/db", "honey://g/db", "shop.orders" },
	{ "lake:x", "lake:y", "orders" },
	{ "lake:x", "hive://g/db", "orders" },
	{ "mysql://h/db", "hive://g/db", "orders" },
	{ "hive://h/db", "lake:x", "orders" },
	{ "hive://h/db", "postgresql://g/db", "shop.orders" },
};

static void test_copy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		struct copy_arguments args = { .source_url = copies[i][0],
					       .destination_url = copies[i][1],
					       .table = "shop.orders",
					       .watermark = "sequence:id" };
		struct error err = ERROR_INIT;
		struct settings s;

		if (settings_from_copy(&s, &args, &err))
			fail_msg("%s", err.message);
		assert_string_equal(s.pipelines[0].destination_table,
				    copies[i][2]);
		settings_release(&s);
	}
}

static void test_identity(void **state)
{
	json_t *a = json_pack("{ssss}", "engine", "lake", "table", "T");
	json_t *b = json_pack("{ssss}", "engine", "lake", "table", "top.t");
	json_t *c = json_pack("{ssssss}", "engine", "hive", "table", "t",
			      "database", "db");
	json_t *d = json_pack("{ssss}", "engine", "hive", "table", "db.T");

	(void)state;
	assert_true(table_identity_same_name(a, b));
	assert_false(table_identity_same_name(c, d));
	json_object_set_new(d, "table", json_string("db.t"));
	assert_true(table_identity_same_name(c, d));
	json_decref(a);
	json_decref(b);
	json_decref(c);
	json_decref(d);
}

static void assert_changing(const char *engine, const char *sql,
			    const char *wanted)
{
	char *found = changing_find(engine, sql);

	assert_string_equal(found ? found : "", wanted);
	free(found);
}

/* Its own words, and no other's; without any, those of all. */
static void test_words(void **state)
{
	(void)state;
	assert_changing("hive", "id + Moment()", "moment()");
	assert_changing("hive", "id # moment()", "");
	assert_changing("hive", "now()", "now()");
	assert_changing("hive", "random()", "");
	assert_changing("lake", "random()", "random()");
	assert_changing("lake", "moment() # now()", "moment()");
	assert_changing("nowhere", "utc_date", "utc_date");
	assert_changing("postgres", "moment()", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_of_the_tree),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_masked),
		cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

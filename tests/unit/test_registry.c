#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/url.h"
#include "core/plugin/registry.h"

/* Two engines without a role, and one whose connector has only a name. */
static const struct url_option no_options[] = { { NULL, NULL, NULL } };
static const struct connector_ops hollow_connector = {
	.name = "hollow",
	.options = no_options,
};
static const struct plugin plain = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "postgres",
	.version = "",
};
static const struct plugin second = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "sqlite",
	.version = "",
};
static const struct plugin hollow = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "hollow",
	.version = "",
	.connector = &hollow_connector,
};
const struct plugin *const plugin_builtin[] = { &plain, &second, &hollow,
						NULL };

/* A directory of its own, whose modules are found before the good ones. */
static char place[] = "/tmp/tidemark-registry-XXXXXX";

static char *in_place(const char *name)
{
	return xstrfmt("%s/%s", place, name);
}

static void write_broken(const char *name)
{
	char *file_name = in_place(name);
	FILE *file = fopen(file_name, "w");

	fputs("not a module\n", file);
	fclose(file);
	free(file_name);
}

static void remove_broken(const char *name)
{
	char *file_name = in_place(name);

	remove(file_name);
	free(file_name);
}

/* A sound module that everybody may replace. */
static void share_module(const char *modules)
{
	char *command = xstrfmt("cp '%s/tidemark-liar.so' "
				"'%s/tidemark-another.so' && "
				"chmod 666 '%s/tidemark-another.so'",
				modules, place, place);

	assert_int_equal(system(command), 0);
	free(command);
}

static int set_up(void **state)
{
	const char *modules = getenv("TIDEMARK_TEST_MODULES");
	char *folder, *path;

	(void)state;
	if (!modules || !mkdtemp(place))
		return -1;
	folder = in_place("tidemark-sub");
	mkdir(folder, 0700);
	write_broken("tidemark-broken.so");
	write_broken("tidemark-sub/dir.so");
	share_module(modules);
	path = xstrfmt("::%s:/nowhere:%s:", place, modules);
	setenv("TIDEMARK_PLUGIN_PATH", path, 1);
	registry_serve_schemes();
	free(path);
	free(folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remove_broken("tidemark-sub/dir.so");
	remove_broken("tidemark-sub");
	remove_broken("tidemark-broken.so");
	remove_broken("tidemark-another.so");
	rmdir(place);
	return 0;
}

/* engine, code, what the message must say */
static const struct {
	const char *engine;
	enum error_code code;
	const char *says[4];
} refused[] = {
	{ "mysql",
	  ERROR_CONFIG,
	  { "engine \"mysql\" is not built in",
	    "no module tidemark-mysql.so found in", "/nowhere, ",
	    "/tmp/tidemark-registry-" } },
	{ "postgrse", ERROR_CONFIG, { "did you mean \"postgres\"?" } },
	{ "goood", ERROR_CONFIG, { "did you mean \"good\"?" } },
	{ "duckdb", ERROR_CONFIG, { "tools/get-duckdb", "-Dduckdb_root" } },
	{ "sub/dir", ERROR_CONFIG, { "is not built in" } },
	{ "", ERROR_CONFIG, { "is not built in" } },
	{ "broken", ERROR_CONFIG, { "cannot load", "tidemark-broken.so" } },
	{ "another", ERROR_CONFIG, { "not to be trusted" } },
	{ "abi", ERROR_CONFIG, { "ABI 99", "tidemark-abi.so" } },
	{ "small", ERROR_CONFIG, { "8 bytes", "tidemark-small.so" } },
	{ "hole", ERROR_BUG, { "\"script\"", "store", "hole.so" } },
	{ "mute", ERROR_BUG, { "dialect of its store", "mute.so" } },
	{ "silent", ERROR_CONFIG, { "exports no tidemark_plugin" } },
	{ "liar", ERROR_CONFIG, { "calls itself \"another\"" } },
	{ "factless", ERROR_CONFIG, { "no facts", "tidemark-factless.so" } },
	{ "nameless", ERROR_CONFIG, { "no name", "tidemark-nameless.so" } },
	{ "schemeless", ERROR_CONFIG, { "no scheme", "schemeless.so" } },
	{ "stranger", ERROR_CONFIG, { "of \"another\"", "stranger.so" } },
	{ "thief",
	  ERROR_CONFIG,
	  { "\"postgresql\" is that of the engine postgres", "thief.so" } },
	{ "shouter", ERROR_CONFIG, { "\"Loud!\" holds", "shouter.so" } },
	{ "torn", ERROR_CONFIG, { "a file and a server", "torn.so" } },
	{ "hollow", ERROR_BUG, { "\"open\"", "connector", "built in" } },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const struct plugin *plugin = NULL;
		struct error err = ERROR_INIT;
		int rc = registry_find(refused[i].engine, &plugin, &err);

		if (rc != -(int)refused[i].code)
			fail_msg("%s: %d %s", refused[i].engine, rc,
				 err.message);
		/* Nor without a place for the reason. */
		assert_int_equal(
			registry_find(refused[i].engine, &plugin, NULL), rc);
		assert_null(plugin);
		for (size_t k = 0; k < 4 && refused[i].says[k]; k++) {
			if (!strstr(err.message, refused[i].says[k]))
				fail_msg("\"%s\" is not in: %s",
					 refused[i].says[k], err.message);
		}
	}
}

static void test_found(void **state)
{
	const struct plugin *plugin, *again;
	const struct store_ops *store;

	(void)state;
	assert_int_equal(registry_find("postgres", &plugin, NULL), 0);
	assert_ptr_equal(plugin, &plain);
	assert_int_equal(registry_find("good", &plugin, NULL), 0);
	assert_string_equal(plugin->version, "1.2");
	assert_int_equal(registry_find("good", &again, NULL), 0);
	assert_ptr_equal(plugin, again);
	assert_int_equal(registry_store("good", &store, NULL), 0);
	assert_string_equal(store->name, "good");
}

static void test_roles(void **state)
{
	const struct destination_ops *destination;
	const struct connector_ops *connector;
	const struct store_ops *store;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(registry_connector("good", &connector, &err),
			 -ERROR_CONFIG);
	assert_string_equal(err.message, "engine \"good\" cannot be a source");
	error_clear(&err);
	assert_int_equal(registry_destination("good", &destination, &err),
			 -ERROR_CONFIG);
	assert_non_null(strstr(err.message, "destination"));
	error_clear(&err);
	assert_int_equal(registry_store("postgres", &store, &err),
			 -ERROR_CONFIG);
	assert_non_null(strstr(err.message, "state store"));
}

/* In order of name: what is sound, and why the rest is not. */
static void test_all(void **state)
{
	static const char *const expected[] = { "clickhouse", "good",
						"guarded",    "postgres",
						"sqlite",     "twin" };
	static const char *const unsound[] = {
		"abi",	    "another",	  "broken",  "factless",
		"hole",	    "hollow",	  "liar",    "mute",
		"nameless", "schemeless", "shouter", "silent",
		"small",    "stranger",	  "thief",   "torn"
	};
	struct strlist paths = STRLIST_INIT, turned_away = STRLIST_INIT;
	const struct plugin **all;
	size_t n = 0;

	(void)state;
	all = registry_all(&paths, &turned_away);
	for (; all[n]; n++) {
		assert_true(n < ARRAY_SIZE(expected));
		assert_string_equal(all[n]->name, expected[n]);
	}
	assert_int_equal(n, ARRAY_SIZE(expected));
	assert_int_equal(paths.n, n);
	assert_non_null(strstr(paths.items[1], "/tidemark-good.so"));
	assert_string_equal(paths.items[3], "built in");
	assert_int_equal(turned_away.n, 3 * ARRAY_SIZE(unsound));
	for (size_t i = 0; i < ARRAY_SIZE(unsound); i++) {
		assert_string_equal(turned_away.items[3 * i], unsound[i]);
		assert_non_null(
			strstr(turned_away.items[3 * i + 2], unsound[i]));
	}
	assert_string_equal(turned_away.items[1], "config");
	assert_non_null(strstr(turned_away.items[2], "ABI 99"));
	free(all);
	strlist_release(&paths);
	strlist_release(&turned_away);
	all = registry_all(NULL, NULL);
	assert_string_equal(all[0]->name, "clickhouse");
	free(all);
}

static bool is_loaded(const char *name)
{
	char *variable = xstrfmt("TIDEMARK_TEST_LOADED_%s", name);
	bool found = getenv(variable);

	free(variable);
	return found;
}

/* Parses, and tells the engine, or else the error. */
static char *engine_of(const char *text)
{
	struct error err = ERROR_INIT;
	struct url url;
	char *engine;

	if (url_parse(&url, text, &err))
		return xstrdup(err.message);
	engine = xstrdup(url.engine);
	url_release(&url);
	return engine;
}

static void assert_engine(const char *url, const char *wanted)
{
	char *engine = engine_of(url);

	if (!strstr(engine, wanted))
		fail_msg("%s: %s", url, engine);
	free(engine);
}

/* Facts that are known, or asked for by a name, load no module. */
static void test_not_loaded(void **state)
{
	struct error err = ERROR_INIT;
	const struct plugin *plugin;

	(void)state;
	assert_engine("duckdb:x", "duckdb");
	assert_null(engine_named("good"));
	assert_false(engine_has("nowhere", ENGINE_FILE));
	assert_null(engine_of_url("good_too:x"));
	assert_int_equal(registry_find("nowhere", &plugin, &err),
			 -ERROR_CONFIG);
	assert_false(is_loaded("good"));
	assert_false(is_loaded("abi"));
	/* Only a scheme that nobody knows does. */
	assert_engine("good_too:x", "good");
	assert_true(is_loaded("good"));
	assert_false(is_loaded("clickhouse"));
	assert_engine("good:x", "good");
}

static void copy_module(const char *from, const char *to)
{
	char buffer[4096];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t n;

	assert_non_null(in);
	assert_non_null(out);
	while ((n = fread(buffer, 1, sizeof(buffer), in)) > 0)
		fwrite(buffer, 1, n, out);
	fclose(in);
	fclose(out);
}

/* A module that others can write is not loaded for its facts, and the error
 * says why. */
static void test_not_trusted(void **state)
{
	char *path = xstrdup(getenv("TIDEMARK_PLUGIN_PATH"));
	char *from = xstrfmt("%s/tidemark-guarded.so",
			     getenv("TIDEMARK_TEST_MODULES"));
	char *module = in_place("tidemark-guarded.so");

	(void)state;
	copy_module(from, module);
	setenv("TIDEMARK_PLUGIN_PATH", place, 1);
	for (int open_dir = 0; open_dir < 2; open_dir++) {
		chmod(place, open_dir ? 0777 : 0700);
		chmod(module, open_dir ? 0644 : 0666);
		assert_engine("guarded:x", "engine guarded: its module is not "
					   "to be trusted");
		assert_engine("guarded_too:x",
			      "unknown URL scheme \"guarded_too\"");
		assert_engine("guarded_too:x", "engine guarded: its module is "
					       "not to be trusted");
		assert_false(is_loaded("guarded"));
	}
	chmod(place, 0700);
	assert_engine("guarded_too:x", "guarded");
	assert_true(is_loaded("guarded"));
	remove(module);
	setenv("TIDEMARK_PLUGIN_PATH", path, 1);
	free(module);
	free(from);
	free(path);
}

static void *find_twin(void *out)
{
	const struct plugin *plugin = NULL;

	registry_find("twin", &plugin, NULL);
	*(const struct plugin **)out = plugin;
	return NULL;
}

static void test_threads(void **state)
{
	const struct plugin *found[8] = { NULL };
	pthread_t threads[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_create(&threads[i], NULL, find_twin, &found[i]);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		assert_non_null(found[i]);
		assert_ptr_equal(found[i], found[0]);
	}
}

/* Without the variable only the binary's own directory and libdir are left. */
static void test_own_directory(void **state)
{
	const struct plugin *plugin;
	struct error err = ERROR_INIT;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)state;
	assert_true(n > 0);
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	unsetenv("TIDEMARK_PLUGIN_PATH");
	assert_int_equal(registry_find("abi", &plugin, &err), -ERROR_CONFIG);
	assert_non_null(strstr(err.message, path));
	/* A loaded module stays. */
	assert_int_equal(registry_find("good", &plugin, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_trusted),
		cmocka_unit_test(test_not_loaded),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_own_directory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* docs/config.md is what the option tables say: `test_config_page --write`
 * writes it. */
#include <stdio.h>

#include "tests/unit/unit.h"

#include "core/base/expand.h"
#include "core/base/option.h"
#include "core/settings/input.h"
#include "tests/unit/config_text.h"

static char *page_path(void)
{
	const char *root = getenv("TIDEMARK_SOURCE_ROOT");

	return xstrfmt("%s/docs/config.md", root ? root : ".");
}

static void test_page_is_current(void **state)
{
	struct strbuf expected = STRBUF_INIT, found = STRBUF_INIT;
	struct error err = ERROR_INIT;
	char *path = page_path();

	(void)state;
	settings_reference(&expected);
	if (file_read(&found, path, 1024 * 1024, &err))
		fail_msg("%s", err.message);
	if (strcmp(expected.data, found.data) != 0)
		fail_msg("docs/config.md is not what the tables say; "
			 "write it with test_config_page --write");
	strbuf_release(&expected);
	strbuf_release(&found);
	free(path);
}

static void test_example_parses(void **state)
{
	struct settings s;
	struct error err = ERROR_INIT;

	(void)state;
	if (config_text(&s, settings_example(), true, &err))
		fail_msg("%s", err.message);
	assert_int_equal(s.n_pipelines, 2);
	settings_release(&s);
}

/* Keys that the example leaves out, because they have no default to show. */
static const char *const left_out[] = { "keep_raw", "dead_letter", "probe" };

static bool is_left_out(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		if (!strcmp(left_out[i], name))
			return true;
	return false;
}

static void check_shown(const struct option *table)
{
	for (table = option_row(table); table; table = option_row(table + 1)) {
		char *key = xstrfmt("%s:", table->name);

		assert_non_null(table->doc);
		if (!is_left_out(table->name)) {
			if (!strstr(settings_example(), key))
				fail_msg("%s is not in the example", key);
			if (table->table)
				check_shown(table->table);
		}
		free(key);
	}
}

static void test_example_shows_every_key(void **state)
{
	(void)state;
	for (const struct option *o = settings_options; o->name; o++)
		if (o->table)
			check_shown(o->table);
	check_shown(wildcard_options);
}

static void check_schema(const struct option *table, const json_t *schema)
{
	const json_t *properties = json_object_get(schema, "properties");

	assert_true(
		json_is_false(json_object_get(schema, "additionalProperties")));
	for (table = option_row(table); table; table = option_row(table + 1)) {
		const json_t *p = json_object_get(properties, table->name);

		assert_non_null(p);
		assert_true(json_is_string(json_object_get(p, "description")));
		if (table->table && table->type == OPTION_TABLE &&
		    !table->shorthand)
			check_schema(table->table, p);
	}
}

static void test_schema(void **state)
{
	json_t *schema = settings_json_schema();
	const json_t *pipelines, *mode;

	(void)state;
	assert_string_equal(
		json_string_value(json_object_get(schema, "$schema")),
		"https://json-schema.org/draft/2020-12/schema");
	check_schema(settings_options, schema);
	pipelines = json_object_get(json_object_get(schema, "properties"),
				    "pipelines");
	pipelines = json_object_get(pipelines, "additionalProperties");
	check_schema(wildcard_options, json_object_get(pipelines, "then"));
	pipelines = json_object_get(pipelines, "else");
	check_schema(pipeline_options, pipelines);
	mode = json_object_get(json_object_get(pipelines, "properties"),
			       "load");
	mode = json_object_get(json_object_get(mode, "properties"), "mode");
	assert_int_equal(json_array_size(json_object_get(mode, "enum")), 5);
	assert_string_equal(json_string_value(json_object_get(mode, "default")),
			    "upsert");
	json_decref(schema);
}

static int write_page(void)
{
	struct strbuf page = STRBUF_INIT;
	char *path = page_path();
	FILE *file = fopen(path, "w");
	int rc = 1;

	settings_reference(&page);
	if (file)
		rc = fputs(page.data, file) == EOF;
	if (file && fclose(file))
		rc = 1;
	if (rc)
		perror(path);
	strbuf_release(&page);
	free(path);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_is_current),
		cmocka_unit_test(test_example_parses),
		cmocka_unit_test(test_example_shows_every_key),
		cmocka_unit_test(test_schema),
	};

	if (argc > 1 && !strcmp(argv[1], "--write"))
		return write_page();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

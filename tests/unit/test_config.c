#include <sys/stat.h>
#include <unistd.h>

#include "core/base/config.h"
#include "core/base/expand.h"
#include "core/base/secret.h"
#include "tests/unit/unit.h"

static struct config_file parse(const char *text)
{
	struct config_file file;
	struct error err = ERROR_INIT;

	if (config_file_parse(&file, "t", text, strlen(text), &err))
		fail_msg("%s", err.message);
	return file;
}

/* text, path, value, line, column */
static const struct {
	const char *text, *path, *value;
	int line, column;
} values[] = {
	{ "a: 1\n", "a", "1", 1, 4 },
	{ "a: 'x'\n", "a", "x", 1, 4 },
	{ "a:\n  b: \"x\\ny\"\n", "a.b", "x\ny", 2, 6 },
	{ "a:\tb\n", "a", "b", 1, 4 },
	{ "a: {b: {c: d}}\n", "a.b.c", "d", 1, 12 },
	{ "\xc3\xa9\xc3\xa9: {b: c}\n", "\xc3\xa9\xc3\xa9.b", "c", 1, 9 },
	{ "\xef\xbb\xbf"
	  "a: 1\n",
	  "a", "1", 1, 4 },
	{ "---\r\na: 1\r\nb: 2\r\n...\r\n", "b", "2", 3, 4 },
	{ "a: |\n  one\n  two\n", "a", "one\ntwo\n", 2, 1 },
	{ "a: \"\\ud83d\\ude00 \\u00e9\"\n", "a", "\xf0\x9f\x98\x80 \xc3\xa9",
	  1, 4 },
	/* JSON as it is */
	{ "{\n\t\"a\":\t{\"b\": [1, 2],\n\t\t\"c\\/\": \"\\ud83d\\ude00\"}}",
	  "a.c/", "\xf0\x9f\x98\x80", 3, 10 },
	{ "{\"a\":1e3,\"b\":true}", "b", "true", 1, 14 },
	/* expansion; what was put in is not looked at again */
	{ "a: ${T_VALUE}\n", "a", "value", 1, 4 },
	{ "a: x${T_VALUE}y${T_VALUE}\n", "a", "xvalueyvalue", 1, 4 },
	{ "a: ${T_NONE:-text}\n", "a", "text", 1, 4 },
	{ "a: ${T_NONE:-}\n", "a", "", 1, 4 },
	{ "a: ${T_EMPTY:-text}\n", "a", "text", 1, 4 },
	{ "a: ${T_EMPTY}\n", "a", "", 1, 4 },
	{ "a: ${T_NESTED}\n", "a", "${T_VALUE}", 1, 4 },
	{ "a: $${T_VALUE}\n", "a", "${T_VALUE}", 1, 4 },
	/* In the user's part of a URL, what would end it is encoded. */
	{ "a: x://u:${T_HARD}@h/d\n", "a", "x://u:s%40c%2Fr%23t%25@h/d", 1, 4 },
	{ "a: x://${T_HARD}@h/d\n", "a", "x://s%40c%2Fr%23t%25@h/d", 1, 4 },
	{ "a: x://u:p${T_HARD}q${T_VALUE}@h\n", "a",
	  "x://u:ps%40c%2Fr%23t%25qvalue@h", 1, 4 },
	{ "a: x://u:${T_CODED}@h/d\n", "a", "x://u:a%40b@h/d", 1, 4 },
	/* A "%" that begins an escape is one, unless it is encoded. */
	{ "a: x://u:${T_ESCAPE}@h/d\n", "a", "x://u:x%41@h/d", 1, 4 },
	{ "a: x://u:${T_PERCENT}@h/d\n", "a", "x://u:x%2541@h/d", 1, 4 },
	{ "a: x://h/d?x=1&password=${T_HARD}&y=2\n", "a",
	  "x://h/d?x=1&password=s%40c%2Fr%23t%25&y=2", 1, 4 },
	{ "a: x://h/d?x=${T_HARD}\n", "a", "x://h/d?x=s@c/r#t%", 1, 4 },
	{ "a: x://h/${T_HARD}\n", "a", "x://h/s@c/r#t%", 1, 4 },
	{ "a: x://${T_VALUE}/d@e\n", "a", "x://value/d@e", 1, 4 },
	{ "a: x://u@${T_VALUE}/d\n", "a", "x://u@value/d", 1, 4 },
	{ "a: ^[A-Z]{3}$\n", "a", "^[A-Z]{3}$", 1, 4 },
	{ "a: $T_VALUE\n", "a", "$T_VALUE", 1, 4 },
};

static void test_values(void **state)
{
	(void)state;
	setenv("T_VALUE", "value", 1);
	setenv("T_EMPTY", "", 1);
	setenv("T_NESTED", "${T_VALUE}", 1);
	setenv("T_HARD", "s@c/r#t%", 1);
	setenv("T_CODED", "a%40b", 1);
	setenv("T_ESCAPE", "x%41", 1);
	setenv("T_PERCENT", "x%2541", 1);
	unsetenv("T_NONE");
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct config_file file = parse(values[i].text);
		struct config_node *node =
			config_node_find(file.root, values[i].path);

		if (!node || strcmp(node->text, values[i].value) != 0 ||
		    node->at.line != values[i].line ||
		    node->at.column != values[i].column)
			fail_msg("%s: %s at %d:%d", values[i].text,
				 node ? node->text : "nothing",
				 node ? node->at.line : 0,
				 node ? node->at.column : 0);
		config_file_release(&file);
	}
}

static void test_null(void **state)
{
	struct config_file file =
		parse("a:\nb: ~\nc: null\nd: ''\ne: 'null'\nf: ${T_EMPTY}\n");

	(void)state;
	for (size_t i = 0; i < file.root->n; i++)
		assert_int_equal(
			config_node_is_null(file.root->entries[i].node), i < 3);
	config_file_release(&file);
}

static void test_merge(void **state)
{
	struct config_file file = parse(
		"own: {a: {x: 1}, l: [1], s: {}}\n"
		"defaults: {a: {x: 2, y: 3}, l: [2, 3], s: 5, n: {m: 6}}\n");
	struct config_node *own = config_node_find(file.root, "own");

	(void)state;
	config_node_merge(own, config_node_find(file.root, "defaults"));
	assert_string_equal(config_node_find(own, "a.x")->text, "1");
	assert_string_equal(config_node_find(own, "a.y")->text, "3");
	assert_true(config_node_find(own, "a.y")->inherited);
	assert_false(config_node_find(own, "a.x")->inherited);
	assert_int_equal(config_node_find(own, "l")->n, 1);
	assert_int_equal(config_node_find(own, "s")->kind, CONFIG_MAP);
	assert_true(config_node_find(own, "n.m")->inherited);
	config_node_remove(own, "a");
	config_node_remove(own, "a");
	assert_null(config_node_find(own, "a.x"));
	assert_non_null(config_node_find(own, "n.m"));
	config_file_release(&file);
	config_file_release(NULL);
}

static char *write_file(const char *data, size_t n, mode_t mode)
{
	char *path = xstrdup("/tmp/tidemark-test-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return path;
}

static void remove_file(char *path)
{
	unlink(path);
	free(path);
}

static const struct {
	const char *content, *text;
} files[] = {
	{ "s3cret\n", "s3cret" },
	{ "s3cret\r\n", "s3cret" },
	{ "s3cret\n\n", "s3cret\n" },
	{ "s3cret", "s3cret" },
	{ "", "" },
	{ "${T_VALUE}\n", "${T_VALUE}" },
};

static void test_file_reference(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *path = write_file(files[i].content,
					strlen(files[i].content), 0600);
		char *raw = xstrfmt("<${file:%s}>", path);
		char *expected = xstrfmt("<%s>", files[i].text);
		struct strbuf out = STRBUF_INIT;

		assert_int_equal(expand_text(&out, raw, NULL), 0);
		assert_string_equal(out.data, expected);
		secret_scrub(out.data);
		if (*files[i].text)
			assert_string_equal(out.data, "<***>");
		secret_forget_all();
		strbuf_release(&out);
		free(expected);
		free(raw);
		remove_file(path);
	}
}

static void test_file_with_nul(void **state)
{
	char *path = write_file("a\0b", 3, 0600);
	char *raw = xstrfmt("${file:%s}", path);
	struct strbuf out = STRBUF_INIT;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(expand_text(&out, raw, &err), -ERROR_CONFIG);
	assert_non_null(strstr(err.message, "holds a NUL byte"));
	strbuf_release(&out);
	free(raw);
	remove_file(path);
}

static void assert_why(const char *found, const char *expected)
{
	assert_int_equal(!found, !expected);
	if (found && !strstr(found, expected))
		fail_msg("%s", found);
}

static void test_mode(void **state)
{
	static const struct {
		mode_t mode;
		const char *exposed, *doubt;
	} modes[] = {
		{ 0600, NULL, NULL },
		{ 0640, "can be read by others (mode 0640)", NULL },
		{ 0604, "run \"chmod 600 ", NULL },
		{ 0622, "can be written by others (mode 0622)",
		  "can be written by others (mode 0622): run \"chmod go-w " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		char *path = write_file("a: 1\n", 5, modes[i].mode);
		struct config_file file;

		assert_int_equal(config_file_load(&file, path, NULL), 0);
		assert_why(file.exposed, modes[i].exposed);
		assert_why(file.doubt, modes[i].doubt);
		assert_string_equal(file.name, path);
		config_file_release(&file);
		remove_file(path);
	}
}

static void check_refused(const char *text, size_t n, const char *why)
{
	struct config_file file;
	struct error err = ERROR_INIT;

	assert_int_equal(config_file_parse(&file, "t", text, n, &err),
			 -ERROR_CONFIG);
	if (!strstr(err.message, why))
		fail_msg("%s", err.message);
}

static void test_limits(void **state)
{
	struct strbuf deep = STRBUF_INIT, large = STRBUF_INIT,
		      wide = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 33; i++)
		strbuf_addstr(&deep, "{a: ");
	for (int i = 0; i < 33; i++)
		strbuf_addstr(&deep, "}");
	check_refused(deep.data, deep.len, "t:1:129: nested too deeply");
	while (large.len <= 1024 * 1024)
		strbuf_addstr(&large, "# a comment\n");
	check_refused(large.data, large.len, "t is larger than 1024 KiB");
	strbuf_addstr(&wide, "a: [");
	for (int i = 0; i <= 10000; i++)
		strbuf_addstr(&wide, "1,");
	strbuf_addstr(&wide, "]\n");
	check_refused(wide.data, wide.len, "too many entries");
	check_refused("a: 1\0\n", 6, "t:1:5: a NUL character");
	strbuf_release(&deep);
	strbuf_release(&large);
	strbuf_release(&wide);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_file_reference),
		cmocka_unit_test(test_file_with_nul),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

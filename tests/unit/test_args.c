#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/args.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

static int test_nothing(const struct arguments *args, struct error *err)
{
	(void)args;
	(void)err;
	return 0;
}

static const struct flag run_flags[] = {
	{ "watch", 0, FLAG_DURATION, "DURATION", "" },
	{ "max-batches", 'n', FLAG_COUNT, "N", "" },
	{ "full-refresh", 0, FLAG_SWITCH, NULL, "" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

static const struct flag global_flags[] = {
	{ "config", 'c', FLAG_TEXT, "FILE", "" },
	{ "quiet", 'q', FLAG_SWITCH, NULL, "" },
	{ "verbose", 'v', FLAG_SWITCH, NULL, "" },
	{ "help", 'h', FLAG_SWITCH, NULL, "" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

static const struct command run = {
	.name = "run",
	.operands = "[PIPELINE...]",
	.max_operands = OPERANDS_ANY,
	.flags = run_flags,
	.run = test_nothing,
};

static const struct command copy = {
	.name = "copy",
	.operands = "SOURCE DESTINATION",
	.min_operands = 2,
	.max_operands = 2,
	.flags = global_flags + 4,
	.run = test_nothing,
};

static const struct command *const commands[] = { &run, &copy, NULL };
static const struct syntax syntax = { commands, global_flags };

struct args_case {
	const char *line; /* words, split at spaces */
	const char
		*expected; /* as args_show() says it, or "!" + message part */
};

static const struct args_case cases[] = {
	{ "run", "run" },
	{ "", "-" },
	{ "run a b", "run a b" },
	{ "-c x.yaml run", "run config=x.yaml" },
	{ "run -c x.yaml a", "run config=x.yaml a" },
	{ "run -cx.yaml", "run config=x.yaml" },
	{ "--config=x=y run", "run config=x=y" },
	{ "-qv run", "run quiet verbose" },
	{ "-qcx.yaml run", "run quiet config=x.yaml" },
	{ "run a --watch 30s b", "run watch=30000000 a b" },
	{ "run --watch=1m30s", "run watch=90000000" },
	{ "run --max-batches 3 --full-refresh",
	  "run max-batches=3 full-refresh" },
	{ "run -n3", "run max-batches=3" },
	{ "run -- --watch -q", "run --watch -q" },
	{ "run -", "run -" },
	{ "copy a b", "copy a b" },
	{ "copy --help", "copy help" },
	{ "rnu", "!unknown command \"rnu\" (did you mean \"run\"?)" },
	{ "zzzzzzzz", "!\"tidemark help\" lists" },
	{ "run --wacth 3s", "!unknown flag --wacth (did you mean --watch?)" },
	{ "run --confg x", "!(did you mean --config?)" },
	{ "run --dry-rum", "!unknown flag --dry-rum (see" },
	{ "copy --watch 3s a b", "!unknown flag --watch" },
	{ "--watch 3s run", "!tidemark run --watch" },
	{ "run -x", "!unknown flag -x" },
	{ "run --watch", "!--watch needs a value: --watch DURATION" },
	{ "run --watch=", "!--watch needs a value" },
	{ "run --watch soon", "!takes a duration such as 500ms" },
	{ "run --watch 0s", "!takes a duration" },
	{ "run --max-batches 0", "!takes a whole number from 1, not \"0\"" },
	{ "run --max-batches -1", "!takes a whole number from 1, not \"-1\"" },
	{ "run --full-refresh=yes", "!--full-refresh takes no value" },
	{ "run -c a -c b", "!--config is given twice" },
	{ "copy a", "!copy needs SOURCE DESTINATION" },
	{ "copy a b c", "!unexpected argument \"c\"" },
};

static void args_show(const struct arguments *a, struct strbuf *sb)
{
	strbuf_addstr(sb, a->command ? a->command->name : "-");
	for (size_t i = 0; i < a->n_flags; i++) {
		const struct flag_value *v = &a->flags[i];

		strbuf_addf(sb, " %s", v->flag->name);
		if (v->flag->kind == FLAG_TEXT)
			strbuf_addf(sb, "=%s", v->text);
		else if (v->flag->kind != FLAG_SWITCH)
			strbuf_addf(sb, "=%lld", (long long)v->number);
	}
	for (size_t i = 0; i < a->operands.n; i++)
		strbuf_addf(sb, " %s", a->operands.items[i]);
}

static int args_split(char *line, char **argv)
{
	int argc = 0;
	char *rest;

	argv[argc++] = (char *)"tidemark";
	for (char *word = strtok_r(line, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	return argc;
}

static void args_check(const struct args_case *c)
{
	char *line = xstrdup(c->line), *argv[16];
	struct strbuf got = STRBUF_INIT;
	struct arguments a;
	struct error err = ERROR_INIT;
	int argc = args_split(line, argv);
	int code = arguments_parse(&a, &syntax, argc, argv, &err);

	if (!code)
		args_show(&a, &got);
	if (*c->expected != '!') {
		assert_int_equal(code, 0);
		assert_string_equal(got.data, c->expected);
	} else if (code != -ERROR_CONFIG ||
		   !strstr(err.message, c->expected + 1)) {
		fail_msg("\"%s\": %d \"%s\", expected \"%s\"", c->line, code,
			 code ? err.message : got.data, c->expected + 1);
	}
	arguments_release(&a);
	strbuf_release(&got);
	free(line);
}

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		args_check(&cases[i]);
}

static void test_lookup(void **state)
{
	char *argv[] = { (char *)"tidemark", (char *)"run", (char *)"--watch",
			 (char *)"2s" };
	struct arguments a;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(arguments_parse(&a, &syntax, 4, argv, &err), 0);
	assert_true(arguments_has(&a, "watch"));
	assert_false(arguments_has(&a, "quiet"));
	assert_string_equal(arguments_text(&a, "watch"), "2s");
	assert_null(arguments_text(&a, "config"));
	assert_int_equal(arguments_number(&a, "watch"), 2000000);
	assert_int_equal(arguments_number(&a, "max-batches"), 0);
	arguments_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_lookup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/shell.h"
#include "tests/unit/unit.h"

static const char *const words[] = {
	"orders",
	"public.orders=1",
	"two words",
	"O'Brien $HOME",
	"'; echo no; '",
	"{\"key\":[\"`id`\"]}",
	"back\\slash",
	"\"",
	"'",
	"",
};

/* A shell reads the word as it was before. */
static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct strbuf line = STRBUF_INIT;
		char out[100];
		size_t n;
		FILE *shell;

		strbuf_addstr(&line, "printf %s ");
		shell_add_word(&line, words[i]);
		shell = popen(line.data, "r");
		assert_non_null(shell);
		n = fread(out, 1, sizeof(out) - 1, shell);
		out[n] = '\0';
		assert_int_equal(pclose(shell), 0);
		assert_string_equal(out, words[i]);
		strbuf_release(&line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

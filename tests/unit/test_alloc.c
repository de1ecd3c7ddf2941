#include "core/base/alloc.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/strbuf.h"
#include "tests/unit/unit.h"

/* More than any machine has. */
#define TOO_MUCH (SIZE_MAX / 4)

/* Else the sanitizer ends the program by itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:print_summary=0";
}

/* The exit status of a process that does `step`, and what it says. */
static int run(void (*step)(void), struct strbuf *said)
{
	char piece[512];
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		dup2(fds[1], STDERR_FILENO);
		step();
		_exit(99);
	}
	close(fds[1]);
	while ((n = read(fds[0], piece, sizeof(piece))) > 0)
		strbuf_add(said, piece, (size_t)n);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void take_too_much(void)
{
	xmalloc(TOO_MUCH);
}

static void overflow(void)
{
	xreallocarray(NULL, SIZE_MAX / 2, 3);
}

static void json_takes_too_much(void)
{
	alloc_install();
	json_stringn_nocheck("", TOO_MUCH);
}

static void test_out_of_memory_ends_the_program(void **state)
{
	static void (*const steps[])(void) = { take_too_much, overflow,
					       json_takes_too_much };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct strbuf said = STRBUF_INIT;

		assert_int_equal(run(steps[i], &said), 1);
		assert_non_null(strstr(said.data, "tidemark: out of memory"));
		strbuf_release(&said);
	}
}

static void test_grow(void **state)
{
	size_t capacity = 0;
	int *items = xgrow(NULL, &capacity, 1, sizeof(*items));

	(void)state;
	assert_int_equal(capacity, 8);
	items = xgrow(items, &capacity, 8, sizeof(*items));
	assert_int_equal(capacity, 8);
	items = xgrow(items, &capacity, 9, sizeof(*items));
	assert_int_equal(capacity, 16);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out_of_memory_ends_the_program),
		cmocka_unit_test(test_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

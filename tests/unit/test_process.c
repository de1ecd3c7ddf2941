/* Processes that run, and processes that are gone. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/process.h"
#include "tests/unit/unit.h"

static int64_t ended_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void test_start(void **state)
{
	char *own = process_start(getpid());
	char *other = xstrfmt("%s0", own);
	int64_t gone = ended_child();

	(void)state;
	assert_true(*own);
	assert_false(process_is_gone(getpid(), own));
	assert_false(process_is_gone(getpid(), ""));
	assert_true(process_is_gone(getpid(), other));
	assert_true(process_is_gone(gone, own));
	assert_true(process_is_gone(0, own));
	free(own);
	free(other);
}

/* Only of a process of this boot and this container is it ever said that it is
 * gone. */
static void test_mark(void **state)
{
	char *own = process_mark();
	char *reused = xstrfmt("%s0", own), *boot = xstrfmt("x%s", own);
	char *container = xstrdup(own);
	int64_t gone = ended_child();

	(void)state;
	*strchr(container, ':') = ';';
	assert_false(process_mark_is_gone(getpid(), own));
	assert_true(process_mark_is_gone(gone, own));
	assert_true(process_mark_is_gone(getpid(), reused));
	assert_false(process_mark_is_gone(gone, boot));
	assert_false(process_mark_is_gone(gone, container));
	assert_false(process_mark_is_gone(gone, ""));
	free(own);
	free(reused);
	free(boot);
	free(container);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

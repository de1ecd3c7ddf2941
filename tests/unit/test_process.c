/* Processes that run, and processes that are gone. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Its parent has not asked for its end yet. */
static void test_zombie(void **state)
{
	siginfo_t info;
	char *start;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	start = process_start(pid);
	assert_true(*start);
	assert_true(process_is_gone(pid, start));
	assert_true(process_is_gone(pid, ""));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	free(start);
}

static void *sleeper(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

/* Its first thread has ended, and looks like a zombie. */
static void leave_a_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleeper, NULL))
		_exit(1);
	pthread_exit(NULL);
}

static char state_of(pid_t pid)
{
	char *path = xstrfmt("/proc/%d/stat", (int)pid), line[512] = "";
	FILE *file = fopen(path, "r");
	const char *end;

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	free(path);
	end = strrchr(line, ')');
	assert_non_null(end);
	return end[2];
}

static void test_zombie_with_a_thread(void **state)
{
	pid_t pid = fork();
	bool gone;

	(void)state;
	if (!pid)
		leave_a_thread();
	while (state_of(pid) != 'Z')
		usleep(1000);
	gone = process_is_gone(pid, "");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(gone);
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
		cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_zombie_with_a_thread),
		cmocka_unit_test(test_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

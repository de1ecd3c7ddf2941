#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/stop.h"
#include "core/base/strbuf.h"
#include "tests/unit/unit.h"

/* Changes of these tests stay with the process, so each runs in its own. */
static int in_child(void (*run)(void), struct strbuf *output)
{
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		dup2(fds[1], STDERR_FILENO);
		alarm(20);
		run();
		_exit(0);
	}
	close(fds[1]);
	for (;;) {
		char part[256];
		ssize_t n = read(fds[0], part, sizeof(part));

		if (n <= 0)
			break;
		strbuf_add(output, part, (size_t)n);
	}
	close(fds[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void run_one_signal(void)
{
	struct pollfd fd;
	int64_t start = clock_monotonic_us();

	stop_install_handlers();
	fd = (struct pollfd){ .fd = stop_fd(), .events = POLLIN };
	if (stop_requested() || clock_sleep_us(1000) || poll(&fd, 1, 0))
		_exit(1);
	raise(SIGTERM);
	if (!stop_requested() || !clock_sleep_us(60 * US_PER_SECOND) ||
	    poll(&fd, 1, 0) != 1)
		_exit(2);
	if (clock_monotonic_us() - start > 50 * US_PER_SECOND)
		_exit(3);
}

static void run_two_signals(void)
{
	stop_install_handlers();
	raise(SIGINT);
	raise(SIGTERM);
	_exit(1);
}

static void run_request_then_signal(void)
{
	stop_install_handlers();
	stop_request();
	raise(SIGINT);
	_exit(stop_requested() ? 0 : 1);
}

static void test_signals(void **state)
{
	struct strbuf out = STRBUF_INIT;

	(void)state;
	assert_int_equal(in_child(run_one_signal, &out), 0);
	assert_int_equal(in_child(run_two_signals, &out), 8);
	assert_int_equal(in_child(run_request_then_signal, &out), 0);
	strbuf_release(&out);
}

static void run_log_text(void)
{
	secret_add("hunter22");
	log_debug("unseen");
	log_info("moved %d rows", 7);
	log_set_pipeline("orders");
	log_warn("two\nlines \x1b[31m hunter22 \xff");
	log_set_level(LOG_SILENT);
	log_error("unseen");
	log_set_pipeline("");
}

static void run_log_json(void)
{
	log_set_json(true);
	log_set_pipeline("orders");
	log_info("a \"quote\"\n\xff");
	log_set_pipeline(NULL);
}

static void test_log(void **state)
{
	struct strbuf out = STRBUF_INIT;

	(void)state;
	assert_int_equal(in_child(run_log_text, &out), 0);
	assert_non_null(strstr(out.data, "Z info moved 7 rows\n"));
	assert_non_null(
		strstr(out.data, "Z warn orders: two lines  [31m *** ?\n"));
	assert_null(strstr(out.data, "unseen"));
	strbuf_reset(&out);
	assert_int_equal(in_child(run_log_json, &out), 0);
	assert_non_null(strstr(out.data, "\"level\":\"info\",\"pipeline\":"
					 "\"orders\",\"run_id\":\"\","
					 "\"attempt_id\":\"\",\"event\":\"\","
					 "\"code\":\"\",\"message\":"
					 "\"a \\\"quote\\\"\\n?\"}\n"));
	strbuf_release(&out);
}

static int try_failpoints(const char *text, struct error *err)
{
	setenv("TIDEMARK_FAILPOINTS", text, 1);
	return failpoint_init(err);
}

#ifdef TIDEMARK_FAILPOINTS
static void run_error_each_time(void)
{
	struct error err = ERROR_INIT;

	if (try_failpoints("mid_load=error,page_end=error@2", &err))
		_exit(1);
	if (failpoint("mid_load", &err) != -ERROR_TRANSIENT ||
	    strcmp(err.message, "failpoint mid_load") != 0)
		_exit(2);
	error_clear(&err);
	if (failpoint("mid_load", &err) != -ERROR_TRANSIENT)
		_exit(3);
	error_clear(&err);
	if (failpoint("page_end", &err) ||
	    failpoint("page_end", &err) != -ERROR_TRANSIENT)
		_exit(4);
	error_clear(&err);
	if (failpoint("page_end", &err) || failpoint("first_row", &err))
		_exit(5);
}

static void run_kill_third(void)
{
	if (try_failpoints("after_merge=kill@3", NULL))
		_exit(1);
	if (failpoint("after_merge", NULL) || failpoint("after_merge", NULL))
		_exit(2);
	failpoint("after_merge", NULL);
	_exit(3);
}

static void run_exit(void)
{
	if (try_failpoints("commit_sent=exit", NULL))
		_exit(7);
	failpoint("commit_sent", NULL);
	_exit(8);
}

static void run_note(void)
{
	struct error err = ERROR_INIT;

	if (try_failpoints("mid_page=note@2", NULL))
		_exit(7);
	if (failpoint("mid_page", &err) || failpoint("mid_page", &err))
		_exit(8);
}

static void test_failpoints(void **state)
{
	static const char *const bad[][2] = {
		{ "after_merg=kill", "did you mean \"after_merge\"" },
		{ "after_merge=kil", "did you mean \"kill\"" },
		{ "after_merge", "expected name=action" },
		{ "after_merge=kill@0", "is not a count" },
		{ "after_merge=kill@x", "is not a count" },
		{ "mid_load=kill,mid_load=error", "given twice" },
	};
	struct strbuf out = STRBUF_INIT;

	(void)state;
	assert_int_equal(in_child(run_error_each_time, &out), 0);
	assert_int_equal(in_child(run_kill_third, &out), -SIGKILL);
	assert_int_equal(in_child(run_exit, &out), 1);
	assert_int_equal(in_child(run_note, &out), 0);
	assert_non_null(strstr(out.data, "failpoint mid_page: passed"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(try_failpoints(bad[i][0], &err),
				 -ERROR_CONFIG);
		assert_non_null(strstr(err.message, bad[i][1]));
	}
	strbuf_release(&out);
}
#else
static void test_failpoints(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(try_failpoints("", &err), 0);
	assert_int_equal(try_failpoints("mid_load=kill", &err), -ERROR_CONFIG);
	assert_non_null(strstr(err.message, "built without failpoints"));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_failpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

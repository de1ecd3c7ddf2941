/* Libraries that are loaded when they are needed. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/library.h"
#include "tests/unit/unit.h"

static void *table[LIBRARY_PAGE / sizeof(void *)]
	__attribute__((aligned(LIBRARY_PAGE)));

static struct library library_of(const char *soname, const char *const *names)
{
	return (struct library){ .soname = soname,
				 .package = "some-package",
				 .names = names,
				 .n = 1,
				 .table = table,
				 .bytes = sizeof(table) };
}

static void assert_refused(struct library *l, const char *what)
{
	struct error err = ERROR_INIT;

	/* Also at the second call. */
	for (int i = 0; i < 2; i++) {
		error_clear(&err);
		assert_int_equal(library_load(l, &err), -ERROR_CONFIG);
		assert_non_null(strstr(err.message, l->soname));
		assert_non_null(strstr(err.message, what));
		assert_non_null(strstr(err.message, "some-package"));
	}
}

static void test_missing(void **state)
{
	static const char *const names[] = { "none" };
	struct library l = library_of("libtidemark-none.so.1", names);

	(void)state;
	assert_refused(&l, "cannot open shared object file");
}

static void test_without_the_function(void **state)
{
	static const char *const names[] = { "tidemark_has_no_such_function" };
	struct library l = library_of("libc.so.6", names);

	(void)state;
	assert_refused(&l, names[0]);
}

/* Whoever could write there could have any function called. */
static void assert_read_only(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(void *volatile *)table = NULL;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void test_loaded(void **state)
{
	static const char *const names[] = { "getppid" };
	struct library l = library_of("libc.so.6", names);
	struct error err = ERROR_INIT;
	pid_t (*function)(void);

	(void)state;
	assert_int_equal(library_load(&l, &err), 0);
	memcpy(&function, table, sizeof(function));
	assert_int_equal(function(), getppid());
	assert_int_equal(library_load(&l, &err), 0);
	assert_read_only();
}

/* One that was linked needs nothing. */
static void test_linked(void **state)
{
	struct library l = { .soname = NULL };
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(library_load(&l, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_without_the_function),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_linked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

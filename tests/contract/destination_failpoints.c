/* A failure at each named point of a load: as if the batch had never been
 * begun, and the next session loads it. Skipped by builds without failpoints.
 */
#include "destination_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"

#define DAY(d) "2026-01-" d " 12:00:00+00"
#define ALL    "SELECT id, name FROM orders ORDER BY id;"

#define NO_FAILPOINTS 77

static const char *const load_points[] = {
	"stage_created", "mid_load",	 "stage_full",	     "before_merge",
	"after_delete",	 "after_merge",	 "before_watermark", "after_watermark",
	"commit_sent",	 "commit_acked",
};

/* In a process of its own: a session that ends at the point, if it passes
 * there. */
static void failpoint_session(struct world *w, const char *point,
			      const char *rows, int n)
{
	struct error err = ERROR_INIT;
	char *text = xstrfmt("%s=kill@1", point);
	char *mark = xstrfmt("{\"value\":\"%d\"}", n);
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("TIDEMARK_FAILPOINTS", text, 1);
		if (failpoint_init(&err))
			_exit(NO_FAILPOINTS);
		world_begin(w);
		world_load(w, rows, mark);
		_exit(0);
	}
	free(text);
	free(mark);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FAILPOINTS)
		skip();
}

/* The rows after the `n`th batch. Each batch changes row 0, leaves row 1 as it
 * is, and adds one row. */
static char *failpoint_rows(int n)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "0|v%d\n1|b", n);
	for (int i = 1; i <= n; i++)
		strbuf_addf(&sb, "\n%d|c", i + 1);
	return strbuf_detach(&sb);
}

static char *failpoint_batch(int n)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "0|v%d|2026-01-%02d 12:00:00+00\n1|b|" DAY("01"), n,
		    n + 1);
	if (n)
		strbuf_addf(&sb, "\n%d|c|" DAY("02"), n + 1);
	return strbuf_detach(&sb);
}

/* The next session is the one that waits for what the killed one's server
 * process still does. True: the batch is in. */
static bool failpoint_all_or_nothing(struct world *w, int n)
{
	char *before = failpoint_rows(n - 1), *after = failpoint_rows(n);
	char *mark = xstrfmt("{\"value\":\"%d\"}", n);
	bool in;

	assert_int_equal(world_begin(w), 0);
	world_close(w);
	in = !strcmp(world_mark(w), mark);
	/* Before its mark, but whole. */
	if (!in && w->quirks->views)
		in = !strcmp(world_query(w, ALL), after);
	assert_string_equal(world_query(w, ALL), in ? after : before);
	free(before);
	free(after);
	free(mark);
	return in;
}

/* The same batch again, twice: what of it is missing goes in. */
static void failpoint_again(struct world *w, int n, bool in)
{
	char *batch = failpoint_batch(n), *rows = failpoint_rows(n);
	char *mark = xstrfmt("{\"value\":\"%d\"}", n);

	assert_int_equal(world_begin(w), 0);
	for (int again = 0; again < 2; again++) {
		if (world_load(w, batch, mark))
			fail_msg("load: %s", w->err.message);
		assert_int_equal(w->counts.inserted + w->counts.updated,
				 in || again ? 0 : 2);
		assert_int_equal(w->counts.unchanged, in || again ? 3 : 1);
	}
	world_close(w);
	assert_string_equal(world_query(w, ALL), rows);
	assert_string_equal(world_mark(w), mark);
	free(batch);
	free(rows);
	free(mark);
}

static void failpoint_check_all(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);
	char *batch = failpoint_batch(0);

	world_schema(w, "id:int64! name:text at:timestamptz@");
	w->target.table = "orders";
	w->target.mode = mode;
	world_sync(w, batch, "{\"value\":\"0\"}");
	free(batch);
	for (int i = 0; i < (int)ARRAY_SIZE(load_points); i++) {
		batch = failpoint_batch(i + 1);
		failpoint_session(w, load_points[i], batch, i + 1);
		free(batch);
		failpoint_again(w, i + 1, failpoint_all_or_nothing(w, i + 1));
	}
}

static void test_failpoints_upsert(void **state)
{
	failpoint_check_all(state, LOAD_UPSERT);
}

static void test_failpoints_delete_insert(void **state)
{
	failpoint_check_all(state, LOAD_DELETE_INSERT);
}

static void test_failpoints_append(void **state)
{
	failpoint_check_all(state, LOAD_APPEND);
}

static void failpoint_refresh(struct world *w, const char *point,
			      const char *rows, const char *mark)
{
	struct error err = ERROR_INIT;
	char *text = xstrfmt("%s=kill@1", point);
	bool armed = strcmp(point, "none") != 0;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("TIDEMARK_FAILPOINTS", text, 1);
		if (armed && failpoint_init(&err))
			_exit(NO_FAILPOINTS);
		if (world_begin(w) || world_load(w, rows, "{}") ||
		    world_finish(w, mark)) {
			fprintf(stderr, "# %s\n", w->err.message);
			_exit(1);
		}
		_exit(0);
	}
	free(text);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FAILPOINTS)
		skip();
	assert_true(armed || status == 0);
}

/* Nothing of a preparation that ends halfway is left; or where DDL commits, it
 * is known what is. */
static void test_failpoint_prepare(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	world_sync(w, "1|a", "{\"value\":\"1\"}");
	world_schema(w, "id:int64! name:text x:int32 y:int32");
	failpoint_session(w, "mid_alter", "", 2);
	if (w->quirks->ddl_commits) {
		/* The columns may be there: all rows are read for them. */
		assert_string_equal(world_mark(w), w->quirks->null);
	} else {
		assert_string_equal(world_query(w, "SELECT * FROM orders;"),
				    "1|a");
		assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	}
	world_sync(w, "1|a|2|3", "{}");
	assert_string_equal(
		world_query(w, "SELECT id, name, x, y FROM orders;"),
		"1|a|2|3");
}

/* A refresh that ends at any point of its swap leaves the old table or the
 * new one, and the next one works. */
static void test_failpoints_finish(void **state)
{
	struct world *w = suite_world(state);
	bool swapped;

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	w->target.mode = LOAD_REPLACE;
	w->target.refresh = true;
	for (size_t i = 0; i < ARRAY_SIZE(load_points); i++) {
		failpoint_refresh(w, "none", "1|a", "{\"value\":\"1\"}");
		failpoint_refresh(w, load_points[i], "2|b",
				  "{\"value\":\"2\"}");
		assert_int_equal(world_begin(w), 0);
		world_close(w);
		swapped = strstr(world_mark(w), "\"2\"") != NULL;
		if (!swapped && w->quirks->views)
			swapped = !strcmp(world_query(w, ALL), "2|b");
		assert_string_equal(world_query(w, ALL),
				    swapped ? "2|b" : "1|a");
	}
}

const struct CMUnitTest suite_failpoints[] = {
	SUITE_TEST(test_failpoints_upsert),
	SUITE_TEST(test_failpoints_delete_insert),
	SUITE_TEST(test_failpoints_append),
	SUITE_TEST(test_failpoint_prepare),
	SUITE_TEST(test_failpoints_finish),
};
const size_t suite_failpoints_n = ARRAY_SIZE(suite_failpoints);

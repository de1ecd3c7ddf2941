/* The fence: whoever has a newer lease writes, and nobody else any more. */
#include "destination_suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "destination_client.h"

static const char *fence_all(struct world *w)
{
	return world_query(w, "SELECT id, name FROM orders ORDER BY id;");
}

static int fence_stored(struct world *w)
{
	const char *fence =
		world_query(w, "SELECT fence FROM _tidemark_watermark "
			       "WHERE pipeline = 'contract';");

	return (int)strtol(fence, NULL, 10);
}

static struct world *fence_world(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	w->target.writer.fence = 5;
	world_sync(w, "1|a", "{\"value\":\"1\"}");
	return w;
}

/* Another handle on the same place; the one it had is given back. */
static struct destination *fence_swap(struct world *w, struct destination *d)
{
	struct destination *had = w->destination;

	w->destination = d;
	return had;
}

static void test_fence_is_written(void **state)
{
	struct world *w = fence_world(state);

	assert_int_equal(fence_stored(w), 5);
	w->target.writer.fence = 7;
	/* Nothing to load, nothing to claim: nothing is written. */
	assert_int_equal(world_begin(w), 0);
	world_close(w);
	assert_int_equal(fence_stored(w), 5);
	world_sync(w, "2|b", "{\"value\":\"2\"}");
	assert_int_equal(fence_stored(w), 7);
}

static void test_claim_raises_the_fence(void **state)
{
	struct world *w = fence_world(state);

	w->target.writer = (struct writer){ .fence = 9, .claim = true };
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(w->seen.fence, 9);
	world_close(w);
	assert_int_equal(fence_stored(w), 9);
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	assert_string_equal(fence_all(w), "1|a");
	world_sync(w, "2|b", "{\"value\":\"2\"}");
	assert_string_equal(fence_all(w), "1|a\n2|b");
}

static void check_refused(struct world *w, int rc)
{
	assert_int_equal(rc, ERROR_STATE);
	if (!strstr(w->err.message, "taken over"))
		fail_msg("%s", w->err.message);
}

/* It comes late: all steps are closed to it, whatever they would do. */
static void test_older_writer_is_refused(void **state)
{
	struct world *w = fence_world(state);

	w->target.writer.fence = 4;
	check_refused(w, world_begin(w));
	w->target.writer.claim = true;
	check_refused(w, world_begin(w));
	w->target.writer.claim = false;
	w->target.refresh = true;
	check_refused(w, world_begin(w));
	w->target.refresh = false;
	world_close(w);
	world_schema(w, "id:int64! name:text more:text");
	check_refused(w, world_begin(w));
	world_close(w);
	assert_int_equal(fence_stored(w), 5);
	assert_string_equal(world_query(w, "SELECT * FROM orders;"), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

/* It was there first, and has slept. */
static void test_overtaken_writer_is_refused(void **state)
{
	struct world *w = fence_world(state);
	struct destination *first;

	if (!w->quirks->other_writers)
		skip();
	assert_int_equal(world_begin(w), 0);
	first = fence_swap(w, NULL);
	w->target.writer = (struct writer){ .fence = 6, .claim = true };
	assert_int_equal(world_begin(w), 0);
	world_close(w);
	w->target.writer = (struct writer){ .fence = 5 };
	fence_swap(w, first);
	check_refused(w, world_load(w, "2|late", "{\"value\":\"2\"}"));
	check_refused(w, world_load(w, "", "{\"value\":\"2\"}"));
	world_close(w);
	assert_string_equal(fence_all(w), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	assert_int_equal(fence_stored(w), 6);
}

/* Its stage goes as well. */
static void test_overtaken_refresh_is_refused(void **state)
{
	struct world *w = fence_world(state);
	struct target refresh = w->target, next = w->target;
	struct destination *first, *second;

	if (!w->quirks->other_writers)
		skip();
	refresh.refresh = true;
	w->target = refresh;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|b", "{}"), 0);
	/* Each handle keeps the target that it was prepared for. */
	first = fence_swap(w, NULL);
	next.writer = (struct writer){ .fence = 6, .claim = true };
	world_open(w);
	assert_int_equal(w->ops->prepare(w->destination, &next, &w->err), 0);
	checkpoint_release(&w->seen);
	checkpoint_init(&w->seen);
	assert_int_equal(
		w->ops->recover(w->destination, &next, &w->seen, &w->err), 0);
	second = fence_swap(w, first);
	w->target.writer.fence = 5;
	assert_int_equal(world_load(w, "2|b", "{}"), ERROR_STATE);
	assert_int_equal(world_finish(w, "{}"), ERROR_STATE);
	world_close(w);
	fence_swap(w, second);
	w->target.writer.fence = 6;
	assert_int_equal(world_load(w, "3|c", "{\"value\":\"3\"}"), 0);
	world_close(w);
	assert_string_equal(fence_all(w), "1|a\n3|c");
	assert_string_equal(world_mark(w), "{\"value\":\"3\"}");
}

/* A request of somebody else's, while this program goes on. */
struct fence_rival {
	struct world *w;
	struct strbuf output;
	int status;
};

static void *fence_rival_main(void *arg)
{
	struct fence_rival *r = arg;

	r->status = client_run(r->w->quirks, r->w->place,
			       r->w->quirks->slow_fence, &r->output);
	return NULL;
}

/* The rival's transaction is under way when the load begins, and is over before
 * the load can write. A look at the fence before the load's own transaction
 * would miss it. */
static void test_fence_is_read_inside(void **state)
{
	struct world *w = fence_world(state);
	struct fence_rival rival = { w, STRBUF_INIT, -1 };
	pthread_t thread;
	int rc;

	if (!w->quirks->slow_fence)
		skip();
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(
		pthread_create(&thread, NULL, fence_rival_main, &rival), 0);
	usleep(500000);
	rc = world_load(w, "2|late", "{\"value\":\"2\"}");
	pthread_join(thread, NULL);
	if (rival.status)
		fail_msg("%s", rival.output.data);
	strbuf_release(&rival.output);
	check_refused(w, rc);
	world_close(w);
	assert_string_equal(fence_all(w), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	assert_int_equal(fence_stored(w), 99);
}

static int fence_is_over(void *ctx, struct error *err)
{
	++*(int *)ctx;
	return error_set(err, ERROR_STATE, "planted: over");
}

/* The lease has run out, though nobody else has been here. */
static void test_lease_that_is_over(void **state)
{
	struct world *w = fence_world(state);
	int asked = 0;

	assert_int_equal(world_begin(w), 0);
	/* The handle reads the target, which is the world's. */
	w->target.writer.check = fence_is_over;
	w->target.writer.ctx = &asked;
	assert_int_equal(world_load(w, "1|b\n2|late", "{\"value\":\"2\"}"),
			 ERROR_STATE);
	assert_int_equal(asked, 1);
	assert_int_equal(world_load(w, "", "{\"value\":\"2\"}"), ERROR_STATE);
	world_close(w);
	assert_string_equal(fence_all(w), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	w->target.refresh = true;
	w->target.writer.check = NULL;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|b", "{}"), 0);
	w->target.writer.check = fence_is_over;
	assert_int_equal(world_finish(w, "{}"), ERROR_STATE);
	world_close(w);
	assert_string_equal(fence_all(w), "1|a");
}

static int fence_forget(struct world *w, const struct target *target)
{
	return w->ops->forget(w->destination, target, &w->err);
}

/* Its own row goes, and no other; not by whoever was overtaken; and who comes
 * after that finds that it is gone. */
static void test_row_is_forgotten(void **state)
{
	struct world *w = fence_world(state);
	struct target other = w->target;

	assert_int_equal(world_begin(w), 0);
	other.pipeline = "another";
	assert_int_equal(fence_forget(w, &other), 0);
	world_close(w);
	other = w->target;
	other.writer.fence = 4;
	world_open(w); /* not prepared */
	assert_int_equal(fence_forget(w, &other), 0);
	world_close(w);
	assert_int_equal(fence_stored(w), 5);
	assert_int_equal(world_begin(w), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fence_forget(w, &w->target), 0);
	assert_int_equal(world_load(w, "2|b", "{\"value\":\"2\"}"),
			 ERROR_STATE);
	world_close(w);
	assert_int_equal(world_begin(w), 0);
	world_close(w);
	world_open(w);
	assert_int_equal(fence_forget(w, &w->target), 0);
	world_close(w);
	assert_string_equal(
		world_query(w, "SELECT pipeline FROM _tidemark_watermark;"),
		"");
	assert_string_equal(fence_all(w), "1|a");
}

/* A successor gets the name of the old session and ends it. The old session has
 * the lock of a refresh, and the next one does not wait for it. */
static void test_predecessor_is_ended(void **state)
{
	struct world *w = fence_world(state);
	struct destination *first;
	char *session;

	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	session = xstrdup(w->ops->session(w->destination));
	if (!w->quirks->variable || w->quirks->sessionless) {
		assert_string_equal(session, "");
		free(session);
		return;
	}
	assert_true(*session);
	first = fence_swap(w, NULL);
	w->target.writer = (struct writer){ .fence = 6,
					    .claim = true,
					    .predecessor = session };
	assert_int_equal(world_begin(w), 0);
	assert_string_not_equal(session, w->ops->session(w->destination));
	/* Again, when it is gone: no reason to fail. */
	assert_int_equal(world_begin(w), 0);
	world_close(w);
	fence_swap(w, first);
	assert_int_equal(world_load(w, "2|late", "{\"value\":\"2\"}"),
			 ERROR_TRANSIENT);
	world_close(w);
	assert_string_equal(fence_all(w), "1|a");
	free(session);
}

static void fence_others(struct world *w, const char *expected)
{
	struct strlist found = STRLIST_INIT;
	struct strbuf text = STRBUF_INIT;
	int rc = w->ops->others(w->destination, &w->target, &found, &w->err);

	if (rc)
		fail_msg("%s", w->err.message);
	for (size_t i = 0; i < found.n; i++)
		strbuf_addf(&text, "%s;", found.items[i]);
	assert_string_equal(text.len ? text.data : "", expected);
	strbuf_release(&text);
	strlist_release(&found);
}

/* `others` names pipelines with a mark of this table, whether it is prepared or
 * not. It names none for another table, and none once the mark was reset. */
static void others_are_named(struct world *w)
{
	const struct target own = w->target;
	struct target reset = own;

	world_open(w);
	fence_others(w, ""); /* there is no table */
	world_close(w);
	world_sync(w, "1|a", "{\"value\":\"1\"}");
	w->target.pipeline = "b'other";
	world_sync(w, "2|b", "{\"value\":\"2\"}");
	w->target.pipeline = "another";
	world_sync(w, "3|c", "{\"value\":\"3\"}");
	w->target.table = "elsewhere";
	w->target.pipeline = "c";
	world_sync(w, "1|a", "{\"value\":\"4\"}");
	w->target = own;
	assert_int_equal(world_begin(w), 0);
	fence_others(w, "another;{\"value\":\"3\"};b'other;{\"value\":\"2\"};");
	world_close(w);
	world_open(w);
	reset.pipeline = "another";
	assert_int_equal(
		w->ops->set_watermark(w->destination, &reset, NULL, &w->err),
		0);
	fence_others(w, "b'other;{\"value\":\"2\"};");
	world_close(w);
}

static void test_others_are_named(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	others_are_named(w);
}

static void test_others_that_append(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	w->target.mode = LOAD_APPEND;
	others_are_named(w);
}

const struct CMUnitTest suite_fence[] = {
	SUITE_TEST(test_fence_is_written),
	SUITE_TEST(test_claim_raises_the_fence),
	SUITE_TEST(test_older_writer_is_refused),
	SUITE_TEST(test_overtaken_writer_is_refused),
	SUITE_TEST(test_overtaken_refresh_is_refused),
	SUITE_TEST(test_fence_is_read_inside),
	SUITE_TEST(test_lease_that_is_over),
	SUITE_TEST(test_row_is_forgotten),
	SUITE_TEST(test_others_are_named),
	SUITE_TEST(test_others_that_append),
	SUITE_TEST(test_predecessor_is_ended),
};
const size_t suite_fence_n = ARRAY_SIZE(suite_fence);

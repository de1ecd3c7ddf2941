#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/pool_count.h"
#include "tests/unit/unit.h"

struct session {
	struct pool_slot slot;
	atomic_bool used; /* by two at once: never */
};

static atomic_int ended;

static void end(void *session)
{
	struct session *s = session;

	assert_false(atomic_load(&s->used));
	pool_leave(&s->slot);
	free(s);
	atomic_fetch_add(&ended, 1);
}

static void end_file(void *file)
{
	atomic_fetch_add((atomic_int *)file, 1);
}

static unsigned open_count(const char *name)
{
	const struct connection conn = { .name = (char *)name };
	unsigned open;

	pool_lock();
	open = pool_count(&conn)->open;
	pool_unlock();
	return open;
}

static struct connection connection(const char *name, unsigned sessions)
{
	return (struct connection){
		.name = (char *)name,
		.sessions = sessions,
		.connect_timeout_us = 20000,
		.silence_timeout_us = 20000,
	};
}

/* As a client does it. */
static struct session *take(const struct connection *conn, const char *key,
			    struct error *err)
{
	struct pool_slot slot = { .key = NULL };
	void *rested = NULL;
	struct session *s;

	if (pool_take(&slot, conn, key, &rested, err))
		return NULL;
	s = rested;
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->slot = slot;
	}
	assert_false(atomic_exchange(&s->used, true));
	return s;
}

static void give(struct session *s)
{
	assert_true(atomic_exchange(&s->used, false));
	pool_give(&s->slot, s, end);
}

static void close_one(struct session *s)
{
	atomic_store(&s->used, false);
	end(s);
}

static void a_session_serves_the_next_of_its_key(void **state)
{
	const struct connection conn = connection("shop", 0);
	struct error err = ERROR_INIT;
	struct session *a = take(&conn, "a", &err), *b;

	(void)state;
	assert_int_equal(open_count("shop"), 1);
	give(a);
	b = take(&conn, "b", &err);
	assert_ptr_not_equal(a, b);
	assert_int_equal(open_count("shop"), 2);
	assert_ptr_equal(take(&conn, "a", &err), a);
	assert_int_equal(open_count("shop"), 2);
	give(a);
	give(b);
	atomic_store(&ended, 0);
	pool_pause(0);
	assert_int_equal(atomic_load(&ended), 0);
	pool_pause(POOL_SESSION_US);
	assert_int_equal(atomic_load(&ended), 2);
	assert_int_equal(open_count("shop"), 0);
}

static void an_old_session_is_closed(void **state)
{
	const struct connection conn = connection("shop", 0);
	struct error err = ERROR_INIT;
	struct session *a = take(&conn, "a", &err);

	(void)state;
	atomic_store(&ended, 0);
	a->slot.born_us -= POOL_LIFE_US;
	give(a);
	assert_int_equal(atomic_load(&ended), 1);
	assert_int_equal(open_count("shop"), 0);
}

static void keys_tell_all_parts_apart(void **state)
{
	struct connection conn = connection("shop", 0);
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

	(void)state;
	conn.tls_ca = (char *)"x";
	pool_key(&a, &conn);
	conn.tls_ca = NULL;
	conn.tls_cert = (char *)"x";
	pool_key(&b, &conn);
	assert_string_not_equal(a.data, b.data);
	strbuf_reset(&b);
	conn.tls_cert = NULL;
	conn.tls_ca = (char *)"";
	pool_key(&b, &conn);
	conn.tls_ca = NULL;
	strbuf_reset(&a);
	pool_key(&a, &conn);
	assert_string_not_equal(a.data, b.data);
	strbuf_release(&a);
	strbuf_release(&b);
}

static void a_bound_is_kept(void **state)
{
	const struct connection conn = connection("bound", 2);
	struct error err = ERROR_INIT;
	struct session *a = take(&conn, "a", &err), *b = take(&conn, "b", &err);

	(void)state;
	assert_int_equal(pool_most(&conn), 2);
	assert_null(take(&conn, "a", &err));
	assert_int_equal(err.code, ERROR_TRANSIENT);
	assert_non_null(strstr(err.message, "connections.bound.sessions"));
	error_clear(&err);
	/* One at rest under another key makes room. */
	atomic_store(&ended, 0);
	give(b);
	b = take(&conn, "a", &err);
	assert_non_null(b);
	assert_int_equal(atomic_load(&ended), 1);
	assert_int_equal(open_count("bound"), 2);
	close_one(a);
	close_one(b);
	assert_int_equal(open_count("bound"), 0);
}

static void a_replacement_waits_for_nobody(void **state)
{
	const struct connection conn = connection("bound", 1);
	struct error err = ERROR_INIT;
	struct session *lost = take(&conn, "a", &err);
	struct pool_slot slot = { .key = NULL };

	(void)state;
	pool_replace(&slot, &conn, "a");
	assert_int_equal(open_count("bound"), 2);
	close_one(lost);
	pool_leave(&slot);
	pool_leave(&slot);
	assert_int_equal(open_count("bound"), 0);
}

static void a_full_server_is_heeded(void **state)
{
	const struct connection conn = connection("full", 0);
	struct error err = ERROR_INIT;
	struct session *held[3];
	int64_t begun, until = 0, past = 0;

	(void)state;
	log_set_level(LOG_SILENT);
	for (int i = 0; i < 3; i++)
		held[i] = take(&conn, "a", &err);
	assert_int_equal(pool_most(&conn), 0);
	give(held[2]);
	/* Sessions at rest make room, and nothing is known yet. */
	assert_true(pool_full(&conn, &until));
	assert_true(until > 0);
	assert_int_equal(pool_most(&conn), 0);
	held[2] = take(&conn, "a", &err);
	/* A client that was refused has left before it says so. */
	close_one(held[2]);
	while (pool_full(&conn, &past))
		;
	assert_int_equal(pool_most(&conn), 2);
	/* It may be over: a while later one more is tried. */
	begun = clock_monotonic_us();
	held[2] = take(&conn, "a", &err);
	assert_non_null(held[2]);
	assert_true(clock_monotonic_us() - begun >= conn.connect_timeout_us);
	for (int i = 0; i < 3; i++)
		close_one(held[i]);
	log_set_level(LOG_INFO);
}

static void files_rest_for_a_moment(void **state)
{
	atomic_int file = 0;
	int64_t begun;

	(void)state;
	do {
		atomic_store(&file, 0);
		begun = clock_monotonic_us();
		assert_true(pool_file_rest(&file, end_file));
		assert_true(pool_file_rest(&file, end_file));
		pool_file_wake(&file);
		pool_pause(0);
	} while (clock_monotonic_us() - begun >= POOL_FILE_US);
	assert_int_equal(atomic_load(&file), 0);
	assert_true(pool_file_rest(&file, end_file));
	pool_pause(0);
	assert_int_equal(atomic_load(&file), 1);
	/* Nobody pauses: the pool's own thread. */
	assert_true(pool_file_rest(&file, end_file));
	while (atomic_load(&file) < 2)
		usleep(1000);
	pool_pause(0);
	assert_int_equal(atomic_load(&file), 2);
}

#define CROWD  8
#define ROUNDS 400
#define BOUND  3

static void *one_of_many(void *arg)
{
	struct connection conn = connection("crowd", BOUND);
	const char *const keys[] = { "a", "b" };

	conn.silence_timeout_us = 600 * US_PER_SECOND;
	for (int i = 0; i < ROUNDS; i++) {
		struct error err = ERROR_INIT;
		struct session *s = take(&conn, keys[i % 2], &err);

		assert_non_null(s);
		assert_true(open_count("crowd") <= BOUND);
		if (i % 7)
			give(s);
		else
			close_one(s);
		if (i % 50 == 0)
			pool_pause(POOL_SESSION_US);
	}
	return arg;
}

static void many_threads_share(void **state)
{
	pthread_t threads[CROWD];

	(void)state;
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, one_of_many, NULL),
			0);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	pool_pause(POOL_SESSION_US);
	assert_int_equal(open_count("crowd"), 0);
}

static void a_child_has_none(void **state)
{
	const struct connection conn = connection("parent", 0);
	struct error err = ERROR_INIT;
	int status = -1;
	pid_t pid;

	(void)state;
	atomic_store(&ended, 0);
	give(take(&conn, "a", &err));
	pid = fork();
	if (!pid) {
		struct session *s = take(&conn, "a", &err);

		if (!s || open_count("parent") != 1)
			_exit(1);
		give(s);
		pool_end();
		_exit(open_count("parent") ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(atomic_load(&ended), 1);
}

/* The last: nothing rests after it. */
static void the_end_closes_all(void **state)
{
	const struct connection conn = connection("last", 0);
	struct error err = ERROR_INIT;
	struct session *a = take(&conn, "a", &err), *b = take(&conn, "a", &err);
	atomic_int file = 0;

	(void)state;
	atomic_store(&ended, 0);
	give(a);
	assert_true(pool_file_rest(&file, end_file));
	pool_end();
	assert_int_equal(atomic_load(&ended), 1);
	assert_int_equal(atomic_load(&file), 1);
	give(b);
	assert_int_equal(atomic_load(&ended), 2);
	assert_false(pool_file_rest(&file, end_file));
	assert_int_equal(open_count("last"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_serves_the_next_of_its_key),
		cmocka_unit_test(an_old_session_is_closed),
		cmocka_unit_test(keys_tell_all_parts_apart),
		cmocka_unit_test(a_bound_is_kept),
		cmocka_unit_test(a_replacement_waits_for_nobody),
		cmocka_unit_test(a_full_server_is_heeded),
		cmocka_unit_test(files_rest_for_a_moment),
		cmocka_unit_test(many_threads_share),
		cmocka_unit_test(a_child_has_none),
		cmocka_unit_test(the_end_closes_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <pthread.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/seat.h"
#include "core/base/stop.h"
#include "core/sync/rounds/jobs.h"
#include "tests/unit/unit.h"

#define MOST 16

/* A round over jobs that do what the test says, and notes of it. */
static struct world {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job_need needs[MOST];
	size_t n;
	void (*work)(size_t i, struct reach *reach);
	size_t begun[MOST], n_begun; /* in order */
	size_t done[MOST], n_done;
	bool runs[MOST], ended[MOST];
	size_t at_once, most_at_once;
	unsigned sessions; /* at the shop */
	char *skipped[MOST];
} world;

static struct connection shop = { .name = "shop" };
static struct connection warehouse = { .name = "warehouse" };
static struct connection other = { .name = "other" };

static void begin(size_t n, void (*work)(size_t i, struct reach *reach))
{
	for (size_t i = 0; i < MOST; i++)
		free(world.skipped[i]);
	memset(&world, 0, sizeof(world));
	pthread_mutex_init(&world.lock, NULL);
	pthread_cond_init(&world.changed, NULL);
	world.n = n;
	world.work = work;
	for (size_t i = 0; i < n; i++)
		world.needs[i] = (struct job_need){ .source = &shop,
						    .destination = &warehouse,
						    .source_sessions = 2,
						    .destination_sessions = 2 };
}

/* Until something that has to come. */
static void await(bool (*came)(size_t which), size_t which)
{
	pthread_mutex_lock(&world.lock);
	while (!came(which))
		pthread_cond_wait(&world.changed, &world.lock);
	pthread_mutex_unlock(&world.lock);
}

static bool has_ended(size_t i)
{
	return world.ended[i];
}

static bool are_at_once(size_t n)
{
	return world.most_at_once >= n;
}

static bool have_begun(size_t n)
{
	return world.n_begun >= n;
}

static void run(void *ctx, size_t i, struct reach *reach)
{
	(void)ctx;
	pthread_mutex_lock(&world.lock);
	world.begun[world.n_begun++] = i;
	world.runs[i] = true;
	if (++world.at_once > world.most_at_once)
		world.most_at_once = world.at_once;
	pthread_cond_broadcast(&world.changed);
	pthread_mutex_unlock(&world.lock);
	world.work(i, reach);
	pthread_mutex_lock(&world.lock);
	world.at_once--;
	world.runs[i] = false;
	world.ended[i] = true;
	pthread_cond_broadcast(&world.changed);
	pthread_mutex_unlock(&world.lock);
}

static void pass_over(void *ctx, size_t i, const struct error *why)
{
	(void)ctx;
	world.skipped[i] = xstrdup(why->message);
}

static void note_done(void *ctx, size_t i)
{
	(void)ctx;
	world.done[world.n_done++] = i;
}

static unsigned sessions_at(const struct connection *c)
{
	return world.sessions && c == &shop ? world.sessions : 0;
}

static void go(size_t jobs, size_t most)
{
	const struct jobs_terms terms = { .jobs = jobs,
					  .most = most,
					  .sessions = sessions_at };
	const struct jobs_work work = { .run = run,
					.skip = pass_over,
					.done = note_done };

	jobs_run(&terms, &work, world.needs, world.n);
	assert_int_equal(world.n_done, world.n);
}

static void pause_a_little(void)
{
	const struct timespec wait = { 0, 2 * 1000 * 1000 };

	nanosleep(&wait, NULL);
}

static void work_a_little(size_t i, struct reach *reach)
{
	(void)i;
	(void)reach;
	pause_a_little();
}

static void who_waited_longest_begins(void **state)
{
	static const int64_t last[] = { 5, 0, 3, 9, 0, 3 };
	static const size_t expected[] = { 1, 4, 2, 5, 0, 3 };

	(void)state;
	begin(6, work_a_little);
	for (size_t i = 0; i < 6; i++)
		world.needs[i].last_us = last[i];
	go(1, 4);
	assert_memory_equal(world.begun, expected, sizeof(expected));
	assert_memory_equal(world.done, expected, sizeof(expected));
	assert_int_equal(world.most_at_once, 1);
}

static void work_with_two_others(size_t i, struct reach *reach)
{
	(void)i;
	(void)reach;
	await(are_at_once, 3);
	pause_a_little();
}

static void so_many_at_once(void **state)
{
	(void)state;
	begin(9, work_with_two_others);
	go(3, 12);
	assert_int_equal(world.most_at_once, 3);
}

static void work_with_another(size_t i, struct reach *reach)
{
	(void)i;
	(void)reach;
	await(are_at_once, 2);
	pause_a_little();
}

/* Two sessions each: two at once, and one if that is too many. */
static void sessions_are_bounded(void **state)
{
	(void)state;
	begin(6, work_with_another);
	world.sessions = 5;
	go(6, 24);
	assert_int_equal(world.most_at_once, 2);
	begin(3, work_a_little);
	world.sessions = 1;
	go(3, 12);
	assert_int_equal(world.most_at_once, 1);
}

/* Job 0 writes `a`, 1 too, 2 reads it, 3 and 4 read `b`. */
static void work_on_files(size_t i, struct reach *reach)
{
	(void)i;
	(void)reach;
	pthread_mutex_lock(&world.lock);
	assert_true(world.runs[0] + world.runs[1] + world.runs[2] <= 1);
	pthread_mutex_unlock(&world.lock);
	/* Both readers, and one of the others: three at once. */
	await(are_at_once, 3);
	pause_a_little();
}

static void file_has_one_writer(void **state)
{
	static char a[] = "a", b[] = "b";

	(void)state;
	begin(5, work_on_files);
	world.needs[0].writes = world.needs[1].writes = world.needs[2].reads =
		a;
	world.needs[3].reads = world.needs[4].reads = b;
	go(8, 32);
	assert_int_equal(world.most_at_once, 3);
}

static void leave_for_the_next(size_t i, struct reach *reach)
{
	(void)reach;
	if (i)
		return;
	seat_leave(SEAT_OPEN);
	await(has_ended, 2);
	seat_back(SEAT_OPEN, NULL, NULL);
}

static void who_waits_has_no_seat(void **state)
{
	(void)state;
	begin(3, leave_for_the_next);
	go(1, 4);
}

static void wait_with_the_file_open(size_t i, struct reach *reach)
{
	(void)reach;
	assert_true(i != 1 || world.ended[0]);
	if (i)
		return;
	seat_leave(SEAT_OPEN);
	await(has_ended, 2);
	seat_back(SEAT_OPEN, NULL, NULL);
}

static void file_that_is_open_is_kept(void **state)
{
	static char a[] = "a";

	(void)state;
	begin(3, wait_with_the_file_open);
	world.needs[0].writes = world.needs[1].writes = a;
	go(4, 4);
}

static void wait_with_the_file_closed(size_t i, struct reach *reach)
{
	(void)reach;
	if (i)
		return;
	seat_leave(SEAT_CLOSED);
	await(has_ended, 1);
	seat_back(SEAT_CLOSED, NULL, NULL);
}

static void file_that_is_closed_is_lent(void **state)
{
	static char a[] = "a";

	(void)state;
	begin(2, wait_with_the_file_closed);
	world.needs[0].writes = world.needs[1].writes = a;
	go(2, 4);
}

/* 0 and 1 wait until the other has left, too. */
static void leave_two(size_t i, struct reach *reach)
{
	(void)reach;
	if (i > 1) {
		assert_true(world.ended[0] || world.ended[1]);
		return;
	}
	seat_leave(SEAT_OPEN);
	await(have_begun, 2);
	pause_a_little();
	seat_back(SEAT_OPEN, NULL, NULL);
}

static void so_many_wait_at_most(void **state)
{
	(void)state;
	begin(5, leave_two);
	go(1, 2);
}

static void refuse_shop(size_t i, struct reach *reach)
{
	struct error why = ERROR_INIT;

	if (i)
		return;
	error_set(&why, ERROR_TRANSIENT, "connection refused");
	reach_refused(reach, &shop, &world.needs[0], &why);
	seat_leave(SEAT_CLOSED);
	/* Nobody begins who needs it: only the one that does not. */
	await(has_ended, 3);
	pause_a_little();
	assert_int_equal(world.n_begun, 2);
	seat_back(SEAT_CLOSED, NULL, NULL);
	reach_end(reach, &world.needs[0], true);
}

static void dead_server_is_found_out_once(void **state)
{
	(void)state;
	begin(4, refuse_shop);
	world.needs[3].source = &other;
	go(1, 4);
	assert_null(world.skipped[0]);
	assert_null(world.skipped[3]);
	for (size_t i = 1; i < 3; i++)
		assert_string_equal(world.skipped[i],
				    "not tried: connection shop could not be "
				    "reached a moment ago: connection refused");
}

static void refuse_and_get_through(size_t i, struct reach *reach)
{
	struct error why = ERROR_INIT;

	if (i)
		return;
	error_set(&why, ERROR_ACCESS, "no route");
	reach_refused(reach, &warehouse, &world.needs[0], &why);
	assert_true(reach_is_doubted(reach, &warehouse, NULL));
	assert_false(reach_is_doubted(reach, &warehouse, &world.needs[0]));
	assert_int_equal(world.n_begun, 1);
	reach_opened(reach, &warehouse);
	reach_end(reach, &world.needs[0], true);
}

static void server_that_comes_back_is_used(void **state)
{
	(void)state;
	begin(3, refuse_and_get_through);
	go(1, 4);
	for (size_t i = 0; i < 3; i++)
		assert_null(world.skipped[i]);
}

/* Another error of a table says nothing of its server. */
static void fail_alone(size_t i, struct reach *reach)
{
	struct error why = ERROR_INIT;

	if (i)
		return;
	error_set(&why, ERROR_SCHEMA, "no such table");
	reach_refused(reach, &shop, &world.needs[0], &why);
	reach_end(reach, &world.needs[0], true);
}

static void other_errors_are_ones_own(void **state)
{
	(void)state;
	begin(2, fail_alone);
	go(1, 4);
	assert_int_equal(world.n_begun, 2);
}

/* Three at once; 0 finds no room, while the others are about to end. */
static void crowd(size_t i, struct reach *reach)
{
	(void)reach;
	if (i < 3)
		await(have_begun, 3);
	if (i == 0) {
		seat_crowded();
		assert_true(world.ended[1] || world.ended[2]);
		return;
	}
	pause_a_little();
	pthread_mutex_lock(&world.lock);
	assert_true(world.at_once <= 3);
	pthread_mutex_unlock(&world.lock);
}

static void crowded_server_gets_fewer(void **state)
{
	(void)state;
	begin(5, crowd);
	go(3, 12);
	for (size_t i = 0; i < 5; i++)
		assert_true(world.ended[i]);
}

/* 0 lends its seat: 1 begins once the threads of 0 have ended. */
static void widen(size_t i, struct reach *reach)
{
	(void)reach;
	if (i) {
		assert_int_equal(seat_widen(9), 1);
		return;
	}
	assert_int_equal(seat_widen(1), 1);
	assert_int_equal(seat_widen(9), 2);
	seat_leave(SEAT_OPEN);
	for (int n = 0; n < 20; n++)
		pause_a_little();
	assert_int_equal(world.n_begun, 1);
	assert_int_equal(seat_widen(0), 0);
	await(has_ended, 1);
	seat_back(SEAT_OPEN, NULL, NULL);
}

static void threads_of_a_job_count(void **state)
{
	(void)state;
	begin(2, widen);
	world.sessions = 6;
	assert_int_equal(seat_widen(7), 7);
	go(1, 4);
}

static void crowd_alone(size_t i, struct reach *reach)
{
	(void)i;
	(void)reach;
	assert_false(seat_crowded());
}

static void nobody_to_wait_for(void **state)
{
	(void)state;
	assert_false(seat_crowded());
	begin(1, crowd_alone);
	go(1, 4);
}

/* The last one: a stop is for good. */
static void stop_in_the_first(size_t i, struct reach *reach)
{
	(void)reach;
	assert_int_equal(i, 0);
	stop_request();
	seat_leave(SEAT_CLOSED);
	seat_back(SEAT_CLOSED, NULL, NULL);
}

static struct reach *reaches[MOST];

static void first_waits_for_the_others(size_t i, struct reach *reach)
{
	reaches[i] = reach;
	for (size_t other_one = 1; !i && other_one < 3; other_one++)
		await(has_ended, other_one);
}

static void note_over(void *ctx)
{
	size_t *n_done_then = ctx;

	*n_done_then = world.n_done;
}

static void run_second(void *ctx, size_t i, struct reach *reach)
{
	run(ctx, i + 1, reach);
}

static void note_second(void *ctx, size_t i)
{
	note_done(ctx, i + 1);
}

/* Others that are added meanwhile have a knowledge of servers of their own. */
static void more_come_while_one_runs(void **state)
{
	const struct jobs_terms terms = { .jobs = 2, .most = 4 };
	size_t over[2] = { 0, 0 };
	const struct jobs_work first = { .run = run,
					 .skip = pass_over,
					 .done = note_done,
					 .over = note_over,
					 .ctx = &over[0] };
	const struct jobs_work second = { .run = run_second,
					  .skip = pass_over,
					  .done = note_second,
					  .over = note_over,
					  .ctx = &over[1] };
	struct jobs *j = jobs_new(&terms);

	(void)state;
	begin(3, first_waits_for_the_others);
	jobs_add(j, &first, world.needs, 1);
	jobs_go(j, clock_monotonic_us() + US_PER_SECOND / 20);
	assert_int_equal(jobs_left(j), 1);
	assert_int_equal(world.n_done, 0);
	jobs_add(j, &second, world.needs + 1, 2);
	jobs_go(j, INT64_MAX);
	assert_int_equal(jobs_left(j), 0);
	assert_int_equal(world.n_done, 3);
	assert_true(over[1] >= 2);
	assert_true(over[0] >= 1);
	assert_ptr_equal(reaches[1], reaches[2]);
	assert_ptr_not_equal(reaches[0], reaches[1]);
	jobs_add(j, &first, world.needs, 0);
	jobs_go(j, INT64_MAX);
	jobs_free(j);
}

static void stop_begins_no_more(void **state)
{
	static char a[] = "a";

	(void)state;
	begin(4, stop_in_the_first);
	for (size_t i = 0; i < 4; i++)
		world.needs[i].writes = a;
	go(1, 4);
	assert_int_equal(world.n_begun, 1);
	for (size_t i = 1; i < 4; i++)
		assert_string_equal(world.skipped[i],
				    "not started: stopped by a signal");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waited_longest_begins),
		cmocka_unit_test(so_many_at_once),
		cmocka_unit_test(sessions_are_bounded),
		cmocka_unit_test(file_has_one_writer),
		cmocka_unit_test(who_waits_has_no_seat),
		cmocka_unit_test(file_that_is_open_is_kept),
		cmocka_unit_test(file_that_is_closed_is_lent),
		cmocka_unit_test(so_many_wait_at_most),
		cmocka_unit_test(dead_server_is_found_out_once),
		cmocka_unit_test(server_that_comes_back_is_used),
		cmocka_unit_test(other_errors_are_ones_own),
		cmocka_unit_test(crowded_server_gets_fewer),
		cmocka_unit_test(threads_of_a_job_count),
		cmocka_unit_test(nobody_to_wait_for),
		cmocka_unit_test(more_come_while_one_runs),
		cmocka_unit_test(stop_begins_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

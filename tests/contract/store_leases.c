/* Leases: one holder at a time, by the store's clock, with a fence that only
 * grows. */
#include "core/store/leases.h"
#include "core/store/session.h"
#include "store_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients/pg.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/process.h"

#define MINUTE_US (60 * US_PER_SECOND)

/* One take, and what came of it. */
struct taken {
	enum lease_answer answer;
	struct lease lease, before;
};

static void taken_release(struct taken *t)
{
	lease_release(&t->lease);
	lease_release(&t->before);
}

static struct lease wanted_by(const char *holder)
{
	static char *mark;
	struct lease l;

	if (!mark)
		mark = process_mark();
	lease_init(&l);
	l.name = (char *)"orders";
	l.holder = (char *)holder;
	l.host = (char *)"here";
	l.pid = getpid();
	l.process = mark;
	return l;
}

static struct taken take(struct store *s, const struct lease *wanted,
			 int64_t lease_us)
{
	struct error err = ERROR_INIT;
	struct taken t;

	memset(&t, 0, sizeof(t));
	if (store_lease_take(s, wanted, lease_us, &t.answer, &t.lease,
			     &t.before, &err))
		fail_msg("%s", err.message);
	return t;
}

/* Takes, and hands out the lease alone. */
static struct lease take_as(struct store *s, const char *holder,
			    int64_t lease_us, enum lease_answer expected)
{
	struct lease wanted = wanted_by(holder);
	struct taken t = take(s, &wanted, lease_us);

	assert_int_equal(t.answer, expected);
	lease_release(&t.before);
	return t.lease;
}

static bool renew(struct store *s, const struct lease *l, int64_t lease_us)
{
	struct error err = ERROR_INIT;
	bool held = false;

	if (store_lease_renew(s, l, lease_us, &held, &err))
		fail_msg("%s", err.message);
	return held;
}

/* A lease that is over, however long this test has taken so far. */
static void run_out(struct store *s, const struct lease *l)
{
	assert_true(renew(s, l, 1));
	usleep(1000);
}

static void give(struct store *s, struct lease *l)
{
	struct error err = ERROR_INIT;

	l->until = 0;
	if (store_lease_give(s, l, &err))
		fail_msg("%s", err.message);
	lease_release(l);
}

static bool is_held(struct store *s, int64_t fence)
{
	struct error err = ERROR_INIT;
	struct lease now;
	bool held = false;

	lease_init(&now);
	if (store_lease_get(s, "orders", &held, &now, &err))
		fail_msg("%s", err.message);
	if (held)
		assert_int_equal(now.fence, fence);
	lease_release(&now);
	return held;
}

static void goes_from_hand_to_hand(void **state)
{
	struct store *s = place_open(*state);
	/* Nothing is known of who was here before the store was. */
	struct lease l = take_as(s, "a", MINUTE_US, LEASE_INHERITED);
	struct lease wanted = wanted_by("b");
	struct taken t;

	assert_int_equal(l.fence, 1);
	assert_string_equal(l.holder, "a");
	assert_string_equal(l.host, "here");
	assert_int_equal(l.pid, getpid());
	assert_in_range(l.until - l.since, MINUTE_US, MINUTE_US + 1000);
	assert_true(is_held(s, 1));
	t = take(s, &wanted, MINUTE_US);
	assert_int_equal(t.answer, LEASE_BUSY);
	assert_null(t.lease.name);
	assert_string_equal(t.before.holder, "a");
	assert_int_equal(t.before.fence, 1);
	assert_int_equal(t.before.until, l.until);
	taken_release(&t);
	give(s, &l);
	assert_false(is_held(s, 1));
	for (int fence = 2; fence < 5; fence++) {
		l = take_as(s, "b", MINUTE_US, LEASE_TAKEN);
		assert_int_equal(l.fence, fence);
		give(s, &l);
	}
	store_close(s);
}

/* Another pipeline's lease is another one. */
static void is_one_a_name(void **state)
{
	struct store *s = place_open(*state);
	struct lease l = take_as(s, "a", MINUTE_US, LEASE_INHERITED);
	struct lease other = wanted_by("b");
	struct taken t;

	other.name = (char *)"it's";
	t = take(s, &other, MINUTE_US);
	assert_int_equal(t.answer, LEASE_INHERITED);
	assert_int_equal(t.lease.fence, 1);
	taken_release(&t);
	lease_release(&l);
	store_close(s);
}

static void runs_out(void **state)
{
	struct store *s = place_open(*state);
	struct lease l = take_as(s, "a", 50000, LEASE_INHERITED), next;

	usleep(60000);
	assert_false(is_held(s, 1));
	next = take_as(s, "b", MINUTE_US, LEASE_INHERITED);
	assert_int_equal(next.fence, 2);
	/* The first one wakes up, and takes nothing from the second. */
	assert_false(renew(s, &l, MINUTE_US));
	give(s, &l);
	assert_true(is_held(s, 2));
	assert_true(renew(s, &next, MINUTE_US));
	give(s, &next);
	store_close(s);
}

/* Not even while nobody else has taken it. */
/* The answer was lost: it asks again, and is not in its own way. */
static void is_taken_again_by_its_holder(void **state)
{
	struct store *s = place_open(*state);
	struct lease first = take_as(s, "a", MINUTE_US, LEASE_INHERITED);
	struct lease again = take_as(s, "a", MINUTE_US, LEASE_INHERITED);
	struct lease rival = wanted_by("b");
	struct taken t = take(s, &rival, MINUTE_US);

	assert_true(again.fence > first.fence);
	assert_int_equal(t.answer, LEASE_BUSY);
	taken_release(&t);
	lease_release(&first);
	lease_release(&again);
	store_close(s);
}

static void is_not_renewed_once_it_is_over(void **state)
{
	struct store *s = place_open(*state);
	struct lease l = take_as(s, "a", MINUTE_US, LEASE_INHERITED);
	struct error err = ERROR_INIT;
	bool held = true;

	assert_true(renew(s, &l, MINUTE_US));
	run_out(s, &l);
	assert_false(renew(s, &l, MINUTE_US));
	assert_false(is_held(s, 1));
	assert_int_equal(store_lease_amend(s, &l, &held, &err), 0);
	assert_false(held);
	lease_release(&l);
	store_close(s);
}

static void is_amended(void **state)
{
	struct store *s = place_open(*state);
	struct lease l = take_as(s, "a", MINUTE_US, LEASE_INHERITED);
	struct lease wanted = wanted_by("b");
	struct error err = ERROR_INIT;
	struct taken t;
	bool held = false;

	free(l.session);
	l.session = xstrdup("17 today");
	l.fence = 90;
	assert_int_equal(store_lease_amend(s, &l, &held, &err), 0);
	assert_true(held);
	run_out(s, &l);
	t = take(s, &wanted, MINUTE_US);
	assert_int_equal(t.answer, LEASE_INHERITED);
	assert_string_equal(t.before.session, "17 today");
	assert_int_equal(t.lease.fence, 91);
	/* Given back before the one before it could be ended. */
	t.lease.until = 1;
	assert_int_equal(store_lease_give(s, &t.lease, &err), 0);
	taken_release(&t);
	assert_false(is_held(s, 91));
	t = take(s, &wanted, MINUTE_US);
	assert_int_equal(t.answer, LEASE_INHERITED);
	assert_string_equal(t.before.session, "17 today");
	assert_int_equal(t.lease.fence, 92);
	taken_release(&t);
	lease_release(&l);
	store_close(s);
}

static void is_inherited_from_the_dead(void **state)
{
	static const struct {
		const char *start; /* NULL: as it is */
		enum lease_answer answer;
		bool dead, elsewhere;
	} cases[] = {
		{ NULL, LEASE_INHERITED, true, false },
		{ "1", LEASE_INHERITED, false, false },
		{ NULL, LEASE_BUSY, false, false },
		/* Nothing is known of another machine or container. */
		{ NULL, LEASE_BUSY, true, true },
	};
	struct store *s = place_open(*state);
	char *mark = process_mark();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lease first = wanted_by("a"), second = wanted_by("b");
		struct taken t;

		first.pid = cases[i].dead ? dead_pid() : getppid();
		first.process =
			xstrfmt("%s%.*s/%s", cases[i].elsewhere ? "other" : "",
				(int)(strrchr(mark, '/') - mark), mark,
				cases[i].start ? cases[i].start : "");
		/* A start that is not known says nothing. */
		t = take(s, &first, MINUTE_US);
		taken_release(&t);
		free(first.process);
		t = take(s, &second, MINUTE_US);
		if (t.answer != cases[i].answer)
			fail_msg("case %zu: %d", i, (int)t.answer);
		taken_release(&t);
		place_sql(*state, "UPDATE leases SET until = 0");
	}
	free(mark);
	store_close(s);
}

/* Eight processes at once: one gets it. */
static void is_taken_by_one(void **state)
{
	struct place *p = *state;
	pid_t children[8];
	int status, taken = 0;
	struct store *s = place_open(p);

	store_close(s);
	for (int i = 0; i < 8; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			char *name = xstrfmt("child %d", i);
			struct lease wanted = wanted_by(name);
			struct error err = ERROR_INIT;
			enum lease_answer answer = LEASE_BUSY;
			struct lease out, before;

			/* Without this mark the store cannot tell that one of
			 * them has ended. */
			wanted.process = (char *)"";
			lease_init(&out);
			lease_init(&before);
			s = NULL;
			if (p->ops->open(&s, &p->conn, &err) ||
			    store_lease_take(s, &wanted, MINUTE_US, &answer,
					     &out, &before, &err)) {
				fprintf(stderr, "%s\n", err.message);
				_exit(2);
			}
			_exit(answer != LEASE_BUSY);
		}
	}
	for (int i = 0; i < 8; i++) {
		waitpid(children[i], &status, 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		taken += WEXITSTATUS(status);
	}
	assert_int_equal(taken, 1);
}

/* A file knows no other machine; a server does. */
static void check_machines(void **state, bool refused)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct lease first = wanted_by("a"), second = wanted_by("b"), held;
	struct error err = ERROR_INIT;
	struct taken t;
	int rc;

	first.name = (char *)"invoices";
	first.host = (char *)"far-away";
	first.process = (char *)"another-boot/pid:[1]/77";
	t = take(s, &first, MINUTE_US);
	held = t.lease;
	lease_init(&t.lease);
	lease_release(&t.before);
	rc = store_lease_take(s, &second, MINUTE_US, &t.answer, &t.lease,
			      &t.before, &err);
	assert_int_equal(rc, refused ? -(int)ERROR_CONFIG : 0);
	if (refused) {
		assert_non_null(strstr(err.message, "far-away"));
		assert_non_null(strstr(err.message, "invoices"));
		assert_non_null(strstr(err.message, "postgresql://"));
	}
	taken_release(&t);
	if (refused) {
		run_out(s, &held);
		t = take(s, &second, MINUTE_US);
		assert_int_equal(t.answer, LEASE_INHERITED);
		taken_release(&t);
	}
	lease_release(&held);
	store_close(s);
}

/* Its newest run, as it is told of all. */
struct told {
	int64_t at;
	bool broken;
};

static void note_told(void *ctx, const char *name, int64_t at, bool broken)
{
	struct told *told = ctx;

	assert_string_equal(name, "orders");
	*told = (struct told){ at, broken };
}

static struct told tell(struct store *s)
{
	struct error err = ERROR_INIT;
	struct told told = { 0, false };

	if (store_lease_starts(s, note_told, &told, &err))
		fail_msg("%s", err.message);
	return told;
}

/* Takes it as a run, or as something else, for the turn of that time. */
static struct taken take_turn(struct store *s, const char *holder, bool runs,
			      int64_t turn_us)
{
	struct lease wanted = wanted_by(holder);

	wanted.runs = runs;
	wanted.turn_us = turn_us;
	return take(s, &wanted, MINUTE_US);
}

static void end_turn(struct store *s, struct taken *t, bool broken)
{
	struct error err = ERROR_INIT;

	t->lease.until = 0;
	t->lease.ran_open = broken;
	if (store_lease_give(s, &t->lease, &err))
		fail_msg("%s", err.message);
	taken_release(t);
}

/* Whatever is no run leaves turns as they are. */
static void knows_runs_from_others(void **state)
{
	struct store *s = place_open(*state);
	struct taken t = take_turn(s, "a", false, 0);
	int64_t first;

	assert_int_equal(tell(s).at, 0);
	end_turn(s, &t, false);
	assert_int_equal(tell(s).at, 0);
	t = take_turn(s, "b", true, 1);
	first = t.lease.ran_at;
	assert_int_equal(t.answer, LEASE_TAKEN);
	assert_int_equal(tell(s).at, first);
	assert_false(tell(s).broken);
	end_turn(s, &t, false);
	t = take_turn(s, "c", false, 0);
	assert_int_equal(t.answer, LEASE_TAKEN);
	end_turn(s, &t, false);
	assert_int_equal(tell(s).at, first);
	t = take_turn(s, "d", true, first);
	assert_int_equal(t.answer, LEASE_HAD);
	taken_release(&t);
	/* A store may count in milliseconds. */
	clock_sleep_us(2000);
	t = take_turn(s, "e", true, first + 1);
	assert_int_equal(t.answer, LEASE_TAKEN);
	assert_true(tell(s).at > first);
	end_turn(s, &t, false);
	store_close(s);
}

/* Clocks are compared with an error: a run that is some seconds early has its
 * turn. One of a turn that is far away has not. */
static void knows_a_run_that_is_early(void **state)
{
	struct store *s = place_open(*state);
	struct taken t = take_turn(s, "a", true, 1);
	int64_t soon = t.lease.ran_at + 5 * US_PER_SECOND;

	end_turn(s, &t, false);
	t = take_turn(s, "b", true, soon);
	assert_int_equal(t.answer, LEASE_TAKEN);
	assert_int_equal(t.lease.ran_at, soon);
	end_turn(s, &t, false);
	t = take_turn(s, "c", true, soon);
	assert_int_equal(t.answer, LEASE_HAD);
	taken_release(&t);
	t = take_turn(s, "d", true, soon + 60 * MINUTE_US);
	assert_int_equal(t.answer, LEASE_TAKEN);
	assert_true(t.lease.ran_at < soon);
	end_turn(s, &t, false);
	store_close(s);
}

/* It began at a time that is to come. The store's clock was set back by a
 * minute, as when a server that is behind takes over. No turn until then is
 * lost. */
void knows_a_run_to_come(void **state)
{
	static const struct pg_options options = { .application = "test" };
	const struct place *p = *state;
	struct store *s = place_open(p);
	struct taken t = take_turn(s, "a", true, 1);
	int64_t next = t.lease.ran_at + US_PER_SECOND;
	struct error err = ERROR_INIT;
	struct pg *pg = NULL;

	end_turn(s, &t, false);
	assert_int_equal(pg_open(&pg, &p->conn, &options, &err), 0);
	assert_int_equal(pg_exec(pg,
				 "UPDATE tidemark.leases "
				 "SET ran_at = ran_at + 58000000",
				 &err),
			 0);
	pg_close(pg);
	t = take_turn(s, "b", true, next);
	assert_int_equal(t.answer, LEASE_TAKEN);
	end_turn(s, &t, false);
	store_close(s);
}

/* Killed, or told to stop: also behind something else that was done. */
static void gives_a_broken_turn_again(void **state)
{
	struct store *s = place_open(*state);
	struct taken t = take_turn(s, "a", true, 1);
	int64_t turn = t.lease.ran_at;

	run_out(s, &t.lease);
	taken_release(&t);
	assert_true(tell(s).broken);
	t = take_turn(s, "b", false, 0);
	assert_int_equal(t.answer, LEASE_INHERITED);
	assert_false(tell(s).broken);
	end_turn(s, &t, false);
	assert_true(tell(s).broken);
	t = take_turn(s, "c", true, turn);
	assert_int_equal(t.answer, LEASE_TAKEN);
	end_turn(s, &t, true);
	assert_true(tell(s).broken);
	t = take_turn(s, "d", true, turn);
	assert_int_equal(t.answer, LEASE_TAKEN);
	end_turn(s, &t, false);
	assert_false(tell(s).broken);
	t = take_turn(s, "e", true, turn);
	assert_int_equal(t.answer, LEASE_HAD);
	taken_release(&t);
	store_close(s);
}

static void refuses_another_machine(void **state)
{
	check_machines(state, true);
}

static void serves_many_machines(void **state)
{
	check_machines(state, false);
}

#define SHARED(make)                                                           \
	EACH(make, goes_from_hand_to_hand), EACH(make, is_one_a_name),         \
		EACH(make, runs_out),                                          \
		EACH(make, is_taken_again_by_its_holder),                      \
		EACH(make, is_not_renewed_once_it_is_over),                    \
		EACH(make, is_amended),                                        \
		EACH(make, is_inherited_from_the_dead),                        \
		EACH(make, knows_runs_from_others),                            \
		EACH(make, knows_a_run_that_is_early),                         \
		EACH(make, gives_a_broken_turn_again),                         \
		EACH(make, is_taken_by_one)

const struct CMUnitTest store_leases_file[] = {
	SHARED(file),
	EACH(file, refuses_another_machine),
};
const struct CMUnitTest store_leases_postgres[] = {
	SHARED(postgres),
	EACH(postgres, serves_many_machines),
};
const size_t store_leases_n = ARRAY_SIZE(store_leases_file);

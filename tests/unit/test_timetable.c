/* When each pipeline of a serve has its turn. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/serve/timetable.h"

#define MINUTE (60 * US_PER_SECOND)
#define HOUR   (60 * MINUTE)
#define NOW    (INT64_C(1800000000) * US_PER_SECOND)

struct world {
	struct pipeline_settings p[2];
	struct timetable t;
};

static int set_up(void **state)
{
	static const char *const names[] = { "a", "b" };
	struct world *w = test_calloc(1, sizeof(*w));
	const struct pipeline_settings *all[] = { &w->p[1], &w->p[0] };
	struct error err = ERROR_INIT;

	for (int i = 0; i < 2; i++) {
		w->p[i].name = (char *)names[i];
		assert_int_equal(
			schedule_parse("every 5m", &w->p[i].schedule, &err), 0);
	}
	timetable_set(&w->t, all, 2, NOW);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 2; i++)
		schedule_release(&w->p[i].schedule);
	timetable_release(&w->t);
	test_free(w);
	return 0;
}

static struct turn *begun(struct world *w, const char *name, int64_t at)
{
	timetable_begun(&w->t, name, at, NOW);
	return timetable_find(&w->t, name);
}

static void test_missed_turns_are_made_up_for_once(void **state)
{
	struct turn *turn = begun(*state, "a", NOW - 24 * HOUR);

	assert_true(turn_is_due(turn, NOW));
	/* However many there were. */
	assert_ptr_equal(begun(*state, "a", NOW), turn);
	assert_false(turn_is_due(turn, NOW + US_PER_SECOND));
	assert_in_range(turn->due_us, NOW + 1, NOW + 5 * MINUTE);
	assert_true(turn_is_due(turn, NOW + 5 * MINUTE));
}

static void test_older_news_changes_nothing(void **state)
{
	struct turn *turn = begun(*state, "a", NOW);
	int64_t due = turn->due_us;

	begun(*state, "a", NOW - HOUR);
	assert_int_equal(turn->last_us, NOW);
	assert_int_equal(turn->due_us, due);
	assert_null(timetable_find(&((struct world *)*state)->t, "nobody"));
	timetable_begun(&((struct world *)*state)->t, "nobody", NOW, NOW);
}

static void test_who_has_no_turn(void **state)
{
	struct world *w = *state;
	struct turn *a = begun(w, "a", NOW - HOUR), *b = begun(w, "b", NOW);

	assert_int_equal(timetable_next(&w->t), a->due_us);
	timetable_put_off(&w->t, "a", NOW + MINUTE / 6);
	assert_false(turn_is_due(a, NOW));
	assert_true(turn_is_due(a, NOW + MINUTE / 6));
	a->taken = true;
	assert_false(turn_is_due(a, NOW + MINUTE));
	assert_int_equal(timetable_next(&w->t), b->due_us);
	b->paused = true;
	b->asked_us = NOW;
	assert_false(turn_is_due(b, NOW + HOUR));
	assert_int_equal(timetable_next(&w->t), SCHEDULE_NEVER);
	b->paused = false;
	assert_true(turn_is_due(b, NOW));
	assert_int_equal(timetable_next(&w->t), 0);
}

static void test_what_is_known_outlives_the_config(void **state)
{
	struct world *w = *state;
	const struct pipeline_settings *one[] = { &w->p[0] };
	const struct pipeline_settings *all[] = { &w->p[0], &w->p[1] };

	begun(w, "a", NOW - MINUTE);
	begun(w, "b", NOW - MINUTE)->taken = true;
	timetable_set(&w->t, one, 1, NOW);
	assert_int_equal(timetable_find(&w->t, "a")->last_us, NOW - MINUTE);
	assert_null(timetable_find(&w->t, "b"));
	timetable_set(&w->t, all, 2, NOW);
	assert_int_equal(timetable_find(&w->t, "b")->last_us, 0);
	assert_false(timetable_find(&w->t, "b")->taken);
}

static void test_a_clock_that_is_set_back(void **state)
{
	struct world *w = *state;
	struct turn *turn = begun(w, "a", NOW);

	timetable_shift(&w->t, NOW - HOUR);
	assert_int_equal(turn->last_us, NOW - HOUR);
	assert_in_range(turn->due_us, NOW - HOUR, NOW - HOUR + 5 * MINUTE);
}

/* A start that was reckoned by a wrong clock: the store knows who was begun. */
static void test_a_turn_that_was_had(void **state)
{
	struct world *w = *state;
	struct turn *turn = begun(w, "a", NOW + HOUR);

	turn->due_us = NOW - MINUTE;
	timetable_put_off(&w->t, "a", NOW + MINUTE / 6);
	timetable_told(&w->t, "a", NOW - MINUTE, false, NOW);
	assert_in_range(turn->due_us, NOW + 1, NOW + 5 * MINUTE);
	assert_int_equal(turn->not_before_us, 0);
	turn->due_us = NOW - MINUTE;
	timetable_told(&w->t, "a", NOW - 2 * MINUTE, false, NOW);
	assert_int_equal(turn->due_us, NOW - MINUTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_missed_turns_are_made_up_for_once, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_older_news_changes_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_has_no_turn, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_is_known_outlives_the_config, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_clock_that_is_set_back,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_turn_that_was_had,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

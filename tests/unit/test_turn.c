#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core/base/turn.h"
#include "tests/unit/unit.h"

#define ROUNDS 2000

struct thing {
	const char *name;
	atomic_int users;
	int times; /* written under its turn alone */
};

static struct thing things[] = { { .name = "a" }, { .name = "b" } };

static void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		struct thing *t = &things[i % 2];
		struct turn *turn = turn_take(t->name);

		assert_int_equal(atomic_fetch_add(&t->users, 1), 0);
		t->times++;
		if (i % 10 == 0)
			sched_yield();
		atomic_fetch_sub(&t->users, 1);
		turn_end(turn);
	}
	return NULL;
}

/* A thing has one user at a time, and nobody waits for ever. */
static void turn_is_one(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, NULL),
				 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(things); i++)
		assert_int_equal(things[i].times, 4 * ROUNDS / 2);
}

/* Somebody at one thing keeps nobody from another. */
static void turn_is_by_name(void **state)
{
	struct turn *a = turn_take("a"), *b = turn_take("b");

	(void)state;
	turn_end(a);
	a = turn_take("a");
	turn_end(b);
	turn_end(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turn_is_one),
		cmocka_unit_test(turn_is_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

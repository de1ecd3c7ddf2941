/* When the breaker of a pipeline opens, and for how long. */
#include <string.h>

#include "unit.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/sync/ledger/breaker.h"

#define NOW (1000 * US_PER_SECOND)

/* One letter an attempt, newest first; each ended ten seconds before the one
 * before it in the text, the first ten seconds ago. */
static const struct {
	char letter;
	const char *state, *outcome, *error_code;
	int64_t batches;
} letters[] = {
	{ 't', "FAILED", "failed", "transient", 0 },
	{ 'c', "FAILED", "failed", "conflict", 0 },
	{ 'a', "FAILED", "failed", "access", 3 },
	{ 'u', "FAILED", "failed", "unknown", 0 },
	{ 'g', "FAILED", "failed", "bug", 0 },
	{ 'd', "FAILED", "failed", "data", 0 },
	{ 's', "FAILED", "failed", "schema", 0 },
	{ 'f', "FAILED", "failed", "config", 0 },
	{ 'b', "FAILED", "busy", "state", 0 },
	{ 'k', "FAILED", "failed", "killed", 0 },
	{ 'l', "FAILED", "failed", "lost", 0 },
	{ 'r', "RUNNING", "", NULL, 0 },
	{ '0', "SUCCEEDED", "stopped", NULL, 0 },
	{ '1', "SUCCEEDED", "stopped", NULL, 1 },
	{ 'O', "SUCCEEDED", "caught_up", NULL, 0 },
};

static const struct {
	const char *attempts; /* "!" first: the newest ended in the future */
	int64_t failures, cool_down_s;
	int64_t counted;
	int64_t open_for_s; /* negative: half open so long; 0: closed */
} cases[] = {
	{ "", 3, 30, 0, 0 },
	{ "t", 1, 30, 1, 20 },
	{ "tt", 3, 30, 2, 0 },
	{ "ttt", 3, 30, 3, 20 },
	{ "tcaug", 5, 30, 5, 20 },
	{ "tttttt", 3, 30, 6, 20 },
	/* half open */
	{ "ttt", 3, 5, 3, -5 },
	{ "ttt", 3, 10, 3, 0 },
	/* an end that is well, or an answer, closes it */
	{ "Ottt", 3, 30, 0, 0 },
	{ "tOtt", 3, 30, 1, 0 },
	{ "1ttt", 3, 30, 0, 0 },
	{ "dttt", 3, 30, 0, 0 },
	{ "sttt", 3, 30, 0, 0 },
	/* an attempt without a verdict counts for nothing; ended_at is the
	 * failure's */
	{ "rbttt", 3, 50, 3, 20 },
	{ "kttt", 3, 30, 3, 10 },
	{ "lttt", 3, 30, 3, 10 },
	{ "0fttt", 3, 50, 3, 20 },
	{ "tktft", 3, 30, 3, 20 },
	{ "kkkkk", 3, 30, 0, 0 },
	/* off, and a clock that was ahead */
	{ "ttttt", 0, 30, 5, 0 },
	{ "!ttt", 3, 30, 3, 0 },
};

static void breaker_add(struct attempt_list *list, char letter, int64_t ended)
{
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		struct attempt *a = &list->items[list->n];

		if (letters[i].letter != letter)
			continue;
		attempt_init(a);
		a->state = (char *)letters[i].state;
		a->outcome = (char *)letters[i].outcome;
		a->error_code = (char *)letters[i].error_code;
		a->error_message = (char *)"no route";
		a->batches = letters[i].batches;
		a->ended_at = ended;
		list->n++;
		return;
	}
	fail_msg("no letter %c", letter);
}

static void test_judge(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct breaker_policy policy = {
			cases[i].failures, cases[i].cool_down_s * US_PER_SECOND
		};
		struct attempt items[16];
		struct attempt_list list = { items, 0, ARRAY_SIZE(items) };
		const char *at = cases[i].attempts;
		int64_t ended = NOW - 10 * US_PER_SECOND;
		struct breaker b;

		if (*at == '!') {
			ended = NOW + US_PER_DAY;
			at++;
		}
		for (; *at; at++, ended -= 10 * US_PER_SECOND)
			breaker_add(&list, *at, ended);
		breaker_init(&b);
		breaker_judge(&b, &policy, &list, NOW);
		if (b.failures != cases[i].counted)
			fail_msg("%s: %lld failures", cases[i].attempts,
				 (long long)b.failures);
		if (breaker_is_open(&b, NOW) != (cases[i].open_for_s > 0))
			fail_msg("%s: open is wrong", cases[i].attempts);
		if (cases[i].open_for_s &&
		    b.open_until != NOW + cases[i].open_for_s * US_PER_SECOND)
			fail_msg("%s: open for %lld", cases[i].attempts,
				 (long long)(b.open_until - NOW));
		breaker_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

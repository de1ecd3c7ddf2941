#include "core/sync/ledger/breaker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/store/history.h"

/* Attempts to look at beyond those that open it: what says nothing. */
#define BREAKER_LOOK_BACK 20

enum verdict { VERDICT_NOTHING, VERDICT_FAILED, VERDICT_FINE };

/* By the names of error_code_name(), and "killed" and "lost" of the store. */
static const struct {
	const char *error_code;
	enum verdict verdict;
} breaker_verdicts[] = {
	{ "transient", VERDICT_FAILED }, { "conflict", VERDICT_FAILED },
	{ "access", VERDICT_FAILED },	 { "unknown", VERDICT_FAILED },
	{ "bug", VERDICT_FAILED },	 { "config", VERDICT_NOTHING },
	{ "state", VERDICT_NOTHING },	 { "killed", VERDICT_NOTHING },
	{ "lost", VERDICT_NOTHING },
};

void breaker_init(struct breaker *b)
{
	memset(b, 0, sizeof(*b));
}

void breaker_release(struct breaker *b)
{
	free(b->last_error);
	breaker_init(b);
}

bool breaker_is_open(const struct breaker *b, int64_t now_us)
{
	return b->open_until > now_us;
}

static enum verdict breaker_verdict(const struct attempt *a)
{
	const char *code = a->error_code ? a->error_code : "";

	if (!strcmp(a->state, "RUNNING"))
		return VERDICT_NOTHING;
	if (!strcmp(a->outcome, "retried") ||
	    (!strcmp(a->outcome, "stopped") && !a->batches))
		return VERDICT_NOTHING;
	for (size_t i = 0; i < ARRAY_SIZE(breaker_verdicts); i++)
		if (!strcmp(code, breaker_verdicts[i].error_code))
			return breaker_verdicts[i].verdict;
	return VERDICT_FINE;
}

void breaker_judge(struct breaker *out, const struct breaker_policy *policy,
		   const struct attempt_list *newest_first, int64_t now_us)
{
	const struct attempt *last = NULL;

	for (size_t i = 0; i < newest_first->n; i++) {
		const struct attempt *a = &newest_first->items[i];
		enum verdict verdict = breaker_verdict(a);

		if (verdict == VERDICT_FINE)
			break;
		if (verdict == VERDICT_NOTHING)
			continue;
		last = last ? last : a;
		out->failures++;
	}
	if (!last || !policy->failures || out->failures < policy->failures)
		return;
	out->last_error = xstrdup(last->error_message);
	out->open_until = last->ended_at + policy->cool_down_us;
	/* A clock that was ahead must not keep it open until it is right. */
	if (last->ended_at > now_us)
		out->open_until = now_us;
}

static int breaker_refuse(const struct breaker *b, int64_t now_us,
			  struct error *err)
{
	char until[CLOCK_TEXT_SIZE];
	struct strbuf left = STRBUF_INIT;

	clock_format_utc(b->open_until, until);
	units_print_duration(&left, (b->open_until - now_us) / US_PER_SECOND *
						    US_PER_SECOND +
					    US_PER_SECOND);
	error_set(err, ERROR_ACCESS,
		  "the breaker is open until %s (%s more): the last %" PRId64
		  " runs failed, the last one with: %s. The first run after "
		  "that makes one try; retry.breaker says when it opens",
		  until, left.data, b->failures,
		  b->last_error ? b->last_error : "");
	strbuf_release(&left);
	return -(int)err->code;
}

int64_t breaker_looks(const struct pipeline_settings *p)
{
	return p->breaker.failures * p->retry.attempts + BREAKER_LOOK_BACK;
}

int breaker_check(struct store *store, const struct pipeline_settings *p,
		  bool *single, struct error *err)
{
	const struct run_filter filter = { .pipeline = p->name,
					   .limit = breaker_looks(p) };
	struct attempt_list list = { NULL, 0, 0 };
	struct breaker b;
	int64_t now = clock_now_us();
	int rc;

	*single = false;
	if (!store || !p->breaker.failures)
		return 0;
	breaker_init(&b);
	rc = store_attempts_list(store, &filter, &list, err);
	if (!rc)
		breaker_judge(&b, &p->breaker, &list, now);
	if (!rc && breaker_is_open(&b, now))
		rc = breaker_refuse(&b, now, err);
	*single = !rc && b.open_until;
	if (*single)
		log_info("the breaker is half open after %" PRId64
			 " failed runs: this one makes one try",
			 b.failures);
	breaker_release(&b);
	attempt_list_release(&list);
	return rc;
}

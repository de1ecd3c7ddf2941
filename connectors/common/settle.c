#include "connectors/common/settle.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/delivered.h"
#include "connectors/common/wall_clock.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/data/value.h"

static int64_t settle_floor(int64_t us, int64_t unit_us)
{
	int64_t rest = us % unit_us;

	return us - (rest < 0 ? rest + unit_us : rest);
}

char *settle_text(const struct type *type, int64_t us)
{
	struct strbuf sb = STRBUF_INIT;
	int64_t tick_us = 1;

	if (type->kind == TYPE_DATE) {
		us = settle_floor(us, US_PER_DAY) - US_PER_DAY;
		value_print_date(&sb, (int32_t)(us / US_PER_DAY));
		return strbuf_detach(&sb);
	}
	for (int digits = type->digits; digits < 6; digits++)
		tick_us *= 10;
	value_print_timestamp(&sb, settle_floor(us, tick_us) - 1,
			      type->kind == TYPE_TIMESTAMPTZ);
	return strbuf_detach(&sb);
}

int64_t settle_latest(const struct type *type, int64_t us)
{
	char *text = settle_text(type, us - SETTLE_MARGIN_US);
	int64_t latest = INT64_MAX;

	settle_read(type, text, &latest);
	free(text);
	return latest;
}

static bool settle_is_unknown(const struct settle_clock *clock)
{
	return clock->zone && wall_clock_is_unknown(clock->zone);
}

/* The farthest that a clock can seem to stand before a mark that it has
 * made. */
static int64_t settle_most(const struct settle_clock *clock)
{
	const char *zone = clock->zone;
	int64_t most = SETTLE_STEP_MOST_US;

	if (settle_is_unknown(clock))
		most = SETTLE_ZONE_MOST_US;
	else if (zone && !strchr("+-", *zone) && strcasecmp(zone, "UTC") != 0)
		most = SETTLE_SUMMER_MOST_US;
	return clock->days ? most + US_PER_DAY : most;
}

/* How far the clock is behind the mark. Either may be an infinity. */
static int64_t settle_behind(const struct settle_clock *clock, int64_t value_us)
{
	int64_t behind;

	if (!__builtin_sub_overflow(value_us, clock->latest_us, &behind))
		return behind;
	return value_us < clock->latest_us ? INT64_MIN : INT64_MAX;
}

/* A mark is never later than the clock was, less the margin. So a clock that is
 * behind the mark was set back. Rows that were stamped since may lie below the
 * mark. */
static void settle_explain_clock(int64_t behind, struct settled *out,
				 struct strbuf *reason)
{
	struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;

	units_print_duration(&text,
			     (behind / US_PER_SECOND + 1) * US_PER_SECOND);
	strbuf_addf(&why,
		    "the source's clock was set back, to before the mark: rows "
		    "stamped since may lie below it (watermark.lag has to be "
		    "%s or more)",
		    text.data);
	log_warn("%s", why.data);
	reason_add(reason, "%s", why.data);
	settle_weaken(out, GUARANTEE_LAG);
	strbuf_release(&text);
	strbuf_release(&why);
}

int settle_keep_mark(const struct settle_clock *clock, int64_t value_us,
		     int64_t settled_us, const struct watermark *from,
		     struct settled *out, struct strbuf *reason,
		     struct error *err)
{
	int64_t behind = settle_behind(clock, value_us);

	if (behind > settle_most(clock)) {
		char now[CLOCK_TEXT_SIZE];
		clock_format_utc(clock->now_us, now);
		return error_set(
			err, ERROR_SCHEMA,
			"the mark, %s, is ahead of the source's clock "
			"(%s): the source cannot have produced it. " ERROR_FIX
			"If "
			"its clock was set back, wait until the clock "
			"has passed the mark, and set watermark.lag to "
			"more than it went back: rows are written "
			"behind the mark until then",
			from->value, now);
	}
	if (behind > 0 && !settle_is_unknown(clock))
		settle_explain_clock(behind, out, reason);
	if (settled_us < value_us) {
		free(out->value);
		out->value = xstrdup(from->value);
	}
	return 0;
}

void settle_keep_number(const struct watermark *from, struct settled *out)
{
	if (!from->value ||
	    (out->value && !number_is_greater(from->value, out->value)))
		return;
	free(out->value);
	out->value = xstrdup(from->value);
}

bool settle_read(const struct type *type, const char *text, int64_t *out_us)
{
	int32_t days;

	if (type->kind != TYPE_DATE || !value_parse_date(text, &days))
		return value_parse_timestamp(text, out_us);
	*out_us = days * US_PER_DAY;
	return true;
}

const char *settle_meaning(enum type_kind mark)
{
	switch (mark) {
	case TYPE_TIMESTAMPTZ:
		return "instant";
	case TYPE_TIMESTAMP:
		return "wall clock";
	case TYPE_DATE:
		return "day";
	default:
		return "number";
	}
}

int settle_whole(struct settled *out)
{
	out->guarantee = GUARANTEE_EXACT;
	out->reason = xstrdup("");
	return 0;
}

int settle_way_out(const struct source_spec *source, struct error *err)
{
	const char *call = source && source->call ? source->call : "PIPELINE";
	const char *run = source && source->run ? source->run : "run";

	return error_hint(err,
			  "`tidemark %s --full-refresh %s` builds the target "
			  "anew; after `tidemark watermark reset %s` the next "
			  "run reads everything again, and rows of the target "
			  "with higher marks stay",
			  run, call, call);
}

int settle_no_time(const char *value, const struct source_spec *source,
		   struct error *err)
{
	error_set(err, ERROR_SCHEMA,
		  "the mark's value '%s' is no point in time", value);
	return settle_way_out(source, err);
}

void settle_weaken(struct settled *out, enum guarantee guarantee)
{
	if (out->guarantee < guarantee)
		out->guarantee = guarantee;
}

void settle_explain_off(const struct watermark_spec *mark, struct settled *out,
			struct strbuf *reason)
{
	bool lag = mark->lag_us > 0 || mark->lag_count > 0;

	reason_add(reason, "watermark.settle is off");
	settle_weaken(out, lag ? GUARANTEE_LAG : GUARANTEE_NONE);
}

void settle_explain_zone(const char *column, struct settled *out,
			 struct strbuf *reason)
{
	reason_add(reason,
		   "\"%s\" has no time zone, and watermark.time_zone does not "
		   "say whose clock it holds",
		   column);
	settle_weaken(out, GUARANTEE_LAG);
}

void reason_add(struct strbuf *reason, const char *fmt, ...)
{
	va_list ap;

	if (reason->len)
		strbuf_addstr(reason, "; ");
	va_start(ap, fmt);
	strbuf_vaddf(reason, fmt, ap);
	va_end(ap);
}

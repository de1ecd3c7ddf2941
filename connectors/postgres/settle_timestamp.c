#include <stdlib.h>
#include <string.h>

#include "connectors/postgres/activity.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/zone.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

/* A transaction takes its now() a moment before pg_stat_activity shows it. */
#define SETTLE_MARGIN_US US_PER_SECOND
/* How far a wall clock can be before UTC. */
#define SETTLE_ZONE_MOST_US (INT64_C(15) * 3600 * US_PER_SECOND)

static int64_t settle_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The instant up to which no open transaction can commit a row. */
static int64_t settle_instant(const struct activity *a,
			      const struct watermark_spec *mark)
{
	int64_t us = settle_least(a->now_us, a->oldest_us);

	if (!mark->settle)
		return a->now_us;
	/* When a prepared transaction began is not recorded. */
	if (a->prepared_us != INT64_MAX)
		us = settle_least(us, a->prepared_us - mark->lag_us);
	if (a->standby)
		us = a->replayed_us == INT64_MIN
			     ? INT64_MIN
			     : settle_least(us, a->replayed_us);
	return us == INT64_MIN ? us : us - SETTLE_MARGIN_US;
}

static int64_t settle_floor(int64_t us, int64_t unit_us)
{
	int64_t rest = us % unit_us;

	return us - (rest < 0 ? rest + unit_us : rest);
}

/* The tick that holds the instant is open: what is written now may carry a
 * mark at its beginning. */
static char *settle_text(const struct layout_column *mark, int64_t us)
{
	struct strbuf sb = STRBUF_INIT;
	int64_t tick_us = 1;

	if (mark->wire->oid == WIRE_DATE) {
		us = settle_floor(us, US_PER_DAY) - US_PER_DAY;
		value_print_date(&sb, (int32_t)(us / US_PER_DAY));
		return strbuf_detach(&sb);
	}
	for (int digits = mark->type.digits; digits < 6; digits++)
		tick_us *= 10;
	value_print_timestamp(&sb, settle_floor(us, tick_us) - 1,
			      mark->wire->oid == WIRE_TIMESTAMPTZ);
	return strbuf_detach(&sb);
}

/* The stored mark as µs; a text in another notation than ours (set by hand)
 * is put into it by the server. */
static int settle_parse(struct postgres *c, const char *text, int64_t *out,
			struct error *err)
{
	const struct layout_column *mark = layout_mark(&c->layout);
	struct pg_result *r = NULL;
	const char *params[] = { text };
	char *sql;
	int rc;

	if (value_parse_timestamp(text, out))
		return 0;
	sql = xstrfmt("SELECT $1::%s::timestamp::text", mark->cast);
	rc = pg_query(c->pg, &r, sql, 1, params, err);
	free(sql);
	if (rc) {
		error_prefix(err, "the mark's value '%s'", text);
		err->code = ERROR_SCHEMA;
		return -ERROR_SCHEMA;
	}
	if (!value_parse_timestamp(pg_value(r, 0, 0), out))
		rc = error_set(err, ERROR_SCHEMA,
			       "the mark's value '%s' is no point in time",
			       text);
	pg_result_free(r);
	return rc;
}

/* The mark never goes back by itself, and cannot be ahead of the clock. */
static int settle_against_mark(struct postgres *c, const struct activity *a,
			       const struct watermark *from,
			       struct settled *out, struct error *err)
{
	bool instant = layout_mark(&c->layout)->wire->oid == WIRE_TIMESTAMPTZ;
	int64_t latest = a->now_us + (instant ? 0 : SETTLE_ZONE_MOST_US);
	int64_t value, settled = INT64_MIN;
	int rc;

	if (!from->value)
		return 0;
	rc = settle_parse(c, from->value, &value, err);
	if (!rc && out->value)
		rc = settle_parse(c, out->value, &settled, err);
	if (rc)
		return rc;
	if (value > latest) {
		char now[CLOCK_TEXT_SIZE];
		clock_format_utc(a->now_us, now);
		return error_set(err, ERROR_SCHEMA,
				 "the mark, %s, is ahead of the source's clock "
				 "(%s): the source cannot have produced it",
				 from->value, now);
	}
	if (settled < value) {
		free(out->value);
		out->value = xstrdup(from->value);
	}
	return 0;
}

static int settle_value(struct postgres *c, const struct watermark_spec *mark,
			int64_t us, struct settled *out, struct error *err)
{
	const struct layout_column *column = layout_mark(&c->layout);
	int rc = 0;

	if (us == INT64_MIN)
		return 0;
	if (column->wire->oid != WIRE_TIMESTAMPTZ)
		rc = zone_wall_clock(c->pg, mark->time_zone, us, &us, err);
	if (!rc)
		out->value = settle_text(column, us);
	return rc;
}

static void settle_guarantee(struct postgres *c, const struct activity *a,
			     const struct watermark_spec *mark,
			     struct settled *out)
{
	const struct layout_column *column = layout_mark(&c->layout);
	struct strbuf reason = STRBUF_INIT;
	bool weak = activity_explain(a, &reason);

	if (a->prepared_us != INT64_MAX) {
		reason_add(&reason, "a prepared transaction is open, and when "
				    "it began is not recorded (COMMIT PREPARED "
				    "or ROLLBACK PREPARED it)");
		weak = true;
	}
	if (column->wire->oid != WIRE_TIMESTAMPTZ &&
	    zone_is_automatic(mark->time_zone)) {
		reason_add(&reason,
			   "\"%s\" has no time zone, and watermark.time_zone "
			   "does not say whose clock it holds",
			   column->name);
		weak = true;
	}
	out->guarantee = weak ? GUARANTEE_LAG : GUARANTEE_EXACT;
	if (!mark->settle) {
		strbuf_reset(&reason);
		reason_add(&reason, "watermark.settle is off");
		out->guarantee =
			mark->lag_us > 0 ? GUARANTEE_LAG : GUARANTEE_NONE;
	}
	out->reason = strbuf_detach(&reason);
}

int settle_timestamp(struct postgres *c, const struct watermark_spec *mark,
		     const struct watermark *from, struct settled *out,
		     struct error *err)
{
	struct activity a;
	int64_t us;
	int rc = activity_read(c->pg, &a, err);

	if (rc)
		return rc;
	us = settle_instant(&a, mark);
	rc = settle_value(c, mark, us, out, err);
	if (!rc)
		rc = settle_against_mark(c, &a, from, out, err);
	settle_guarantee(c, &a, mark, out);
	out->held_by = json_incref(a.held_by);
	out->lag_us = us == INT64_MIN ? -1 : a.now_us - us;
	activity_release(&a);
	return rc;
}

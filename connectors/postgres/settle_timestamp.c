#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "connectors/common/wall_clock.h"
#include "connectors/postgres/activity.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/tick.h"
#include "connectors/postgres/zone.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/data/value.h"

/* A clock that was corrected, as opposed to another server's. */
#define SETTLE_STEP_MOST_US (10 * 60 * US_PER_SECOND)

static int64_t settle_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When a prepared transaction began is not recorded, so none of the instants
 * before it is settled. One that was prepared after this look had its session
 * in it, or began later: if those that the look found are over by now, they
 * are committed and visible, and what the look says of sessions holds. */
static int settle_prepared(struct postgres *c, struct activity *a,
			   struct error *err)
{
	json_t *prepared = json_array(), *item;
	size_t i;
	int rc;

	json_array_foreach(a->open, i, item)
	{
		if (json_object_get(item, "prepared"))
			json_array_append(prepared, item);
	}
	rc = activity_wait(c->pg, &prepared, err);
	if (!json_array_size(prepared)) {
		a->prepared_us = INT64_MAX;
		json_decref(a->prepared_by);
		a->prepared_by = NULL;
	}
	json_decref(prepared);
	return rc;
}

/* The instant up to which no open transaction can commit a row. */
static int64_t settle_instant(const struct activity *a,
			      const struct watermark_spec *mark)
{
	int64_t us = settle_least(a->now_us, a->oldest_us);

	if (!mark->settle)
		return a->now_us;
	if (a->prepared_us != INT64_MAX)
		return INT64_MIN;
	if (a->standby)
		us = a->replayed_us == INT64_MIN
			     ? INT64_MIN
			     : settle_least(us, a->replayed_us);
	return us == INT64_MIN ? us : us - SETTLE_MARGIN_US;
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
			       "the mark's value '%s' is no point in "
			       "time. " SETTLE_WAY_OUT,
			       text);
	pg_result_free(r);
	return rc;
}

/* A mark is never later than the clock was, less the margin: a clock that is
 * behind it was set back. Rows that were stamped since may lie below the mark.
 */
static void settle_clock(struct postgres *c, const struct activity *a,
			 const struct watermark_spec *mark, int64_t value_us,
			 struct settled *out)
{
	int64_t behind = value_us - (a->now_us - SETTLE_MARGIN_US);
	struct strbuf text = STRBUF_INIT, reason = STRBUF_INIT;

	if (!mark->settle || behind <= 0 || behind > SETTLE_STEP_MOST_US ||
	    layout_mark(&c->layout)->wire->oid != WIRE_TIMESTAMPTZ)
		return;
	units_print_duration(&text,
			     (behind / US_PER_SECOND + 1) * US_PER_SECOND);
	strbuf_addf(&reason,
		    "the source's clock was set back, to before the mark: rows "
		    "stamped since may lie below it (watermark.lag has to be "
		    "%s or more)",
		    text.data);
	log_warn("%s", reason.data);
	settle_weaken(out, GUARANTEE_LAG);
	out->reason = strbuf_detach(&reason);
	strbuf_release(&text);
}

static int settle_against_mark(struct postgres *c, const struct activity *a,
			       const struct watermark_spec *mark,
			       const struct watermark *from,
			       struct settled *out, struct error *err)
{
	int64_t value, settled = INT64_MIN, now = a->now_us;
	int rc;

	if (!from->value)
		return 0;
	rc = settle_parse(c, from->value, &value, err);
	if (!rc && out->value)
		rc = settle_parse(c, out->value, &settled, err);
	if (rc)
		return rc;
	settle_clock(c, a, mark, value, out);
	if (out->reason && now < value)
		now = value;
	return settle_keep_mark(&layout_mark(&c->layout)->type, now, value,
				settled, from, out, err);
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
		out->value = settle_text(&column->type, us);
	return rc;
}

static void settle_guarantee(struct postgres *c, const struct activity *a,
			     const struct watermark_spec *mark,
			     struct settled *out)
{
	const struct layout_column *column = layout_mark(&c->layout);
	struct strbuf reason = STRBUF_INIT;

	if (out->reason)
		reason_add(&reason, "%s", out->reason);
	free(out->reason);
	if (!tick_is_known(column)) {
		reason_add(&reason,
			   "how coarse \"%s\" is, and so which values are "
			   "still being written, is not known of what it is "
			   "computed from (let the mark be a column that holds "
			   "the time as it was written, or set watermark.lag "
			   "to as long as a value stays the same)",
			   column->name);
		settle_weaken(out, GUARANTEE_LAG);
	}
	if (activity_explain(a, &reason))
		settle_weaken(out, GUARANTEE_LAG);
	if (a->prepared_us != INT64_MAX)
		reason_add(&reason,
			   "the mark waits for the prepared transaction '%s', "
			   "as the server does not record when it began "
			   "(COMMIT PREPARED or ROLLBACK PREPARED it)",
			   json_string_value(json_object_get(a->prepared_by,
							     "prepared")));
	if (column->wire->oid != WIRE_TIMESTAMPTZ &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(column->name, out, &reason);
	if (!mark->settle) {
		strbuf_reset(&reason);
		settle_explain_off(mark, out, &reason);
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
	out->guarantee = GUARANTEE_EXACT;
	if (mark->settle)
		rc = settle_prepared(c, &a, err);
	us = settle_instant(&a, mark);
	if (!rc)
		rc = settle_value(c, mark, us, out, err);
	if (!rc)
		rc = settle_against_mark(c, &a, mark, from, out, err);
	settle_guarantee(c, &a, mark, out);
	out->held_by = json_incref(a.prepared_by ? a.prepared_by : a.held_by);
	out->lag_us = us != INT64_MIN		   ? a.now_us - us
		      : a.prepared_us != INT64_MAX ? a.now_us - a.prepared_us
						   : -1;
	activity_release(&a);
	return rc;
}

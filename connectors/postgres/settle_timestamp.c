#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "connectors/common/tick.h"
#include "connectors/common/wall_clock.h"
#include "connectors/postgres/activity.h"
#include "connectors/postgres/computed.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/zone.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

static int64_t settle_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The server does not record when a prepared transaction began, so no earlier
 * instant is settled. A transaction that was prepared after this look was in a
 * session of the look, or began later. If the prepared transactions of the look
 * are over by now, they are committed and visible. Then the look's word on
 * sessions holds. */
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
	rc = postgres_source_activity_wait(c->pg, &prepared, err);
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
	const struct source_column *mark = source_mark(&c->layout);
	struct pg_result *r = NULL;
	const char *params[] = { text };
	char *sql;
	int rc;

	if (value_parse_timestamp(text, out))
		return 0;
	sql = xstrfmt("SELECT $1::%s::timestamp::text", mark->cast);
	rc = pg_query(c->pg, &r, sql, "1t", 1, params, err);
	free(sql);
	if (rc) {
		error_prefix(err, "the mark's value '%s'", text);
		err->code = ERROR_SCHEMA;
		return -ERROR_SCHEMA;
	}
	if (!value_parse_timestamp(pg_value(r, 0, 0), out))
		rc = settle_no_time(text, c->described, err);
	pg_result_free(r);
	return rc;
}

static int settle_against_mark(struct postgres *c,
			       const struct settle_clock *clock,
			       const struct watermark *from,
			       struct settled *out, struct error *err)
{
	struct strbuf reason = STRBUF_INIT;
	int64_t value, settled = INT64_MIN;
	int rc;

	if (!from->value)
		return 0;
	rc = settle_parse(c, from->value, &value, err);
	if (!rc && out->value)
		rc = settle_parse(c, out->value, &settled, err);
	if (rc)
		return rc;
	rc = settle_keep_mark(clock, value, settled, from, out, &reason, err);
	out->reason = strbuf_detach(&reason);
	return rc;
}

/* The column's values come from `clock`. Where nothing is settled its zone is
 * not asked for: it could be any. */
static int settle_value(struct postgres *c, const struct watermark_spec *mark,
			int64_t us, struct settled *out,
			struct settle_clock *clock, struct error *err)
{
	const struct source_column *column = source_mark(&c->layout);
	int64_t wall = us;
	int rc = 0;

	clock->days = column->type.kind == TYPE_DATE;
	if (postgres_source_wire(column)->wire->oid != WIRE_TIMESTAMPTZ)
		clock->zone = us == INT64_MIN ? "auto" : mark->time_zone;
	if (us != INT64_MIN && clock->zone)
		rc = postgres_source_zone_wall_clock(c->pg, mark->time_zone, us,
						     &wall, err);
	if (!rc && us != INT64_MIN)
		out->value = settle_text(&column->type, wall);
	clock->latest_us = settle_latest(
		&column->type,
		us == INT64_MIN ? clock->now_us : clock->now_us + wall - us);
	return rc;
}

static void settle_guarantee(struct postgres *c, const struct activity *a,
			     const struct watermark_spec *mark,
			     struct settled *out)
{
	const struct source_column *column = source_mark(&c->layout);
	struct strbuf reason = STRBUF_INIT;

	if (out->reason)
		reason_add(&reason, "%s", out->reason);
	free(out->reason);
	if (!postgres_source_computed_is_plain(column))
		tick_explain(column->name,
			     postgres_source_computed_doubt(column), out,
			     &reason);
	if (postgres_source_activity_explain(a, &reason))
		settle_weaken(out, GUARANTEE_LAG);
	if (a->prepared_us != INT64_MAX)
		reason_add(&reason,
			   "the mark waits for the prepared transaction '%s', "
			   "as the server does not record when it began "
			   "(COMMIT PREPARED or ROLLBACK PREPARED it)",
			   json_string_value(json_object_get(a->prepared_by,
							     "prepared")));
	if (postgres_source_wire(column)->wire->oid != WIRE_TIMESTAMPTZ &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(column->name, out, &reason);
	if (!mark->settle) {
		strbuf_reset(&reason);
		settle_explain_off(mark, out, &reason);
	}
	out->reason = strbuf_detach(&reason);
}

int postgres_source_settle_timestamp(struct postgres *c,
				     const struct watermark_spec *mark,
				     const struct watermark *from,
				     struct settled *out, struct error *err)
{
	struct settle_clock clock = { 0 };
	struct activity a;
	int64_t us;
	int rc = postgres_source_activity_read(c->pg, &a, err);

	if (rc)
		return rc;
	clock.now_us = a.now_us;
	out->guarantee = GUARANTEE_EXACT;
	if (mark->settle)
		rc = settle_prepared(c, &a, err);
	us = settle_instant(&a, mark);
	if (!rc)
		rc = settle_value(c, mark, us, out, &clock, err);
	if (!rc)
		rc = settle_against_mark(c, &clock, from, out, err);
	settle_guarantee(c, &a, mark, out);
	out->held_by = json_incref(a.prepared_by ? a.prepared_by : a.held_by);
	out->lag_us = us != INT64_MIN		   ? a.now_us - us
		      : a.prepared_us != INT64_MAX ? a.now_us - a.prepared_us
						   : -1;
	postgres_source_activity_release(&a);
	return rc;
}

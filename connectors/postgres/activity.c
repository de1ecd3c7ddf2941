#include "connectors/postgres/activity.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/common/settle.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/table_name.h"
#include "core/data/value.h"

#define ACTIVITY_LOOKS	  5
#define ACTIVITY_PAUSE_US (20 * 1000)

/*
 * A backend shows its statement (query_start) a little before its transaction
 * (xact_start), and has taken its now() before both. So an active backend
 * without a transaction counts from its statement. Autovacuum and our own
 * reading sessions never write rows. A role that may not see others' sessions
 * gets rows of NULLs. These do not show up here, and may_see says so. Without
 * track_activities a session shows nothing. If it is switched on within a
 * transaction, only the transaction's start stays hidden.
 */
static const char activity_sql[] =
	"WITH mine AS (\n"
	"  SELECT oid FROM pg_roles WHERE rolname = session_user),\n"
	"session AS (\n"
	"  SELECT pid, application_name, state, backend_xid,\n"
	"    coalesce(xact_start, CASE\n"
	"      WHEN state = 'active' AND backend_type = 'client backend'\n"
	"      THEN query_start END) AS since,\n"
	"    usename, state = 'disabled' OR (xact_start IS NULL\n"
	"      AND (state LIKE 'idle in transaction%'\n"
	"        OR (state = 'active' AND backend_type = 'client backend'\n"
	"          AND query_start < clock_timestamp() - interval '1 s')))\n"
	"      AS hidden\n"
	"  FROM pg_stat_activity\n"
	"  WHERE datname = current_database() AND pid <> pg_backend_pid()\n"
	"    AND backend_type IS DISTINCT FROM 'autovacuum worker'\n"
	"    AND NOT (application_name LIKE 'tidemark/source%'\n"
	"         AND usesysid IS NOT DISTINCT FROM (SELECT oid FROM mine)))\n"
	"SELECT now(), pg_has_role(current_user, 'pg_read_all_stats', "
	"'USAGE'),\n"
	"  pg_is_in_recovery(), pg_last_xact_replay_timestamp(),\n"
	"  (SELECT min(quote_ident(usename)) FROM session WHERE hidden),\n"
	"  current_user, s.since, s.pid, s.application_name, s.state,\n"
	"  s.backend_xid, pg_snapshot_xmax(pg_current_snapshot())\n"
	"FROM (VALUES (1)) one\n"
	"  LEFT JOIN session s ON s.since IS NOT NULL\n"
	"ORDER BY s.since";

/* Asked after the sessions. A transaction that is prepared in between was seen
 * there. A transaction that commits in between is visible to every snapshot
 * from now on. */
static const char prepared_sql[] =
	"SELECT gid, prepared, owner, transaction FROM pg_prepared_xacts\n"
	"WHERE database = current_database() ORDER BY prepared";

static int64_t activity_time(const char *text, int64_t missing)
{
	int64_t us;

	return text && value_parse_timestamp(text, &us) ? clock_bounded_us(us)
							: missing;
}

static json_int_t activity_number(const char *text)
{
	return text ? strtoll(text, NULL, 10) : 0;
}

static void activity_hold(struct activity *a, const struct pg_result *r)
{
	char since[CLOCK_TEXT_SIZE];

	clock_format_utc(a->oldest_us, since);
	a->held_by = json_pack("{s:i, s:s*, s:s*, s:s}", "pid",
			       (int)activity_number(pg_value(r, 0, 7)),
			       "application", pg_value(r, 0, 8), "state",
			       pg_value(r, 0, 9), "since", since);
}

/* A transaction without an xid gets one that was not given out yet when the
 * statement's snapshot was taken. */
static void activity_add_session(struct activity *a, const struct pg_result *r,
				 int row)
{
	bool known = pg_value(r, row, 10) != NULL;

	json_array_append_new(
		a->open,
		json_pack("{s:I, s:s, s:I}", "pid",
			  activity_number(pg_value(r, row, 7)), "since",
			  pg_value(r, row, 6), known ? "xid" : "xid_from",
			  activity_number(pg_value(r, row, known ? 10 : 11))));
}

static int activity_sessions(struct pg *pg, struct activity *a,
			     struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, activity_sql, "+ttt??t?????t", 0, NULL, err);

	if (rc)
		return rc;
	a->now_us = activity_time(pg_value(r, 0, 0), INT64_MIN);
	if (a->now_us == INT64_MIN) {
		pg_result_free(r);
		return pg_refuse_answer(pg, "its time", err);
	}
	a->may_see = *pg_value(r, 0, 1) == 't';
	a->standby = *pg_value(r, 0, 2) == 't';
	a->replayed_us = activity_time(pg_value(r, 0, 3), INT64_MIN);
	a->hidden = xstrdup(pg_value(r, 0, 4));
	a->role = xstrdup(pg_value(r, 0, 5));
	a->oldest_us = activity_time(pg_value(r, 0, 6), INT64_MAX);
	if (a->oldest_us != INT64_MAX)
		activity_hold(a, r);
	for (int i = 0; i < pg_rows(r) && pg_value(r, i, 6); i++)
		activity_add_session(a, r, i);
	pg_result_free(r);
	return 0;
}

static void activity_hold_prepared(struct activity *a,
				   const struct pg_result *r)
{
	char since[CLOCK_TEXT_SIZE];

	a->prepared_us = activity_time(pg_value(r, 0, 1), INT64_MIN);
	clock_format_utc(a->prepared_us, since);
	a->prepared_by = json_pack("{s:s, s:s, s:s, s:s}", "prepared",
				   pg_value(r, 0, 0), "role", pg_value(r, 0, 2),
				   "state", "prepared", "since", since);
}

static int activity_prepared(struct pg *pg, struct activity *a,
			     struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, prepared_sql, "tttt", 0, NULL, err);

	if (rc)
		return rc;
	for (int i = 0; i < pg_rows(r); i++)
		json_array_append_new(
			a->open,
			json_pack("{s:s, s:I}", "prepared", pg_value(r, i, 0),
				  "xid", activity_number(pg_value(r, i, 3))));
	if (pg_rows(r))
		activity_hold_prepared(a, r);
	pg_result_free(r);
	return 0;
}

void postgres_source_activity_ahead(struct pg *pg)
{
	pg_ahead_add(pg, activity_sql, 0, NULL);
	pg_ahead_add_behind(pg, prepared_sql);
}

int postgres_source_activity_read(struct pg *pg, struct activity *out,
				  struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->prepared_us = INT64_MAX;
	out->open = json_array();
	rc = activity_sessions(pg, out, err);
	if (!rc)
		rc = activity_prepared(pg, out, err);
	if (rc)
		postgres_source_activity_release(out);
	return rc;
}

void postgres_source_activity_release(struct activity *a)
{
	free(a->role);
	free(a->hidden);
	json_decref(a->held_by);
	json_decref(a->prepared_by);
	json_decref(a->open);
	memset(a, 0, sizeof(*a));
}

static uint32_t activity_xid(const json_t *item, const char *member)
{
	return (uint32_t)json_integer_value(json_object_get(item, member));
}

static bool activity_is_prepared(const json_t *item)
{
	return json_object_get(item, "prepared") != NULL;
}

/* The same transaction, in the same state. */
static bool activity_is_same(const json_t *a, const json_t *b)
{
	if (activity_is_prepared(a) || activity_is_prepared(b))
		return activity_is_prepared(a) && activity_is_prepared(b) &&
		       activity_xid(a, "xid") == activity_xid(b, "xid");
	return json_equal(json_object_get(a, "pid"),
			  json_object_get(b, "pid")) &&
	       json_equal(json_object_get(a, "since"),
			  json_object_get(b, "since"));
}

/* May what was the session's transaction `then` be the prepared `now`? Ids of
 * 32 bits are compared by their distance. */
static bool activity_may_be(const json_t *then, const json_t *now)
{
	if (activity_is_prepared(then) || !activity_is_prepared(now))
		return false;
	if (json_object_get(then, "xid"))
		return activity_xid(then, "xid") == activity_xid(now, "xid");
	return (int32_t)(activity_xid(now, "xid") -
			 activity_xid(then, "xid_from")) >= 0;
}

static void activity_put(json_t *set, json_t *item)
{
	size_t i;
	json_t *other;

	json_array_foreach(set, i, other)
	{
		if (activity_is_same(other, item))
			return;
	}
	json_array_append(set, item);
}

json_t *postgres_source_activity_left(const struct activity *a,
				      const json_t *set)
{
	json_t *left = json_array(), *then, *now;
	size_t i, j;

	json_array_foreach(set, i, then)
	{
		json_array_foreach(a->open, j, now)
		{
			if (activity_is_same(then, now) ||
			    activity_may_be(then, now))
				activity_put(left, now);
		}
	}
	return left;
}

int postgres_source_activity_wait(struct pg *pg, json_t **set,
				  struct error *err)
{
	for (int i = 0; json_array_size(*set) && i < ACTIVITY_LOOKS; i++) {
		struct activity now;
		json_t *left;
		int rc;
		if (clock_sleep_us(ACTIVITY_PAUSE_US))
			return 0;
		rc = postgres_source_activity_read(pg, &now, err);
		if (rc)
			return rc;
		left = postgres_source_activity_left(&now, *set);
		json_decref(*set);
		*set = left;
		postgres_source_activity_release(&now);
	}
	return 0;
}

bool postgres_source_activity_explain(const struct activity *a,
				      struct strbuf *reason)
{
	size_t before = reason->len;

	if (!a->may_see) {
		struct strbuf role = STRBUF_INIT;
		sql_quote_name(&role, a->role, '"');
		reason_add(reason,
			   "the role cannot see the transactions of others "
			   "(GRANT pg_read_all_stats TO %s)",
			   role.data);
		strbuf_release(&role);
	}
	if (a->standby)
		reason_add(reason, "the source is a standby, where the "
				   "primary's open transactions do not show");
	if (a->hidden)
		reason_add(reason,
			   "a session of role %s has track_activities off, or "
			   "had it when its transaction began, so that this "
			   "does not show (ALTER ROLE %s SET track_activities "
			   "= on)",
			   a->hidden, a->hidden);
	return reason->len > before;
}

#include "connectors/postgres/activity.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "core/data/value.h"

/*
 * A backend shows its statement (query_start) a little before its transaction
 * (xact_start), and has taken its now() before both: an active one without a
 * transaction counts from its statement. Autovacuum and our own reading
 * sessions never write rows. A role that may not see others' sessions gets
 * rows of NULLs: those do not show up here, and may_see says so.
 */
static const char activity_sql[] =
	"WITH mine AS (\n"
	"  SELECT oid FROM pg_roles WHERE rolname = session_user),\n"
	"session AS (\n"
	"  SELECT pid, application_name, state,\n"
	"    coalesce(xact_start, CASE\n"
	"      WHEN state = 'active' AND backend_type = 'client backend'\n"
	"      THEN query_start END) AS since\n"
	"  FROM pg_stat_activity\n"
	"  WHERE datname = current_database() AND pid <> pg_backend_pid()\n"
	"    AND backend_type IS DISTINCT FROM 'autovacuum worker'\n"
	"    AND NOT (application_name LIKE 'tidemark/source%'\n"
	"         AND usesysid IS NOT DISTINCT FROM (SELECT oid FROM mine)))\n"
	"SELECT now(), pg_has_role(current_user, 'pg_read_all_stats', "
	"'USAGE'),\n"
	"  pg_is_in_recovery(), pg_last_xact_replay_timestamp(),\n"
	"  EXISTS (SELECT FROM session WHERE state = 'disabled'),\n"
	"  current_user, s.since, s.pid, s.application_name, s.state\n"
	"FROM (VALUES (1)) one\n"
	"  LEFT JOIN session s ON s.since IS NOT NULL\n"
	"ORDER BY s.since";

/* Asked after the sessions: a transaction that is prepared in between has been
 * seen there, one that commits in between is visible to every snapshot from
 * now on. */
static const char prepared_sql[] =
	"SELECT gid, prepared, owner FROM pg_prepared_xacts\n"
	"WHERE database = current_database() ORDER BY prepared";

static int64_t activity_time(const char *text, int64_t missing)
{
	int64_t us;

	return text && value_parse_timestamp(text, &us) ? us : missing;
}

static void activity_hold(struct activity *a, const struct pg_result *r)
{
	char since[CLOCK_TEXT_SIZE];

	clock_format_utc(a->oldest_us, since);
	a->held_by = json_pack("{s:i, s:s*, s:s*, s:s}", "pid",
			       (int)strtol(pg_value(r, 0, 7), NULL, 10),
			       "application", pg_value(r, 0, 8), "state",
			       pg_value(r, 0, 9), "since", since);
}

static int activity_sessions(struct pg *pg, struct activity *a,
			     struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, activity_sql, 0, NULL, err);

	if (rc)
		return rc;
	a->now_us = activity_time(pg_value(r, 0, 0), INT64_MIN);
	a->may_see = *pg_value(r, 0, 1) == 't';
	a->standby = *pg_value(r, 0, 2) == 't';
	a->replayed_us = activity_time(pg_value(r, 0, 3), INT64_MIN);
	a->hidden = *pg_value(r, 0, 4) == 't';
	a->role = xstrdup(pg_value(r, 0, 5));
	a->oldest_us = activity_time(pg_value(r, 0, 6), INT64_MAX);
	if (a->oldest_us != INT64_MAX)
		activity_hold(a, r);
	for (int i = 0; i < pg_rows(r) && pg_value(r, i, 6); i++) {
		char *text = xstrfmt("%s since %s", pg_value(r, i, 7),
				     pg_value(r, i, 6));
		json_array_append_new(a->open, json_string(text));
		free(text);
	}
	pg_result_free(r);
	return 0;
}

static int activity_prepared(struct pg *pg, struct activity *a,
			     struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, prepared_sql, 0, NULL, err);

	if (rc)
		return rc;
	for (int i = 0; i < pg_rows(r); i++) {
		char *text = xstrfmt("prepared %s", pg_value(r, i, 0));
		json_array_append_new(a->open, json_string(text));
		free(text);
	}
	if (pg_rows(r))
		a->prepared_us = activity_time(pg_value(r, 0, 1), INT64_MIN);
	if (pg_rows(r) && a->prepared_us < a->oldest_us) {
		char since[CLOCK_TEXT_SIZE];
		clock_format_utc(a->prepared_us, since);
		json_decref(a->held_by);
		a->held_by =
			json_pack("{s:s, s:s, s:s, s:s}", "prepared",
				  pg_value(r, 0, 0), "role", pg_value(r, 0, 2),
				  "state", "prepared", "since", since);
	}
	pg_result_free(r);
	return 0;
}

int activity_read(struct pg *pg, struct activity *out, struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->prepared_us = INT64_MAX;
	out->open = json_array();
	rc = activity_sessions(pg, out, err);
	if (!rc)
		rc = activity_prepared(pg, out, err);
	if (rc)
		activity_release(out);
	return rc;
}

void activity_release(struct activity *a)
{
	free(a->role);
	json_decref(a->held_by);
	json_decref(a->open);
	memset(a, 0, sizeof(*a));
}

bool activity_has_any(const struct activity *a, const json_t *set)
{
	size_t i, j;
	json_t *wanted, *open;

	json_array_foreach(set, i, wanted)
	{
		json_array_foreach(a->open, j, open)
		{
			if (json_equal(wanted, open))
				return true;
		}
	}
	return false;
}

bool activity_explain(const struct activity *a, struct strbuf *reason)
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
		reason_add(reason, "a session has track_activities off, so its "
				   "transactions do not show");
	return reason->len > before;
}

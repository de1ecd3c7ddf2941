#include "connectors/mysql/activity.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/data/table_name.h"
#include "core/data/value.h"

/*
 * innodb_trx shows trx_started in the zone of the server's system, whatever
 * the session's; an hour that comes twice is taken for its first time. The
 * table is a copy that is renewed only when nobody has looked for 0.1 s: that
 * it is fresh is known when it shows this very statement, by its tag.
 */
static const char activity_trx_sql[] =
	"SELECT /* tidemark %s */ t.thread,\n"
	"  IF(CONVERT_TZ(t.utc - INTERVAL 1 HOUR, '+00:00', 'SYSTEM')\n"
	"       = t.started, t.utc - INTERVAL 1 HOUR, t.utc) AS since,\n"
	"  t.thread = CONNECTION_ID() AND t.query LIKE '%%tidemark %s%%',\n"
	"  t.thread = CONNECTION_ID() OR t.read_only, t.state, t.query\n"
	"FROM (SELECT trx_mysql_thread_id AS thread, trx_started AS started,\n"
	"    CONVERT_TZ(trx_started, 'SYSTEM', '+00:00') AS utc,\n"
	"    trx_query AS query, trx_is_read_only AS read_only,\n"
	"    trx_state AS state\n"
	"  FROM information_schema.innodb_trx) t ORDER BY since";

/* A statement that waits for a metadata lock has taken its NOW(), and its
 * transaction does not show yet. Whole seconds, rounded down. */
static const char activity_statements_sql[] =
	"SELECT id, UTC_TIMESTAMP() - INTERVAL GREATEST(time, 0) SECOND,\n"
	"  user = 'system user', state, LEFT(info, 200)\n"
	"FROM %s.processlist\n"
	"WHERE id <> CONNECTION_ID() AND command NOT IN ('Sleep', 'Daemon',\n"
	"    'Binlog Dump', 'Binlog Dump GTID')\n"
	"  AND (info IS NOT NULL OR user = 'system user')\n"
	"  AND COALESCE(info, '') NOT LIKE 'SELECT /* tidemark source */%%'\n"
	"ORDER BY 2";

#define ACTIVITY_LOOKS	  12
#define ACTIVITY_PAUSE_US (110 * 1000)

static int64_t activity_time(const char *text, int64_t missing)
{
	int64_t us;

	return text && value_parse_timestamp(text, &us) ? us : missing;
}

static void activity_hold(struct mysrc_activity *a, int64_t since_us,
			  const char *id, const char *state, const char *query)
{
	char since[CLOCK_TEXT_SIZE];
	char *text = query ? xstrdup(query) : NULL;

	if (since_us >= a->oldest_us) {
		free(text);
		return;
	}
	a->oldest_us = since_us;
	clock_format_utc(since_us, since);
	if (text)
		utf8_repair(text);
	json_decref(a->held_by);
	a->held_by = json_pack("{s:I, s:s*, s:s, s:s*}", "pid",
			       (json_int_t)strtoll(id, NULL, 10), "state",
			       state, "since", since, "query", text);
	free(text);
}

static int activity_statements(struct mydb *db, struct mysrc_activity *a,
			       bool hold, struct error *err)
{
	struct mydb_result *r = NULL;
	char *sql = xstrfmt(activity_statements_sql,
			    mydb_is_mariadb(db) ? "information_schema"
						: "performance_schema");
	int rc = mydb_query(db, &r, sql, 0, NULL, err);

	free(sql);
	if (rc)
		return rc;
	for (size_t i = 0; i < mydb_rows(r); i++) {
		const char *system = mydb_value(r, i, 2);
		if (system && *system == '1')
			a->replica = true;
		else if (hold)
			activity_hold(
				a,
				activity_time(mydb_value(r, i, 1), INT64_MIN),
				mydb_value(r, i, 0), mydb_value(r, i, 3),
				mydb_value(r, i, 4));
	}
	mydb_result_free(r);
	return 0;
}

/* One look; `fresh` says whether it can be believed. */
static int activity_look(struct mydb *db, struct mydb_result **out, bool *fresh,
			 struct error *err)
{
	static atomic_uint looks;
	char *tag = xstrfmt("%lu.%u", mydb_session(db),
			    atomic_fetch_add(&looks, 1));
	char *sql = xstrfmt(activity_trx_sql, tag, tag);
	int rc = mydb_query(db, out, sql, 0, NULL, err);

	*fresh = false;
	for (size_t i = 0; !rc && i < mydb_rows(*out); i++) {
		const char *mine = mydb_value(*out, i, 2);
		*fresh |= mine && *mine == '1';
	}
	free(tag);
	free(sql);
	return rc;
}

static void activity_take(struct mysrc_activity *a, const struct mydb_result *r)
{
	for (size_t i = 0; i < mydb_rows(r); i++) {
		const char *since = mydb_value(r, i, 1);
		const char *harmless = mydb_value(r, i, 3);
		char *text;
		if (harmless && *harmless == '1')
			continue;
		activity_hold(a, activity_time(since, INT64_MIN),
			      mydb_value(r, i, 0), mydb_value(r, i, 4),
			      mydb_value(r, i, 5));
		text = xstrfmt("%s since %s", mydb_value(r, i, 0),
			       since ? since : "?");
		json_array_append_new(a->open, json_string(text));
		free(text);
	}
}

/* Our own transaction is in the list: that is how its age is known. */
static int activity_transactions(struct mydb *db, struct mysrc_activity *a,
				 struct error *err)
{
	struct mydb_result *r = NULL;
	struct error why = ERROR_INIT;
	bool fresh = false;
	int rc = mydb_exec(db,
			   "START TRANSACTION WITH CONSISTENT SNAPSHOT, "
			   "READ ONLY",
			   err);

	if (rc)
		return rc;
	for (int i = 0; !rc && !fresh && i < ACTIVITY_LOOKS; i++) {
		mydb_result_free(r);
		r = NULL;
		if (i && clock_sleep_us(ACTIVITY_PAUSE_US))
			break;
		rc = activity_look(db, &r, &fresh, &why);
	}
	a->may_see = !rc;
	a->stale = !rc && !fresh;
	if (!rc && r)
		activity_take(a, r);
	mydb_result_free(r);
	if (rc && !mydb_failed_with(&why, 1227)) {
		*err = why;
		return rc;
	}
	return mydb_exec(db, "COMMIT", err);
}

/* Asked after the others: one that is prepared in between was seen there. */
static int activity_xa(struct mydb *db, struct mysrc_activity *a,
		       struct error *err)
{
	struct mydb_result *r = NULL;
	struct error why = ERROR_INIT;
	int rc = mydb_query(db, &r, "XA RECOVER", 0, NULL, &why);

	a->may_see_xa = !rc;
	if (rc && !mydb_failed_with(&why, 1401) &&
	    !mydb_failed_with(&why, 1227)) {
		*err = why;
		return rc;
	}
	for (size_t i = 0; !rc && i < mydb_rows(r); i++) {
		const char *data = mydb_value(r, i, 3);
		char *text = xstrfmt("XA %s", data ? data : "");
		utf8_repair(text);
		json_array_append_new(a->open, json_string(text));
		free(text);
		a->xa = true;
	}
	mydb_result_free(r);
	return 0;
}

/* 'app'@'%' */
static char *activity_quote_user(const char *user)
{
	const char *sign = strrchr(user, '@');
	struct strbuf sb = STRBUF_INIT;
	char *name =
		xstrndup(user, sign ? (size_t)(sign - user) : strlen(user));

	sql_quote_literal(&sb, name);
	if (sign) {
		strbuf_addch(&sb, '@');
		sql_quote_literal(&sb, sign + 1);
	}
	free(name);
	return strbuf_detach(&sb);
}

static int activity_begin(struct mydb *db, struct mysrc_activity *a,
			  struct error *err)
{
	struct mydb_result *r = NULL;
	int rc = mydb_query(db, &r, "SELECT UTC_TIMESTAMP(6), CURRENT_USER()",
			    0, NULL, err);

	if (rc)
		return rc;
	a->now_us = activity_time(mydb_value(r, 0, 0), INT64_MIN);
	a->user = activity_quote_user(mydb_value(r, 0, 1));
	mydb_result_free(r);
	return 0;
}

int mysrc_activity_read(struct mydb *db, bool statements,
			struct mysrc_activity *out, struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->oldest_us = INT64_MAX;
	out->open = json_array();
	rc = activity_begin(db, out, err);
	if (!rc)
		rc = activity_statements(db, out, statements, err);
	if (!rc)
		rc = activity_transactions(db, out, err);
	if (!rc)
		rc = activity_xa(db, out, err);
	if (rc)
		mysrc_activity_release(out);
	return rc;
}

void mysrc_activity_release(struct mysrc_activity *a)
{
	free(a->user);
	json_decref(a->held_by);
	json_decref(a->open);
	memset(a, 0, sizeof(*a));
}

bool mysrc_activity_has_any(const struct mysrc_activity *a, const json_t *set)
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

bool mysrc_activity_explain(const struct mysrc_activity *a,
			    struct strbuf *reason)
{
	size_t before = reason->len;

	if (!a->may_see)
		reason_add(reason,
			   "the user cannot see the transactions of others "
			   "(GRANT PROCESS ON *.* TO %s)",
			   a->user);
	if (!a->may_see_xa)
		reason_add(reason,
			   "the user cannot see XA transactions "
			   "(GRANT XA_RECOVER_ADMIN ON *.* TO %s)",
			   a->user);
	if (a->xa)
		reason_add(reason, "an XA transaction is prepared, and when it "
				   "began may not be known (XA COMMIT or XA "
				   "ROLLBACK it)");
	if (a->replica)
		reason_add(reason, "the source is a replica, where the "
				   "primary's open transactions do not show");
	if (a->stale)
		reason_add(reason, "information_schema.innodb_trx is read so "
				   "often by others that it is never fresh");
	return reason->len > before;
}

#include "connectors/mysql/begun.h"
#include "connectors/mysql/transactions.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/data/table_name.h"
#include "core/data/value.h"

#define ACTIVITY_SESSION "session "
#define ACTIVITY_XA	 "XA RECOVER"

/* A statement that waits for a metadata lock has taken its NOW(), and its
 * transaction does not show yet. Times are in whole seconds, rounded down. A
 * list without our own session does not count. */
static const char activity_statements_sql[] =
	"SELECT id, UTC_TIMESTAMP() - INTERVAL GREATEST(time, 0) SECOND,\n"
	"  user = 'system user'%s, state, LEFT(info, 200),\n"
	"  id = CONNECTION_ID()\n"
	"FROM %s.processlist\n"
	"WHERE id = CONNECTION_ID() OR command NOT IN ('Sleep', 'Daemon',\n"
	"    'Binlog Dump', 'Binlog Dump GTID')\n"
	"  AND (info IS NOT NULL OR user = 'system user')\n"
	"  AND COALESCE(info, '') NOT LIKE 'SELECT /* tidemark source */%%'\n"
	"ORDER BY 2";

/* Neither list is enough alone. The first is whole. But MySQL counts the time
 * of a CALL anew with each of its statements, and means to drop the list one
 * day. The second counts from the CALL, but may be empty or have holes,
 * depending on the setup of the performance schema. */
static const char *const activity_lists[] = { "information_schema",
					      "performance_schema" };

/* There an event runs as a system user, like a thread that applies changes. So
 * event workers are left out. */
static const char *const activity_but[] = {
	"", " AND id NOT IN (SELECT processlist_id\n"
	    "    FROM performance_schema.threads\n"
	    "    WHERE name = 'thread/sql/event_worker'\n"
	    "      AND processlist_id IS NOT NULL)"
};

int64_t mysql_source_activity_time(const char *text)
{
	int64_t us;

	return clock_bounded_us(
		text && value_parse_timestamp(text, &us) ? us : INT64_MIN);
}

void mysql_source_activity_hold(struct mysql_source_activity *a,
				int64_t since_us, const char *id,
				const char *state, const char *query)
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

static void activity_statement(struct mysql_source_activity *a,
			       const struct mysql_client_result *r, size_t row,
			       bool hold, json_t *running)
{
	const char *id = mysql_client_value(r, row, 0);
	const char *system = mysql_client_value(r, row, 2);
	const char *own = mysql_client_value(r, row, 5);

	if (own && *own == '1') {
		a->lists = true;
		return;
	}
	if (system && *system == '1') {
		a->applies = true;
		return;
	}
	json_array_append_new(running, json_string(id));
	if (hold)
		mysql_source_activity_hold(
			a,
			mysql_source_activity_time(
				mysql_client_value(r, row, 1)),
			id, mysql_client_value(r, row, 3),
			mysql_client_value(r, row, 4));
}

/* How many lists of statements there are. */
static size_t activity_n_lists(struct mysql_client *db)
{
	return mysql_client_is_mariadb(db) ? 1 : ARRAY_SIZE(activity_lists);
}

static char *activity_list_sql(size_t i)
{
	return xstrfmt(activity_statements_sql, activity_but[i],
		       activity_lists[i]);
}

char *mysql_source_activity_foresee(struct mysql_client *db, bool begun,
				    struct strlist *out)
{
	char *look = mysql_source_transactions_sql(db);

	mysql_source_begun_foresee(db, begun, out);
	for (size_t i = 0; i < activity_n_lists(db); i++) {
		char *sql = activity_list_sql(i);

		mysql_client_foresee(db, out, sql, 0, NULL);
		free(sql);
	}
	mysql_source_transactions_foresee(db, look, out);
	mysql_client_foresee(db, out, ACTIVITY_XA, 0, NULL);
	return look;
}

/* `running`: the sessions that run one. */
static int activity_statements(struct mysql_client *db,
			       struct mysql_source_activity *a, bool hold,
			       json_t *running, struct error *err)
{
	for (size_t i = 0; i < activity_n_lists(db); i++) {
		char *sql = activity_list_sql(i);
		struct mysql_client_result *r = NULL;
		struct error why = ERROR_INIT;
		int rc = mysql_client_query(db, &r, sql, "t?????", 0, NULL,
					    &why);

		free(sql);
		if (rc && rc != -ERROR_SCHEMA && rc != -ERROR_ACCESS &&
		    !mysql_client_failed_with(&why,
					      MYSQL_SOURCE_ERRNO_NARROW)) {
			*err = why;
			return rc;
		}
		for (size_t k = 0; !rc && k < mysql_client_rows(r); k++)
			activity_statement(a, r, k, hold, running);
		mysql_client_result_free(r);
	}
	a->statements_us = a->oldest_us;
	return 0;
}

/* A statement may have got an id that InnoDB's list does not show yet: its
 * transaction begins with the row. */
static void activity_add_running(struct mysql_source_activity *a,
				 const json_t *running)
{
	json_t *id;
	size_t i;

	json_array_foreach(running, i, id)
	{
		const char *thread = json_string_value(id);
		if (json_object_get(a->sessions, thread))
			continue;
		json_object_set_new(a->sessions, thread, json_true());
		json_array_append_new(
			a->open, json_sprintf(ACTIVITY_SESSION "%s", thread));
	}
}

/* Asked last: a transaction that is prepared in between was seen before. */
static int activity_xa(struct mysql_client *db, struct mysql_source_activity *a,
		       struct error *err)
{
	struct mysql_client_result *r = NULL;
	struct error why = ERROR_INIT;
	int rc = mysql_client_query(db, &r, ACTIVITY_XA, "????", 0, NULL, &why);

	a->may_see_xa = !rc;
	if (rc && !mysql_client_failed_with(&why, 1401) &&
	    !mysql_client_failed_with(&why, 1227)) {
		*err = why;
		return rc;
	}
	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++) {
		const char *data = mysql_client_value(r, i, 3);
		char *text = xstrfmt("XA %s", data ? data : "");
		utf8_repair(text);
		json_array_append_new(a->open, json_string(text));
		free(text);
		a->xa = true;
	}
	mysql_client_result_free(r);
	return 0;
}

/* 'app'@'%' */
static char *activity_quote_user(const char *user)
{
	const char *sign = strrchr(user, '@');
	struct strbuf sb = STRBUF_INIT;
	char *name =
		xstrndup(user, sign ? (size_t)(sign - user) : strlen(user));

	mysql_client_quote(&sb, name);
	if (sign) {
		strbuf_addch(&sb, '@');
		mysql_client_quote(&sb, sign + 1);
	}
	free(name);
	return strbuf_detach(&sb);
}

static int activity_begin(struct mysql_client *db,
			  struct mysql_source_activity *a,
			  const struct mysql_client_result *r,
			  struct error *err)
{
	a->now_us = mysql_source_activity_time(mysql_client_value(r, 0, 0));
	a->user = activity_quote_user(mysql_client_value(r, 0, 1));
	return mysql_client_check_session(db, mysql_client_value(r, 0, 2), err);
}

int mysql_source_activity_take(struct mysql_client *db, bool clocks,
			       bool *denied, const char *look,
			       struct mysql_source_activity *out,
			       struct error *err)
{
	json_t *running = json_array();
	struct mysql_client_result *begun = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	out->oldest_us = INT64_MAX;
	out->statements_us = INT64_MAX;
	out->open = json_array();
	out->writers = json_object();
	out->sessions = json_object();
	rc = mysql_source_begun_ask(db, clocks, denied, &begun, err);
	if (!rc)
		rc = activity_begin(db, out, begun, err);
	if (!rc)
		rc = activity_statements(db, out, clocks, running, err);
	if (!rc && clocks)
		mysql_source_begun_take(out, mysql_client_is_mariadb(db),
					begun);
	mysql_client_result_free(begun);
	if (!rc)
		rc = mysql_source_transactions_read(db, look, out, err);
	if (!rc)
		rc = activity_xa(db, out, err);
	activity_add_running(out, running);
	json_decref(running);
	if (rc)
		mysql_source_activity_release(out);
	return rc;
}

int mysql_source_activity_read(struct mysql_client *db, bool clocks,
			       bool *denied, struct mysql_source_activity *out,
			       struct error *err)
{
	struct strlist ahead = STRLIST_INIT;
	char *look =
		mysql_source_activity_foresee(db, clocks && !*denied, &ahead);
	int rc = mysql_client_ask_ahead(db, &ahead, err);

	if (!rc)
		rc = mysql_source_activity_take(db, clocks, denied, look, out,
						err);
	mysql_client_forget_ahead(db);
	free(look);
	return rc;
}

void mysql_source_activity_release(struct mysql_source_activity *a)
{
	free(a->user);
	json_decref(a->held_by);
	json_decref(a->open);
	json_decref(a->writers);
	json_decref(a->sessions);
	memset(a, 0, sizeof(*a));
}

/* A session's statement goes on as its transaction. */
static bool activity_has(const struct mysql_source_activity *a,
			 const json_t *wanted)
{
	const char *text = json_string_value(wanted);
	size_t n = strlen(ACTIVITY_SESSION), i;
	json_t *open;

	if (text && !strncmp(text, ACTIVITY_SESSION, n))
		return json_object_get(a->sessions, text + n) != NULL;
	json_array_foreach(a->open, i, open)
	{
		if (json_equal(wanted, open))
			return true;
	}
	return false;
}

bool mysql_source_activity_has_any(const struct mysql_source_activity *a,
				   const json_t *set)
{
	size_t i;
	json_t *wanted;

	json_array_foreach(set, i, wanted)
	{
		if (activity_has(a, wanted))
			return true;
	}
	return false;
}

bool mysql_source_activity_explain(const struct mysql_source_activity *a,
				   struct strbuf *reason)
{
	size_t before = reason->len;
	char *fix, *begun = mysql_source_begun_explain(a, &fix);

	if (begun)
		reason_add(reason, "%s (%s)", begun, fix);
	free(begun);
	free(fix);
	if (!a->may_see)
		reason_add(reason,
			   "the user cannot see the transactions of others "
			   "(GRANT PROCESS ON *.* TO %s)",
			   a->user);
	if (!a->lists)
		reason_add(reason, "the server lists no sessions: neither "
				   "information_schema.processlist nor that "
				   "of performance_schema shows ours");
	if (!a->may_see_xa)
		reason_add(reason,
			   "the user cannot see XA transactions "
			   "(GRANT XA_RECOVER_ADMIN ON *.* TO %s)",
			   a->user);
	if (a->xa)
		reason_add(reason, "an XA transaction is prepared, and when it "
				   "began may not be known (XA COMMIT or XA "
				   "ROLLBACK it)");
	if (a->stale)
		reason_add(reason, "information_schema.innodb_trx is read so "
				   "often by others that it is never fresh, "
				   "and SHOW ENGINE INNODB STATUS is too long "
				   "to be whole");
	return reason->len > before;
}

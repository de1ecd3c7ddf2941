#include "connectors/mysql/transactions.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

/*
 * innodb_trx shows trx_started in the zone of the server's system, whatever the
 * session's zone. An hour that comes twice counts as the first one. The table
 * is a copy, and the server renews it only when nobody has looked for 100 ms.
 * The copy is known to be fresh when it shows this very statement, by its tag.
 */
static const char transactions_sql[] =
	"SELECT /* tidemark %s */ t.thread,\n"
	"  IF(CONVERT_TZ(t.utc - INTERVAL 1 HOUR, '+00:00', 'SYSTEM')\n"
	"       = t.started, t.utc - INTERVAL 1 HOUR, t.utc) AS since,\n"
	"  t.thread = CONNECTION_ID() AND t.query LIKE '%%tidemark %s%%',\n"
	"  t.thread = CONNECTION_ID() OR t.read_only, t.state, t.query, t.id,\n"
	"  t.modified > 0\n"
	"FROM (SELECT trx_mysql_thread_id AS thread, trx_started AS started,\n"
	"    CONVERT_TZ(trx_started, 'SYSTEM', '+00:00') AS utc,\n"
	"    trx_query AS query, trx_is_read_only AS read_only,\n"
	"    trx_state AS state, trx_id AS id,\n"
	"    trx_rows_modified AS modified\n"
	"  FROM information_schema.innodb_trx) t ORDER BY since";

/* Complain only if both lists cannot be used: one is enough as a rule. */
#define TRANSACTIONS_LOOKS    12
#define TRANSACTIONS_PAUSE_US (110 * 1000)
/* Ids of those that have not written yet are addresses, or 0. */
#define TRANSACTIONS_MOST_ID (INT64_C(1) << 46)

#define TRANSACTIONS_BEGIN                                                     \
	"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"

#define STATUS_LIST  "LIST OF TRANSACTIONS FOR EACH SESSION:"
#define STATUS_ONE   "\n---TRANSACTION "
#define STATUS_CUT   "... truncated..."
#define STATUS_END   "END OF INNODB MONITOR OUTPUT"
#define STATUS_IDLE  "not started"
#define STATUS_AGE   "ACTIVE "
#define STATUS_WHOSE " thread id "

/* Before it has written, a transaction is known by its thread and start. */
static void transactions_add(struct mysql_source_activity *a, int64_t id,
			     const char *thread, const char *since,
			     int64_t writes_since_us)
{
	char *text = id > 0 && id < TRANSACTIONS_MOST_ID
			     ? xstrfmt("transaction %" PRId64, id)
			     : xstrfmt("%s since %s", thread, since);

	json_array_append_new(a->open, json_string(text));
	if (writes_since_us != INT64_MAX)
		json_object_set_new(a->writers, text,
				    json_integer(writes_since_us));
	free(text);
}

char *mysql_source_transactions_sql(struct mysql_client *db)
{
	static atomic_uint looks;
	char *tag = xstrfmt("%lu.%u", mysql_client_session(db),
			    atomic_fetch_add(&looks, 1));
	char *sql = xstrfmt(transactions_sql, tag, tag);

	free(tag);
	return sql;
}

void mysql_source_transactions_foresee(struct mysql_client *db,
				       const char *look, struct strlist *out)
{
	mysql_client_foresee(db, out, TRANSACTIONS_BEGIN, 0, NULL);
	mysql_client_foresee(db, out, look, 0, NULL);
	mysql_client_foresee(db, out, "COMMIT", 0, NULL);
}

/* One look; `fresh` says whether it can be believed. */
static int transactions_look(struct mysql_client *db, const char *sql,
			     struct mysql_client_result **out, bool *fresh,
			     struct error *err)
{
	int rc = mysql_client_query(db, out, sql, "t???????", 0, NULL, err);

	*fresh = false;
	if (rc && mysql_client_failed_with(err, MYSQL_SOURCE_ERRNO_NARROW)) {
		error_clear(err);
		rc = 0;
	}
	for (size_t i = 0; !rc && *out && i < mysql_client_rows(*out); i++) {
		const char *mine = mysql_client_value(*out, i, 2);
		*fresh |= mine && *mine == '1';
	}
	return rc;
}

static void transactions_take(struct mysql_source_activity *a,
			      const struct mysql_client_result *r)
{
	for (size_t i = 0; i < mysql_client_rows(r); i++) {
		const char *thread = mysql_client_value(r, i, 0);
		const char *since = mysql_client_value(r, i, 1);
		const char *harmless = mysql_client_value(r, i, 3);
		const char *id = mysql_client_value(r, i, 6);
		const char *wrote = mysql_client_value(r, i, 7);
		int64_t us = mysql_source_activity_time(since);
		json_object_set_new(a->sessions, thread, json_true());
		if (harmless && *harmless == '1')
			continue;
		mysql_source_activity_hold(a, us, thread,
					   mysql_client_value(r, i, 4),
					   mysql_client_value(r, i, 5));
		transactions_add(a, id ? strtoll(id, NULL, 10) : 0, thread,
				 since ? since : "?",
				 wrote && *wrote == '1' ? us : INT64_MAX);
	}
}

/* "7698, ACTIVE (PREPARED) 2 sec", then lines of which one may hold
 * "thread id 97". Ages are in whole seconds, of starts rounded down. */
static bool transactions_parse_one(struct mysql_source_activity *a,
				   const char *text, size_t n,
				   unsigned long mine, bool take)
{
	char *one = xstrndup(text, n), *age = strstr(one, STATUS_AGE);
	char *whose = strstr(one, STATUS_WHOSE), *line = strchr(one, '\n');
	int64_t since = a->now_us - a->now_us % US_PER_SECOND;
	unsigned long thread = 0;
	bool good = true;

	if (line)
		*line = '\0';
	if (whose)
		thread = strtoul(whose + strlen(STATUS_WHOSE), NULL, 10);
	if ((whose && thread == mine) || strstr(one, STATUS_IDLE))
		goto out;
	if (age)
		age = age + strcspn(age, "0123456789");
	good = age && (!line || age < line) && strstr(age, " sec");
	if (good && take) {
		char *pid = xstrfmt("%lu", thread);
		since -= clock_bounded_seconds(age);
		mysql_source_activity_hold(a, since, pid, "RUNNING", NULL);
		transactions_add(a, strtoll(one, NULL, 10), pid, "?", since);
		json_object_set_new(a->sessions, pid, json_true());
		free(pid);
	}
out:
	free(one);
	return good;
}

/* The text of somebody's statement is in there too, and may hold anything. It
 * can invent a transaction, but not hide one. */
bool mysql_source_transactions_parse(struct mysql_source_activity *a,
				     const char *status, unsigned long mine)
{
	const char *list = strstr(status, STATUS_LIST);
	bool good =
		list && !strstr(status, STATUS_CUT) && strstr(list, STATUS_END);

	for (int take = 0; good && take < 2; take++) {
		const char *at = strstr(list, STATUS_ONE);
		while (good && at) {
			const char *next;
			at += strlen(STATUS_ONE);
			next = strstr(at, STATUS_ONE);
			good = transactions_parse_one(
				a, at, next ? (size_t)(next - at) : strlen(at),
				mine, take);
			at = next;
		}
	}
	return good;
}

static int transactions_status(struct mysql_client *db,
			       struct mysql_source_activity *a, bool *fresh,
			       struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, "SHOW ENGINE INNODB STATUS", "???",
				    0, NULL, err);

	if (!rc && mysql_client_rows(r) && mysql_client_value(r, 0, 2))
		*fresh = mysql_source_transactions_parse(
			a, mysql_client_value(r, 0, 2),
			mysql_client_session(db));
	mysql_client_result_free(r);
	return rc;
}

static int transactions_look_once(struct mysql_client *db, const char *ahead,
				  struct mysql_client_result **out, bool *fresh,
				  struct error *err)
{
	char *sql = ahead ? xstrdup(ahead) : mysql_source_transactions_sql(db);
	int rc = transactions_look(db, sql, out, fresh, err);

	free(sql);
	return rc;
}

/* `ahead`: a first look, and that its transaction is over already; NULL: it is
 * open. */
static int transactions_look_all(struct mysql_client *db, const char *ahead,
				 struct mysql_source_activity *a,
				 struct error *err)
{
	struct mysql_client_result *r = NULL;
	bool fresh = false;
	int rc = 0;

	for (int i = 0; !rc && !fresh && i < TRANSACTIONS_LOOKS; i++) {
		mysql_client_result_free(r);
		r = NULL;
		if (i && clock_sleep_us(TRANSACTIONS_PAUSE_US))
			break;
		rc = transactions_look_once(db, i ? NULL : ahead, &r, &fresh,
					    err);
		if (!rc && fresh)
			transactions_take(a, r);
		else if (!rc && ahead && !i)
			rc = mysql_client_exec(db, TRANSACTIONS_BEGIN, err);
		if (!rc && !fresh)
			rc = transactions_status(db, a, &fresh, err);
	}
	/* An old copy names some who hold the mark, if not all. */
	if (!rc && r && !fresh)
		transactions_take(a, r);
	mysql_client_result_free(r);
	a->stale = !rc && !fresh;
	return rc;
}

/* Our own transaction is in the list, and shows how old the list is. */
int mysql_source_transactions_read(struct mysql_client *db, const char *look,
				   struct mysql_source_activity *a,
				   struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = mysql_client_exec(db, TRANSACTIONS_BEGIN, err);

	if (rc)
		return rc;
	/* Otherwise it is not used. If it were asked twice, an old copy of the
	 * list would pass for a fresh one. */
	if (!mysql_client_is_ahead(db, look))
		look = NULL;
	rc = transactions_look_all(db, look, a, &why);
	a->may_see = !rc;
	if (rc && !mysql_client_failed_with(&why, 1227)) {
		*err = why;
		return rc;
	}
	return mysql_client_exec(db, "COMMIT", err);
}

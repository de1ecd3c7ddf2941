#include "connectors/mysql/begun.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/mysql/transactions.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/units.h"

#define BEGUN_PLAIN                                                            \
	"SELECT UTC_TIMESTAMP(6), CURRENT_USER(), CONNECTION_ID(),\n"          \
	"  @@performance_schema"

static const char begun_plain_sql[] = BEGUN_PLAIN;

/* The age of a running event is counted to now, and subtracted from the begin
 * of our statement. So the event seems to begin rather too early, which is
 * safe. Two kinds of sessions are shown: unwatched ones, and those in a
 * transaction of more than one statement. One row is always there and says so
 * if there are none. */
static const char begun_sql[] = BEGUN_PLAIN
	",\n"
	"  (SELECT COUNT(*) FROM performance_schema.setup_consumers\n"
	"    WHERE enabled = 'YES' AND name IN ('global_instrumentation',\n"
	"      'thread_instrumentation', 'events_transactions_current')) = 3\n"
	"  AND (SELECT COUNT(*) FROM performance_schema.setup_instruments\n"
	"    WHERE name = 'transaction' AND enabled = 'YES'\n"
	"      AND timed = 'YES') = 1,\n"
	"  (SELECT SUM(variable_value > 0) FROM performance_schema"
	".global_status\n"
	"    WHERE variable_name IN\n"
	"      ('Performance_schema_thread_instances_lost')),\n"
	"  s.id, s.watched, s.age_us, s.info\n"
	"FROM (SELECT 1) one LEFT JOIN (SELECT t.processlist_id AS id,\n"
	"    t.instrumented AS watched, e.timer_wait DIV 1000000 AS age_us,\n"
	"    LEFT(t.processlist_info, 200) AS info\n"
	"  FROM performance_schema.threads t\n"
	"  LEFT JOIN performance_schema.events_transactions_current e\n"
	"    ON e.thread_id = t.thread_id AND e.state = 'ACTIVE'\n"
	"    AND e.autocommit = 'NO' AND e.access_mode <> 'READ ONLY'\n"
	"  WHERE t.type = 'FOREGROUND' AND t.processlist_id IS NOT NULL\n"
	"    AND t.processlist_id <> CONNECTION_ID()\n"
	"    AND (t.instrumented = 'NO' OR e.thread_id IS NOT NULL)) s ON 1 = "
	"1";

enum begun_column {
	BEGUN_OBSERVES = 3,
	BEGUN_ENABLED,
	BEGUN_LOST,
	BEGUN_ID,
	BEGUN_WATCHED,
	BEGUN_AGE,
	BEGUN_INFO,
};

/* 1142, 1044: no right to it; 1146: there is none. */
static bool begun_is_denied(const struct error *why)
{
	return mysql_client_failed_with(why, 1142) ||
	       mysql_client_failed_with(why, 1044) ||
	       mysql_client_failed_with(why, 1146) ||
	       mysql_client_failed_with(why, MYSQL_SOURCE_ERRNO_NARROW);
}

void mysql_source_begun_foresee(struct mysql_client *db, bool begun,
				struct strlist *out)
{
	mysql_client_foresee(db, out, begun ? begun_sql : begun_plain_sql, 0,
			     NULL);
}

int mysql_source_begun_ask(struct mysql_client *db, bool begun, bool *denied,
			   struct mysql_client_result **out, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc;

	if (begun && !*denied) {
		rc = mysql_client_query(db, out, begun_sql, "+tttt??????", 0,
					NULL, &why);
		if (!rc)
			return 0;
		if (!begun_is_denied(&why)) {
			*err = why;
			return rc;
		}
		*denied = true;
	}
	return mysql_client_query(db, out, begun_plain_sql, "1tttt", 0, NULL,
				  err);
}

static bool begun_is(const struct mysql_client_result *r, size_t row,
		     size_t column, const char *what)
{
	const char *text = mysql_client_value(r, row, column);

	return text && !strcmp(text, what);
}

static void begun_take_session(struct mysql_source_activity *a,
			       const struct mysql_client_result *r, size_t row)
{
	const char *id = mysql_client_value(r, row, BEGUN_ID);
	const char *age = mysql_client_value(r, row, BEGUN_AGE);

	if (!id)
		return;
	if (!begun_is(r, row, BEGUN_WATCHED, "YES")) {
		a->begun = BEGUN_UNWATCHED;
		a->unwatched = strtoll(id, NULL, 10);
	} else if (age) {
		mysql_source_activity_hold(
			a, a->now_us - units_bounded(age, CLOCK_MOST_US), id,
			"begun", mysql_client_value(r, row, BEGUN_INFO));
	}
}

void mysql_source_begun_take(struct mysql_source_activity *a, bool mariadb,
			     const struct mysql_client_result *r)
{
	a->mariadb = mariadb;
	if (!begun_is(r, 0, BEGUN_OBSERVES, "1")) {
		a->begun = BEGUN_OFF;
		return;
	}
	if (mysql_client_columns(r) <= BEGUN_ENABLED) {
		a->begun = BEGUN_DENIED;
		return;
	}
	a->begun = begun_is(r, 0, BEGUN_LOST, "0") ? BEGUN_SHOWS : BEGUN_LOSES;
	for (size_t i = 0; i < mysql_client_rows(r); i++)
		begun_take_session(a, r, i);
	if (!begun_is(r, 0, BEGUN_ENABLED, "1"))
		a->begun = BEGUN_DISABLED;
}

static char *begun_fix(const struct mysql_source_activity *a)
{
	switch (a->begun) {
	case BEGUN_OFF:
		return xstrdup(
			a->mariadb
				? "start the server with performance_schema=ON,"
				  " performance_schema_consumer_events_"
				  "transactions_current=ON and "
				  "performance_schema_instrument="
				  "'transaction=ON'"
				: "start the server with "
				  "performance_schema=ON");
	case BEGUN_DENIED:
		return xstrfmt("GRANT SELECT ON performance_schema.* TO %s",
			       a->user);
	case BEGUN_DISABLED:
		return xstrdup("UPDATE performance_schema.setup_consumers SET "
			       "enabled = 'YES' WHERE name IN "
			       "('global_instrumentation', "
			       "'thread_instrumentation', "
			       "'events_transactions_current'); UPDATE "
			       "performance_schema.setup_instruments SET "
			       "enabled = 'YES', timed = 'YES' WHERE name = "
			       "'transaction'");
	case BEGUN_UNWATCHED:
		return xstrfmt("UPDATE performance_schema.threads SET "
			       "instrumented = 'YES' WHERE processlist_id = "
			       "%" PRId64 ", and see setup_actors",
			       a->unwatched);
	case BEGUN_LOSES:
		return xstrdup("raise performance_schema_max_thread_instances");
	case BEGUN_SHOWS:
		break;
	}
	return NULL;
}

char *mysql_source_begun_explain(const struct mysql_source_activity *a,
				 char **fix)
{
	static const char *const why[] = {
		[BEGUN_OFF] = "performance_schema is off",
		[BEGUN_DENIED] = "the user may not read performance_schema",
		[BEGUN_DISABLED] = "performance_schema does not record them",
		[BEGUN_UNWATCHED] = "performance_schema does not watch every "
				    "session",
		[BEGUN_LOSES] = "performance_schema had no room for every "
				"session",
	};

	*fix = begun_fix(a);
	if (!*fix)
		return NULL;
	return xstrfmt("transactions that were begun and have not touched a "
		       "table yet do not show: %s",
		       why[a->begun]);
}

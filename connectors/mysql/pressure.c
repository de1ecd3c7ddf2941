#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/common/question.h"
#include "connectors/mysql/source.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

/* SHOW REPLICA STATUS */
#define PRESSURE_REPLICA_VERSION 80022

/* Without the right to see the sessions of others the lists would not show
 * them, so the question is refused. */
static const char pressure_right_sql[] =
	"SELECT 1 FROM information_schema.innodb_trx LIMIT 1";

static const char pressure_active_sql[] =
	"SELECT COALESCE(SUM(id = CONNECTION_ID()), 0),\n"
	"  COALESCE(SUM(id <> CONNECTION_ID() AND info IS NOT NULL\n"
	"    AND command NOT IN ('Sleep', 'Daemon', 'Binlog Dump',\n"
	"      'Binlog Dump GTID')\n"
	"    AND user NOT IN ('system user', 'event_scheduler')\n"
	"    AND info NOT LIKE '%/* tidemark source */%'), 0)\n"
	"FROM information_schema.processlist";

static int pressure_active(struct mysql_source *c, struct pressure *out,
			   struct error *err)
{
	struct mysql_client_result *r = NULL;
	const char *own;
	int rc = mysql_client_query(c->db, &r, pressure_right_sql, "t", 0, NULL,
				    err);

	mysql_client_result_free(r);
	r = NULL;
	if (rc) {
		error_prefix(err, "max_active needs GRANT PROCESS ON *.*");
		return rc;
	}
	rc = mysql_client_query(c->db, &r, pressure_active_sql, "1tt", 0, NULL,
				err);
	if (rc)
		return rc;
	own = mysql_client_value(r, 0, 0);
	/* A list without ourselves is none. */
	if (!own || !strtoll(own, NULL, 10))
		rc = error_set(err, ERROR_ACCESS,
			       "information_schema.processlist shows no "
			       "sessions");
	else
		out->active = strtoll(mysql_client_value(r, 0, 1), NULL, 10);
	mysql_client_result_free(r);
	return rc;
}

static const char *pressure_status_sql(const struct mysql_client *db)
{
	if (mysql_client_is_mariadb(db))
		return "SHOW ALL SLAVES STATUS";
	return mysql_client_version(db) < PRESSURE_REPLICA_VERSION
		       ? "SHOW SLAVE STATUS"
		       : "SHOW REPLICA STATUS";
}

static size_t pressure_column(const struct mysql_client_result *r)
{
	for (size_t i = 0; i < mysql_client_columns(r); i++) {
		const char *name = mysql_client_name(r, i);
		if (!strcmp(name, "Seconds_Behind_Source") ||
		    !strcmp(name, "Seconds_Behind_Master"))
			return i;
	}
	return SIZE_MAX;
}

/* Each row is a channel that it is fed by. */
static int pressure_channels(const struct mysql_client_result *r, size_t column,
			     struct pressure *out, struct error *err)
{
	for (size_t i = 0; i < mysql_client_rows(r); i++) {
		const char *text = mysql_client_value(r, i, column);
		int64_t us;

		if (!text)
			return error_set(err, ERROR_TRANSIENT,
					 "its replication does not run, so how "
					 "far it is behind is not known "
					 "(%s is NULL)",
					 mysql_client_name(r, column));
		us = clock_bounded_seconds(text);
		if (us > out->lag_us)
			out->lag_us = us;
	}
	return 0;
}

static int pressure_lag(struct mysql_source *c, struct pressure *out,
			struct error *err)
{
	struct mysql_client_result *r = NULL;
	const char *sql = pressure_status_sql(c->db);
	int rc = mysql_client_query(c->db, &r, sql, NULL, 0, NULL, err);
	size_t column;

	if (rc) {
		error_prefix(err,
			     "%s (needs GRANT REPLICATION CLIENT or, in "
			     "MariaDB, SLAVE MONITOR)",
			     sql);
		return rc;
	}
	column = pressure_column(r);
	if (!mysql_client_rows(r) || column == SIZE_MAX)
		rc = error_set(err, ERROR_CONFIG,
			       "connection %s is no replica, and cannot say "
			       "how far its own are behind: name them in "
			       "pace.replicas",
			       c->name);
	else
		rc = pressure_channels(r, column, out, err);
	mysql_client_result_free(r);
	return rc;
}

int mysql_source_pressure(struct connector *base,
			  const struct pressure_question *q,
			  struct pressure *out, struct error *err)
{
	struct mysql_source *c = (struct mysql_source *)base;
	int rc = 0;

	if (q->active)
		rc = pressure_active(c, out, err);
	if (!rc && q->lag)
		rc = pressure_lag(c, out, err);
	if (!rc)
		rc = question_ask(&c->paged, q, out, err);
	return rc;
}

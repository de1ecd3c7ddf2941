#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "destinations/mysql/internal.h"

/* Errors of a load are warnings, so all of those are wanted. The wait for a
 * lock that the session has is one that ends before the connection counts as
 * silent. */
static const char session_sql[] =
	"SET SESSION net_read_timeout = 30,\n"
	"  lock_wait_timeout =\n"
	"    CAST(LEAST(@@lock_wait_timeout, 20) AS UNSIGNED),\n"
	"  innodb_lock_wait_timeout =\n"
	"    CAST(LEAST(@@lock_wait_timeout, 20) AS UNSIGNED),\n"
	"  sql_notes = 1, sql_quote_show_create = 1";

static const char facts_sql[] = "SELECT @@local_infile, @@max_allowed_packet, "
				"@@lower_case_table_names";

static const char level_sql[] = "SET SESSION %s = IF(@@log_bin AND\n"
				"  @@SESSION.binlog_format = 'STATEMENT',\n"
				"  'REPEATABLE-READ', 'READ-COMMITTED')";

/* Not every server of the future has the variable. */
static const char binlog_sql[] = "SELECT @@log_bin, @@SESSION.binlog_format";

int mysql_target_execf(struct mysql_client *db, struct error *err,
		       const char *fmt, ...)
{
	struct strbuf sql = STRBUF_INIT;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	strbuf_vaddf(&sql, fmt, ap);
	va_end(ap);
	rc = mysql_client_exec(db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

/* How the server writes its binary log: "ROW", ...; NULL: it has none, or does
 * not tell. Caller frees. */
static char *session_binlog(struct mysql_client *db)
{
	struct mysql_client_result *r = NULL;
	struct error ignored = ERROR_INIT;
	char *format = NULL;

	if (!mysql_client_query(db, &r, binlog_sql, "1tt", 0, NULL, &ignored) &&
	    *mysql_client_value(r, 0, 0) == '1')
		format = xstrdup(mysql_client_value(r, 0, 1));
	mysql_client_result_free(r);
	return format;
}

/* A temporary table's rows have no place in the binary log, which row format
 * leaves out; not everybody may choose it. True: statements are logged. */
static bool session_logs_statements(struct mysql_target *d,
				    struct mysql_client *db)
{
	struct error ignored = ERROR_INIT;
	char *format = session_binlog(db);
	bool yes;

	if (format && d->dialect.mariadb && strcmp(format, "ROW") != 0) {
		mysql_client_exec(db, "SET SESSION binlog_format = 'ROW'",
				  &ignored);
		free(format);
		format = session_binlog(db);
	}
	yes = format && !strcmp(format, "STATEMENT");
	free(format);
	return yes;
}

/* The server itself looks at the format. */
static char *session_level_sql(const struct mysql_client *db)
{
	return xstrfmt(level_sql, mysql_client_isolation_name(db));
}

static char *session_idle_sql(int seconds)
{
	return xstrfmt("SET SESSION idle_transaction_timeout = %d", seconds);
}

/* All that a session is asked whose server has nothing unusual. */
static void session_foresee(struct mysql_client *db, struct strlist *out,
			    void *ctx)
{
	const struct mysql_target *d = ctx;
	char *idle = session_idle_sql(d->idle_seconds);
	char *level = session_level_sql(db);

	mysql_client_foresee(db, out, session_sql, 0, NULL);
	if (mysql_client_is_mariadb(db))
		mysql_client_foresee(db, out, idle, 0, NULL);
	mysql_client_foresee(db, out, facts_sql, 0, NULL);
	mysql_client_foresee(db, out, binlog_sql, 0, NULL);
	mysql_client_foresee(db, out, level, 0, NULL);
	free(idle);
	free(level);
}

static int session_facts(struct mysql_target *d, struct mysql_client *db,
			 struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, facts_sql, "1ttt", 0, NULL, err);

	if (!rc) {
		d->local = *mysql_client_value(r, 0, 0) == '1';
		d->packet = strtoull(mysql_client_value(r, 0, 1), NULL, 10);
		mysql_client_set_folds(db, *mysql_client_value(r, 0, 2) != '0');
	}
	mysql_client_result_free(r);
	return rc;
}

static void session_dialect(struct mysql_target *d, struct mysql_client *db)
{
	d->dialect.mariadb = mysql_client_is_mariadb(db);
	d->dialect.version = mysql_client_version(db);
	if (d->dialect.mariadb)
		d->dialect.collation = "utf8mb4_nopad_bin";
	else if (d->dialect.version >= 80017)
		d->dialect.collation = "utf8mb4_0900_bin";
	else
		d->dialect.collation = "utf8mb4_bin";
}

/* Under statement format InnoDB refuses READ COMMITTED, which locks no more
 * than what is written. */
static int session_set_level(struct mysql_target *d, struct mysql_client *db,
			     struct error *err)
{
	bool statements = session_logs_statements(d, db);
	char *level = session_level_sql(db);
	int rc = 0;

	if (mysql_client_is_ahead(db, level))
		rc = mysql_client_exec(db, level, err);
	else if (!statements)
		rc = mysql_client_exec(
			db,
			"SET SESSION TRANSACTION ISOLATION LEVEL "
			"READ COMMITTED",
			err);
	free(level);
	return rc;
}

static int session_pin(struct mysql_target *d, struct mysql_client *db,
		       struct error *err)
{
	char *idle = session_idle_sql(d->idle_seconds);
	int rc;

	session_dialect(d, db);
	rc = mysql_client_exec(db, session_sql, err);
	if (!rc && d->dialect.mariadb)
		rc = mysql_client_exec(db, idle, err);
	if (!rc)
		rc = session_facts(d, db, err);
	free(idle);
	return rc ? rc : session_set_level(d, db, err);
}

int mysql_target_session_open(struct mysql_target *d, struct mysql_client **out,
			      struct error *err)
{
	struct mysql_client_options options = { .application = "load",
						.load = true,
						.replaces = d->db != NULL,
						.foresee = session_foresee,
						.foresee_ctx = d };
	struct mysql_client *db = NULL;
	struct mysql_client_watch watch;
	int rc = mysql_client_open(&db, &d->conn, &options, err);

	if (!rc) {
		mysql_client_watch_begin(&watch, db);
		rc = mysql_client_watch_end(&watch, session_pin(d, db, err),
					    err);
	}
	if (rc) {
		mysql_client_close(db);
		return rc;
	}
	*out = db;
	return 0;
}

/* MySQL knows no other end of an idle transaction than that of the session. */
int mysql_target_session_begin(struct mysql_target *d, struct error *err)
{
	int rc = 0;

	d->used = true;
	if (!d->dialect.mariadb)
		rc = mysql_target_execf(d->db, err,
					"SET SESSION wait_timeout = %d",
					d->idle_seconds);
	return rc ? rc : mysql_client_exec(d->db, "START TRANSACTION", err);
}

static int session_lease_seconds(int64_t lease_us)
{
	return (int)((lease_us + US_PER_SECOND - 1) / US_PER_SECOND);
}

void mysql_target_session_lease_foresee(struct mysql_target *d,
					int64_t lease_us, struct strlist *out)
{
	int seconds = session_lease_seconds(lease_us);
	char *sql;

	if (!lease_us || seconds == d->idle_seconds || !d->dialect.mariadb)
		return;
	sql = session_idle_sql(seconds);
	mysql_client_foresee(d->db, out, sql, 0, NULL);
	free(sql);
}

int mysql_target_session_lease(struct mysql_target *d, int64_t lease_us,
			       struct error *err)
{
	int seconds = session_lease_seconds(lease_us);
	char *sql;
	int rc;

	if (!lease_us || seconds == d->idle_seconds)
		return 0;
	d->idle_seconds = seconds;
	if (!d->dialect.mariadb)
		return 0;
	sql = session_idle_sql(seconds);
	rc = mysql_client_exec(d->db, sql, err);
	free(sql);
	return rc;
}

void mysql_target_session_end(struct mysql_target *d)
{
	struct error ignored = ERROR_INIT;

	if (!d->dialect.mariadb && mysql_client_alive(d->db))
		mysql_client_exec(d->db, "SET SESSION wait_timeout = 28800",
				  &ignored);
	mysql_target_lock_release(d, LOCK_LOAD);
}

void mysql_target_session_rollback(struct mysql_target *d)
{
	struct error ignored = ERROR_INIT;

	if (mysql_client_alive(d->db))
		mysql_client_exec(d->db, "ROLLBACK", &ignored);
	mysql_target_session_end(d);
}

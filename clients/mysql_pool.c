#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "clients/mysql_session.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/stop.h"

void mysql_client_pool_key(struct strbuf *key, const struct connection *conn,
			   const struct mysql_client_options *options)
{
	strbuf_addstr(key, "mysql ");
	pool_key(key, conn);
	strbuf_addf(key, "%d%d %s", options->read_only, options->load,
		    options->application);
}

static bool mysql_client_is_healthy(const struct mysql_client *db)
{
	return db->conn && db->pinned && !db->lost && !db->refused &&
	       !db->stmt && !atomic_load(&db->interrupted) && !stop_requested();
}

/* As long as a new session may take. */
static void pool_watch(struct mysql_client_watch *watch,
		       struct mysql_client *db)
{
	mysql_client_watch_begin_for(watch, db,
				     (int)db->target.connect_s * 1000);
}

bool mysql_client_lay_down(struct mysql_client *db)
{
	struct error ignored = ERROR_INIT;
	struct mysql_client_watch watch;
	int rc = 0;

	if (!mysql_client_is_healthy(db))
		return false;
	mysql_client_insert_end(db);
	mysql_client_forget_ahead(db);
	if (mysql_client_is_bare(db)) {
		db->reset = RESET_DUE;
	} else {
		pool_watch(&watch, db);
		rc = mysql_client_reset_send(db, &ignored);
		rc = mysql_client_watch_end(&watch, rc, &ignored);
	}
	free(db->sql);
	db->sql = NULL;
	db->folds = db->bare = false;
	return !rc && !stop_requested();
}

/* The target borrows from the connection, which may be another user's by now.
 * How TLS came about stays. */
static int mysql_client_retarget(struct mysql_client *db,
				 const struct connection *conn,
				 const struct mysql_client_options *options,
				 struct error *err)
{
	struct mysql_client_target target;
	int rc = mysql_client_target_fill(&target, conn, options->application,
					  err);

	if (rc)
		return rc;
	target.tls = db->target.tls;
	mysql_client_target_release(&db->target);
	db->target = target;
	return 0;
}

/* Whoever stands between (its sessions have numbers of their own) may not bear
 * two commands at once. */
static int pool_reset(struct mysql_client *db, const char *session,
		      struct error *err)
{
	int rc = 0;

	if (db->reset == RESET_DUE)
		rc = mysql_client_reset_send(db, err);
	if (!rc && strtoul(session, NULL, 10) != db->id)
		rc = mysql_client_reset_take(db, err);
	return rc;
}

/* A network that is gone must not be waited for longer than a new session may
 * take. */
bool mysql_client_rouse(struct mysql_client *db, const struct connection *conn,
			const struct mysql_client_options *options)
{
	struct error why = ERROR_INIT;
	struct mysql_client_watch watch;
	char *session = db->session;
	int rc = mysql_client_retarget(db, conn, options, &why);

	db->session = NULL;
	db->pinned = false;
	pool_watch(&watch, db);
	if (!rc)
		rc = pool_reset(db, session, &why);
	if (!rc)
		rc = mysql_client_pin(db, options, &why);
	rc = mysql_client_watch_end(&watch, rc, &why);
	/* A proxy between may have put it together with another one. */
	if (!rc)
		rc = mysql_client_check_session(db, session, &why);
	if (rc)
		log_debug("a session that has rested is replaced: %s",
			  why.message);
	free(session);
	return !rc && mysql_client_is_healthy(db);
}

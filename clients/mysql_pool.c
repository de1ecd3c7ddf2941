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

/* The server ends the transaction, and gives up locks and temporary tables. A
 * network that is gone must not be waited for longer than a new session may
 * take. */
bool mysql_client_lay_down(struct mysql_client *db)
{
	struct error ignored = ERROR_INIT;
	struct mysql_client_watch watch;
	int rc;

	if (!mysql_client_is_healthy(db))
		return false;
	mysql_client_insert_end(db);
	mysql_client_forget_ahead(db);
	mysql_client_watch_begin_for(&watch, db,
				     (int)db->target.connect_s * 1000);
	rc = mysql_reset_connection(db->conn);
	mysql_client_watch_end(&watch, rc, &ignored);
	free(db->sql);
	db->sql = NULL;
	db->folds = false;
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

bool mysql_client_rouse(struct mysql_client *db, const struct connection *conn,
			const struct mysql_client_options *options)
{
	struct error why = ERROR_INIT;
	struct mysql_client_watch watch;
	char *session = db->session;
	int rc = mysql_client_retarget(db, conn, options, &why);

	db->session = NULL;
	db->pinned = false;
	mysql_client_watch_begin_for(&watch, db,
				     (int)db->target.connect_s * 1000);
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

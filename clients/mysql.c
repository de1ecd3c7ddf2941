#include "clients/mysql.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clients/libraries.h"
#include "clients/mysql_connect.h"
#include "clients/mysql_local.h"
#include "clients/mysql_session.h"
#include "core/base/alloc.h"

/* So long may a KILL take before the connection is cut. */
#define MYSQL_CLIENT_KILL_S 1

static int mysql_client_stopped(struct mysql_client *db, struct error *err)
{
	return error_set(err, ERROR_STOPPED, "%s: stopped while connecting",
			 db->target.where);
}

/* 3159: the server takes TLS only. 1045: the reason may be that the user needs
 * TLS. */
static int mysql_client_sign_in(struct mysql_client *db, struct error *err)
{
	struct mysql_client_target *t = &db->target;
	MYSQL *again;
	bool ok;

	db->conn = mysql_client_connect(t, t->tls, db->local, true, -1, &ok);
	if (!db->conn)
		return mysql_client_stopped(db, err);
	if (ok)
		return 0;
	if (!t->tls_if_asked ||
	    (mysql_errno(db->conn) != 3159 && mysql_errno(db->conn) != 1045 &&
	     mysql_errno(db->conn) != 2061))
		return mysql_client_fail(db, err);
	again = mysql_client_connect(t, TLS_REQUIRED, db->local, true, -1, &ok);
	if (!again)
		return mysql_client_stopped(db, err);
	if (!ok) {
		mysql_close(again);
		return mysql_client_fail(db, err);
	}
	t->tls = TLS_REQUIRED;
	mysql_close(db->conn);
	db->conn = again;
	return 0;
}

static void mysql_client_end(void *session)
{
	struct mysql_client *db = session;

	mysql_client_stream_abort(db);
	mysql_client_insert_end(db);
	mysql_client_forget_ahead(db);
	mysql_client_reset_drop(db);
	if (db->conn)
		mysql_close(db->conn);
	pool_leave(&db->slot);
	mysql_client_local_free(db->local);
	mysql_client_target_release(&db->target);
	free(db->session);
	free(db->user);
	free(db->writes);
	free(db->sql);
	free(db);
}

struct mysql_client_wish {
	const struct connection *conn;
	const struct mysql_client_options *options;
};

static int mysql_client_open_new(void **out, struct pool_slot *slot, void *ctx,
				 struct error *err)
{
	const struct mysql_client_wish *wish = ctx;
	const struct mysql_client_options *options = wish->options;
	struct mysql_client *db = xcalloc(1, sizeof(*db));
	int rc;

	db->slot = *slot;
	db->reads = options->read_only;
	if (options->load)
		db->local = mysql_client_local_new();
	rc = mysql_client_target_fill(&db->target, wish->conn,
				      options->application, err);
	if (!rc)
		rc = mysql_client_sign_in(db, err);
	if (!rc) {
		db->mariadb = strstr(mysql_get_server_info(db->conn),
				     "MariaDB") != NULL;
		db->version = mysql_get_server_version(db->conn);
		db->id = mysql_thread_id(db->conn);
		db->takes_many = true;
		rc = mysql_client_pin(db, options, err);
	}
	if (rc)
		mysql_client_end(db);
	else
		*out = db;
	return rc;
}

static bool mysql_client_open_roused(void *session, void *ctx)
{
	const struct mysql_client_wish *wish = ctx;

	return mysql_client_rouse(session, wish->conn, wish->options);
}

int mysql_client_open(struct mysql_client **out, const struct connection *conn,
		      const struct mysql_client_options *options,
		      struct error *err)
{
	static const struct pool_client client = { mysql_client_open_roused,
						   mysql_client_open_new,
						   mysql_client_end };
	struct mysql_client_wish wish = { conn, options };
	struct strbuf key = STRBUF_INIT;
	void *session = NULL;
	int rc = library_load(&library_mysql, err);

	if (rc)
		return rc;
	mysql_client_pool_key(&key, conn, options);
	rc = pool_open(&session, &client, conn, key.data, options->replaces,
		       &wish, err);
	strbuf_release(&key);
	if (!rc)
		*out = session;
	return rc;
}

void mysql_client_close(struct mysql_client *db)
{
	if (db && mysql_client_lay_down(db))
		pool_give(&db->slot, db, mysql_client_end);
	else if (db)
		mysql_client_end(db);
}

/* If the kill does not end the statement, cut the connection: the reader's next
 * byte is an error. */
void mysql_client_interrupt(struct mysql_client *db)
{
	struct mysql_client_target quick = db->target;
	char sql[48];
	MYSQL *other;
	bool ok;

	atomic_store(&db->interrupted, true);
	quick.silence_s = MYSQL_CLIENT_KILL_S;
	other = mysql_client_connect(&quick, quick.tls, NULL, false,
				     MYSQL_CLIENT_KILL_S * 1000, &ok);
	snprintf(sql, sizeof(sql), "KILL QUERY %lu", db->id);
	if (!ok || mysql_query(other, sql) != 0)
		shutdown(mysql_client_socket(db->conn), SHUT_RDWR);
	if (other)
		mysql_close(other);
}

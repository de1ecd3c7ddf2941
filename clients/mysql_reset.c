#include <mysql.h>
#include <poll.h>

#include "clients/mysql_connect.h"
#include "clients/mysql_session.h"

/* SERVER_STATUS_IN_TRANS, and SERVER_STATUS_IN_TRANS_READONLY */
#define RESET_IN_TRANSACTION 0x2001

#ifdef MARIADB_PACKAGE_VERSION_ID
/* The library tells each answer's number by the answer itself, so one may be
 * read when the next command is under way. */
int mysql_client_reset_send(struct mysql_client *db, struct error *err)
{
	MYSQL *conn = db->conn;

	db->reset = RESET_NONE;
	if (conn->methods->db_command(conn, COM_RESET_CONNECTION, NULL, 0, 1,
				      NULL))
		return mysql_client_fail(db, err);
	db->reset = RESET_SENT;
	return 0;
}
#else
/* Oracle's library reads each answer itself. */
int mysql_client_reset_send(struct mysql_client *db, struct error *err)
{
	db->reset = RESET_NONE;
	return mysql_reset_connection(db->conn) ? mysql_client_fail(db, err)
						: 0;
}
#endif

void mysql_client_holds_nothing(struct mysql_client *db)
{
	db->bare = true;
}

bool mysql_client_in_transaction(const struct mysql_client *db)
{
	const MYSQL *conn = db->conn;

	return conn->server_status & RESET_IN_TRANSACTION;
}

bool mysql_client_is_bare(const struct mysql_client *db)
{
	return db->bare && !mysql_client_in_transaction(db);
}

/* Rows are no answer to it. */
int mysql_client_reset_take(struct mysql_client *db, struct error *err)
{
	int rc = 0;

	if (db->reset != RESET_SENT)
		return 0;
	db->reset = RESET_NONE;
	if (mysql_read_query_result(db->conn))
		rc = mysql_client_fail(db, err);
	else if (mysql_field_count(db->conn))
		rc = error_set(err, ERROR_TRANSIENT,
			       "%s: the server's answer to a reset is none",
			       db->target.where);
	db->lost |= rc != 0;
	return rc;
}

/* A socket that is closed with bytes unread ends by a reset of the network, and
 * no goodbye. */
void mysql_client_reset_drop(struct mysql_client *db)
{
	struct pollfd fd = { .events = POLLIN };
	struct error ignored = ERROR_INIT;

	if (db->reset != RESET_SENT || !db->conn)
		return;
	fd.fd = mysql_client_socket(db->conn);
	if (fd.fd >= 0 && poll(&fd, 1, 0) > 0)
		mysql_client_reset_take(db, &ignored);
}

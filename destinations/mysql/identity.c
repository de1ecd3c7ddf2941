#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/mysql/internal.h"

/* MariaDB has a number of its own only since 10.5.26; before, its host, port
 * and directory tell servers apart. */
static const char server_sql[] = "SELECT @@server_uuid";
static const char server_uid_sql[] = "SELECT @@server_uid";
static const char place_sql[] =
	"SELECT CONCAT_WS(':', @@hostname, @@port, @@datadir)";

#define UNKNOWN_VARIABLE 1193

static int identity_ask(struct mysql_client *db,
			struct mysql_client_result **out, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = mysql_client_query(db, out,
				    mysql_client_is_mariadb(db) ? server_uid_sql
								: server_sql,
				    "1t", 0, NULL, &why);

	if (rc && mysql_client_failed_with(&why, UNKNOWN_VARIABLE))
		return mysql_client_query(db, out, place_sql, "1t", 0, NULL,
					  err);
	if (rc)
		*err = why;
	return rc;
}

static json_t *identity_make(const struct place *place, const char *server)
{
	struct strbuf table = STRBUF_INIT;
	json_t *identity;

	sql_quote_name(&table, place->database, '"');
	strbuf_addch(&table, '.');
	sql_quote_name(&table, place->table, '"');
	identity = json_pack("{s:s, s:s, s:s, s:s}", "engine", "mysql",
			     "server", server, "database", place->database,
			     "table", table.data);
	strbuf_release(&table);
	return identity;
}

int mysql_target_identity(struct destination *base, const struct target *target,
			  json_t **out, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct place place = { .database = NULL };
	struct mysql_client_result *r = NULL;
	int rc = mysql_target_place_set(&place, d->db, target, err);

	if (!rc)
		rc = identity_ask(d->db, &r, err);
	if (!rc)
		*out = identity_make(&place, mysql_client_value(r, 0, 0));
	mysql_client_result_free(r);
	mysql_target_place_release(&place);
	return rc;
}

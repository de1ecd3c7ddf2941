#include <string.h>

#include "clients/mysql_grantee.h"
#include "connectors/mysql/source.h"

/* MySQL and MariaDB each have a right whose name the other does not know. */
static void rights_to_watch(const char *account, bool mariadb,
			    struct grants *out)
{
	grants_add_fmt(out, "sees the transactions of others",
		       "GRANT PROCESS ON *.* TO %s", account);
	grants_add_fmt(out,
		       "sees transactions that have written nothing yet, and "
		       "whether the server is a replica",
		       "GRANT SELECT ON performance_schema.* TO %s", account);
	if (mariadb)
		grants_add_fmt(out,
			       "sees whether the server is a replica (where "
			       "performance_schema is off)",
			       "GRANT SLAVE MONITOR ON *.* TO %s", account);
	else
		grants_add_fmt(out, "sees XA transactions",
			       "GRANT XA_RECOVER_ADMIN ON *.* TO %s", account);
}

static void rights_to_measure(const char *account,
			      const struct pressure_question *asked,
			      bool watches, bool mariadb, struct grants *out)
{
	if (asked->active && !watches)
		grants_add_fmt(out, "counts the sessions",
			       "GRANT PROCESS ON *.* TO %s", account);
	if (asked->lag && !(mariadb && watches))
		grants_add_fmt(out, "sees how far the replica is behind",
			       "GRANT %s ON *.* TO %s",
			       mariadb ? "SLAVE MONITOR" : "REPLICATION CLIENT",
			       account);
}

int mysql_source_grants(const struct connection *conn,
			const struct source_spec *source,
			const struct watermark_spec *mark,
			const struct pressure_question *asked,
			struct grants *out, struct error *err)
{
	bool mariadb = !strcmp(conn->url.scheme, "mariadb");
	struct grants_place place = { .table = NULL };
	struct mysql_client_grantee g = { .account = NULL };
	int rc = mysql_client_grantee_find(&g, conn, err);

	(void)mark;
	if (!rc && source)
		rc = grants_place_find(&place, conn->name, source->table,
				       g.database, '`', err);
	if (!rc && source) {
		grants_add_fmt(out, "reads the table",
			       "GRANT SELECT ON %s TO %s", place.table,
			       g.account);
		rights_to_watch(g.account, mariadb, out);
	}
	if (!rc && asked)
		rights_to_measure(g.account, asked, source != NULL, mariadb,
				  out);
	grants_place_release(&place);
	mysql_client_grantee_release(&g);
	return rc;
}

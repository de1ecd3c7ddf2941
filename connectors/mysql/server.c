#include "connectors/mysql/server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

/* 1193: no such variable; 1227, 1064: no right to ask, or too old a server to
 * understand. */
static int server_ask(struct mysql_client *db, const char *sql,
		      const char *shape, struct mysql_client_result **out,
		      struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = mysql_client_query(db, out, sql, shape, 0, NULL, &why);

	if (!rc || mysql_client_failed_with(&why, 1193) ||
	    mysql_client_failed_with(&why, 1227) ||
	    mysql_client_failed_with(&why, 1064))
		return 0;
	*err = why;
	return rc;
}

static const char variables_sql[] =
	"SHOW GLOBAL VARIABLES WHERE variable_name IN ('wsrep_on',\n"
	"  'wsrep_provider', 'group_replication_group_name',\n"
	"  'group_replication_single_primary_mode')";

/* Most servers lack some of them. */
static int server_ask_variables(struct mysql_client *db,
				struct mysql_source_server *s,
				struct error *err)
{
	const struct {
		const char *name;
		char **value;
	} known[] = {
		{ "wsrep_on", &s->wsrep_on },
		{ "wsrep_provider", &s->wsrep_provider },
		{ "group_replication_group_name", &s->group_name },
		{ "group_replication_single_primary_mode",
		  &s->group_single_primary },
	};
	struct mysql_client_result *r = NULL;
	int rc = server_ask(db, variables_sql, "t?", &r, err);

	for (size_t i = 0; r && i < mysql_client_rows(r); i++)
		for (size_t k = 0; k < ARRAY_SIZE(known); k++)
			if (!strcasecmp(mysql_client_value(r, i, 0),
					known[k].name))
				xassign(known[k].value,
					mysql_client_value(r, i, 1));
	mysql_client_result_free(r);
	return rc;
}

/* A transaction that is prepared on disk is rolled back after a crash if the
 * binary log is not synced. MariaDB's 3 is stricter than 1. */
static const char itself_sql[] =
	"SELECT @@global.read_only, @@global.innodb_read_only, "
	"@@global.innodb_flush_log_at_trx_commit IN (1, 3) "
	"AND (NOT @@global.log_bin OR @@global.sync_binlog = 1)";

static const char channels_sql[] =
	"SELECT EXISTS (SELECT 1 FROM performance_schema.threads), count(*)\n"
	"FROM performance_schema.replication_connection_configuration\n"
	"WHERE channel_name NOT LIKE 'group@_replication@_%' ESCAPE '@'";

void mysql_source_server_foresee(struct mysql_client *db, struct strlist *out)
{
	mysql_client_foresee(db, out, itself_sql, 0, NULL);
	mysql_client_foresee(db, out, variables_sql, 0, NULL);
	mysql_client_foresee(db, out, channels_sql, 0, NULL);
}

static int server_ask_itself(struct mysql_client *db,
			     struct mysql_source_server *s, struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, itself_sql, "1??t", 0, NULL, err);

	if (rc)
		return rc;
	s->read_only = xstrdup(mysql_client_value(r, 0, 0));
	s->innodb_read_only = xstrdup(mysql_client_value(r, 0, 1));
	s->flushes = *mysql_client_value(r, 0, 2) == '1';
	mysql_client_result_free(r);
	return 0;
}

/* The replication channels, running or not, if performance_schema shows itself
 * to us. `known` is false if it is off or denied. */
static int server_ask_channels(struct mysql_client *db,
			       struct mysql_source_server *s, bool *known,
			       struct error *err)
{
	struct mysql_client_result *r = NULL;
	struct error why = ERROR_INIT;
	int rc = mysql_client_query(db, &r, channels_sql, "1tt", 0, NULL, &why);

	*known = !rc && *mysql_client_value(r, 0, 0) == '1';
	s->has_primary = !rc && *mysql_client_value(r, 0, 1) != '0';
	mysql_client_result_free(r);
	if (!rc || why.code == ERROR_ACCESS || why.code == ERROR_SCHEMA)
		return 0;
	*err = why;
	return rc;
}

/* MariaDB shows this sign to anybody: it is 0 until a primary is named, and
 * stays when the primary is taken back. */
static int server_ask_sign(struct mysql_client *db,
			   struct mysql_source_server *s, struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(
		db, &r,
		"SELECT 1 FROM information_schema.global_status "
		"WHERE variable_name = 'SLAVE_HEARTBEAT_PERIOD' "
		"AND variable_value > 0",
		"t", 0, NULL, err);

	s->had_primary = !rc && mysql_client_rows(r);
	mysql_client_result_free(r);
	return rc;
}

/* No right to see the status of a replica does not make a primary. */
static int server_ask_primary(struct mysql_client *db,
			      struct mysql_source_server *s, struct error *err)
{
	bool mariadb = mysql_client_is_mariadb(db);
	struct mysql_client_result *r = NULL;
	bool known = false;
	int rc = server_ask_channels(db, s, &known, err);

	if (rc || known || s->has_primary)
		return rc;
	rc = server_ask(
		db, mariadb ? "SHOW ALL SLAVES STATUS" : "SHOW REPLICA STATUS",
		NULL, &r, err);
	if (!rc && !r && mariadb)
		return server_ask_sign(db, s, err);
	s->has_primary = r && mysql_client_rows(r);
	mysql_client_result_free(r);
	return rc;
}

/* Unless it has been done. */
static int server_ask_ahead(struct mysql_client *db, struct error *err)
{
	struct strlist ahead = STRLIST_INIT;

	if (mysql_client_is_ahead(db, itself_sql))
		return 0;
	mysql_source_server_foresee(db, &ahead);
	return mysql_client_ask_ahead(db, &ahead, err);
}

int mysql_source_server_read(struct mysql_client *db,
			     struct mysql_source_server *out, struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = server_ask_ahead(db, err);
	if (!rc)
		rc = server_ask_itself(db, out, err);
	if (!rc)
		rc = server_ask_variables(db, out, err);
	if (!rc)
		rc = server_ask_primary(db, out, err);
	if (rc)
		mysql_source_server_release(out);
	return rc;
}

void mysql_source_server_release(struct mysql_source_server *s)
{
	free(s->wsrep_on);
	free(s->wsrep_provider);
	free(s->group_name);
	free(s->group_single_primary);
	free(s->read_only);
	free(s->innodb_read_only);
	memset(s, 0, sizeof(*s));
}

/* MariaDB 12 has words for numbers: OFF, READ_ONLY, ... */
static bool server_is_on(const char *value)
{
	return value && *value && strcmp(value, "0") != 0 &&
	       strcasecmp(value, "OFF") != 0;
}

static bool server_is_galera(const struct mysql_source_server *s)
{
	return server_is_on(s->wsrep_on) && s->wsrep_provider &&
	       *s->wsrep_provider && strcasecmp(s->wsrep_provider, "none") != 0;
}

const char *mysql_source_server_shares(const struct mysql_source_server *s,
				       bool applies)
{
	bool group = s->group_name && *s->group_name;

	if (server_is_galera(s))
		return "a node of a Galera cluster, where the other nodes' "
		       "open transactions do not show";
	if (group && !server_is_on(s->group_single_primary))
		return "a member of a replication group with more than one "
		       "primary, where the other members' open transactions "
		       "do not show";
	/* The primary of a group has threads that could apply changes, but gets
	 * none. */
	if (!group && (s->has_primary || applies))
		return "a replica, where the primary's open transactions do "
		       "not show";
	if (s->had_primary)
		return "perhaps a replica, where the primary's open "
		       "transactions do not show: it had a primary, and the "
		       "user cannot see whether it still has (GRANT SLAVE "
		       "MONITOR)";
	if (server_is_on(s->read_only) || server_is_on(s->innodb_read_only))
		return "read-only, as replicas are, where the primary's open "
		       "transactions do not show";
	return NULL;
}

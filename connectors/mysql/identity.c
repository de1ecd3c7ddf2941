#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/mysql/source.h"
#include "core/base/alloc.h"

/* Read one value. If rights are missing, or the server is too old, that part is
 * left out, with NULL in `out`. */
static int identity_query(struct mysql_source *c, const char *sql,
			  const char *shape, struct mysql_client_result **out,
			  struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = mysql_client_query(c->db, out, sql, shape, 0, NULL, &why);

	if (!rc)
		return 0;
	*out = NULL;
	if (mysql_client_failed_with(&why, 1227) ||
	    mysql_client_failed_with(&why, 1193) ||
	    mysql_client_failed_with(&why, 1142))
		return 0;
	*err = why;
	return rc;
}

static void identity_put(json_t *identity, const char *name, char *text)
{
	if (text)
		json_object_set_new(identity, name, json_string(text));
	free(text);
}

static const char *identity_server_sql(const struct mysql_source *c)
{
	return mysql_client_is_mariadb(c->db) ? "SELECT @@server_uid"
					      : "SELECT @@server_uuid";
}

static int identity_server(struct mysql_source *c, json_t *identity,
			   struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = identity_query(c, identity_server_sql(c), "?", &r, err);

	if (r && mysql_client_rows(r))
		identity_put(identity, "server",
			     xstrdup(mysql_client_value(r, 0, 0)));
	mysql_client_result_free(r);
	return rc;
}

/* Spell a name as InnoDB's list does. False for letters beyond ASCII, some of
 * which have short forms there. */
static bool identity_spell(struct strbuf *sb, const char *name)
{
	for (; *name; name++) {
		if (isalnum((unsigned char)*name) || *name == '_')
			strbuf_addch(sb, *name);
		else if ((unsigned char)*name < 0x80)
			strbuf_addf(sb, "@%04x", (unsigned)*name);
		else
			return false;
	}
	return true;
}

/* MariaDB converts a name to InnoDB's spelling itself. */
static void identity_write_spelled(struct strbuf *sql, const char *name)
{
	strbuf_addstr(sql, "CONVERT(CAST(CONVERT(");
	mysql_client_quote(sql, name);
	strbuf_addstr(sql, " USING filename) AS BINARY) USING utf8mb4)");
}

/* MySQL lists tablespaces by plain names if each has a file. */
#define IDENTITY_PLAIN                                                         \
	"(SELECT b.name, t.table_id\n"                                         \
	"  FROM information_schema.innodb_tablespaces_brief AS b\n"            \
	"  JOIN information_schema.innodb_tables AS t ON t.space = b.space)"

/* Append the table's name as a list of InnoDB's has it; returns the list. */
static const char *identity_write_name(const struct mysql_source *c,
				       const struct source_table *t,
				       struct strbuf *sql)
{
	struct strbuf name = STRBUF_INIT;
	bool spelled = identity_spell(&name, t->schema);

	strbuf_addch(&name, '/');
	spelled = identity_spell(&name, t->name) && spelled;
	if (mysql_client_is_mariadb(c->db)) {
		strbuf_addstr(sql, "CONCAT(");
		identity_write_spelled(sql, t->schema);
		strbuf_addstr(sql, ", '/', ");
		identity_write_spelled(sql, t->name);
		strbuf_addch(sql, ')');
		strbuf_release(&name);
		return "information_schema.innodb_sys_tables";
	}
	/* The spelling of a partition could not be undone. */
	spelled = spelled && !t->partitioned;
	if (!spelled) {
		strbuf_release(&name);
		strbuf_addf(&name, "%s/%s", t->schema, t->name);
	}
	mysql_client_quote(sql, name.data);
	strbuf_release(&name);
	return spelled ? "information_schema.innodb_tables" : IDENTITY_PLAIN;
}

/* The id that InnoDB gave the table, or each of its partitions with its name:
 * `db/t#P#p0#SP#s0`, with small letters in MySQL. */
static void identity_write_sql(const struct mysql_source *c,
			       const struct source_table *t, struct strbuf *sql)
{
	struct strbuf name = STRBUF_INIT;
	const char *list = identity_write_name(c, t, &name);
	const char *part = "''", *from = "i.name";

	if (t->partitioned) {
		part = mysql_client_is_mariadb(c->db)
			       ? "CONVERT(CONVERT(CAST(SUBSTRING_INDEX("
				 "i.name, '#', -1) AS BINARY) USING filename) "
				 "USING utf8mb4)"
			       : "SUBSTRING_INDEX(SUBSTRING(i.name, "
				 "CHAR_LENGTH(w.name) + 4), '#sp#', -1)";
		from = "LEFT(i.name, CHAR_LENGTH(w.name) + 3) = "
		       "CONCAT(w.name, '#p#') AND "
		       "LEFT(i.name, CHAR_LENGTH(w.name))";
	}
	strbuf_addf(sql,
		    "SELECT i.table_id, %s\n"
		    "FROM (SELECT %s AS name) AS w JOIN %s AS i\n"
		    "ON %s = w.name AND (@@lower_case_table_names OR\n"
		    "  LOCATE(CAST(w.name AS BINARY), CAST(i.name AS BINARY)))",
		    part, name.data, list, from);
	strbuf_release(&name);
}

static json_t *identity_read_ids(const struct source_table *t,
				 const struct mysql_client_result *r)
{
	json_t *parts;

	if (!mysql_client_rows(r))
		return NULL;
	if (!t->partitioned)
		return json_string(mysql_client_value(r, 0, 0));
	parts = json_object();
	for (size_t i = 0; i < mysql_client_rows(r); i++)
		json_object_set_new(parts, mysql_client_value(r, i, 1),
				    json_string(mysql_client_value(r, i, 0)));
	return parts;
}

/* InnoDB's id lasts over ALTERs in place, and a partition's id over ALTERs of
 * its neighbours. The time of creation has whole seconds. It changes with more
 * ALTERs, and does not change with work on a partition. So it only serves where
 * there is no id: in other engines, without rights, and in marks of earlier
 * versions. */
static int identity_table(struct mysql_source *c, const struct source_table *t,
			  json_t *identity, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct mysql_client_result *r = NULL;
	json_t *ids = NULL;
	int rc = 0;

	identity_write_sql(c, t, &sql);
	if (t->engine)
		rc = identity_query(c, sql.data, "tt", &r, err);
	strbuf_release(&sql);
	if (r)
		ids = identity_read_ids(t, r);
	mysql_client_result_free(r);
	if (!rc && (!ids || t->partitioned))
		identity_put(identity, "table_created", xstrdup(t->created));
	if (ids)
		json_object_set_new(identity, "table_id", ids);
	return rc;
}

int mysql_source_identity_foresee(struct mysql_source *c, const char *table,
				  const struct source_table *described,
				  struct strlist *out, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct source_table named;
	int rc = mysql_source_table_foresee(c->db, table, TABLE_ALONE, &named,
					    out, err);

	if (rc)
		return rc;
	mysql_client_foresee(c->db, out, identity_server_sql(c), 0, NULL);
	if (!described || described->engine) {
		identity_write_sql(c, described ? described : &named, &sql);
		mysql_client_foresee(c->db, out, sql.data, 0, NULL);
	}
	strbuf_release(&sql);
	source_table_release(&named);
	return 0;
}

/* Unless it has been done. The table is taken to be as it was described. */
static int identity_ask_ahead(struct mysql_source *c, const char *table,
			      struct error *err)
{
	const struct source_table *described = &c->paged.layout.table;
	struct strlist ahead = STRLIST_INIT;
	int rc;

	if (mysql_client_is_ahead(c->db, identity_server_sql(c)))
		return 0;
	rc = mysql_source_identity_foresee(c, table, described, &ahead, err);
	return rc ? rc : mysql_client_ask_ahead(c->db, &ahead, err);
}

int mysql_source_identity(struct connector *base,
			  const struct source_spec *source, json_t **out,
			  struct error *err)
{
	struct mysql_source *c = (struct mysql_source *)base;
	struct source_table table;
	json_t *identity;
	int rc = source->query ? 0 : identity_ask_ahead(c, source->table, err);

	memset(&table, 0, sizeof(table));
	if (!rc && source->query)
		table.schema = xstrdup(mysql_client_database(c->db));
	else if (!rc)
		rc = mysql_source_table_find(c->db, source->table, &table, err);
	if (rc)
		return rc;
	identity = json_pack("{s:s, s:s, s:s}", "engine", "mysql", "database",
			     table.schema, "table", source->table);
	rc = identity_server(c, identity, err);
	if (!rc && !source->query)
		rc = identity_table(c, &table, identity, err);
	mysql_client_forget_ahead(c->db);
	source_table_release(&table);
	if (rc) {
		json_decref(identity);
		return rc;
	}
	paged_identify_mark(&c->paged, source, identity);
	json_decref(c->identity);
	c->identity = json_incref(identity);
	*out = identity;
	return 0;
}

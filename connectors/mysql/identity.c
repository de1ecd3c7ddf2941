#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/mysql/source.h"
#include "core/base/alloc.h"

/* Rights may be missing, or the server too old: that part is left out. NULL in
 * `out`: there is no answer. */
static int identity_ask(struct mysrc *c, const char *sql, int n,
			const char *const *params, char **out,
			struct error *err)
{
	struct error why = ERROR_INIT;
	struct mydb_result *r = NULL;
	int rc = mydb_query(c->db, &r, sql, n, params, &why);

	if (rc && !mydb_failed_with(&why, 1227) &&
	    !mydb_failed_with(&why, 1193) && !mydb_failed_with(&why, 1142)) {
		*err = why;
		return rc;
	}
	if (!rc && mydb_rows(r))
		*out = xstrdup(mydb_value(r, 0, 0));
	mydb_result_free(r);
	return 0;
}

static void identity_put(json_t *identity, const char *name, char *text)
{
	if (text)
		json_object_set_new(identity, name, json_string(text));
	free(text);
}

/* As InnoDB's list spells it; false for letters beyond ASCII, some of which
 * have short forms there. */
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

/* The id that InnoDB gave the table: it lasts over ALTERs in place. The time
 * of creation changes with more of them, so it only serves elsewhere. */
static int identity_table(struct mysrc *c, const struct source_table *t,
			  json_t *identity, struct error *err)
{
	const char *sql = mydb_is_mariadb(c->db)
				  ? "SELECT table_id FROM information_schema."
				    "innodb_sys_tables WHERE name = ?"
				  : "SELECT table_id FROM information_schema."
				    "innodb_tables WHERE name = ?";
	struct strbuf name = STRBUF_INIT;
	const char *params[1];
	char *id = NULL;
	bool plain = identity_spell(&name, t->schema);
	int rc = 0;

	strbuf_addch(&name, '/');
	plain = plain && identity_spell(&name, t->name);
	params[0] = name.data;
	if (t->engine && !t->partitioned && plain)
		rc = identity_ask(c, sql, 1, params, &id, err);
	strbuf_release(&name);
	if (!rc && !id)
		identity_put(identity, "table_created", xstrdup(t->created));
	identity_put(identity, "table_id", id);
	return rc;
}

int mysrc_identity(struct connector *base, const struct source_spec *source,
		   json_t **out, struct error *err)
{
	struct mysrc *c = (struct mysrc *)base;
	struct source_table table;
	json_t *identity;
	char *server = NULL;
	int rc = mysrc_table_find(c->db, source->table, &table, err);

	if (rc)
		return rc;
	identity = json_pack("{s:s, s:s, s:s}", "engine", "mysql", "database",
			     table.schema, "table", source->table);
	rc = identity_ask(c,
			  mydb_is_mariadb(c->db) ? "SELECT @@server_uid"
						 : "SELECT @@server_uuid",
			  0, NULL, &server, err);
	identity_put(identity, "server", server);
	if (!rc)
		rc = identity_table(c, &table, identity, err);
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

#include <stdlib.h>

#include "connectors/postgres/postgres.h"
#include "core/base/alloc.h"

/* Rights of the role, and rights on the columns that are read, which it may
 * have column by column. */
static const char rights_sql[] =
	"SELECT quote_ident(current_user),\n"
	"  has_function_privilege('pg_control_system()', 'EXECUTE')\n"
	"  AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')\n"
	"  AND has_function_privilege('pg_control_recovery()', 'EXECUTE')\n"
	"  AND has_function_privilege('pg_current_wal_lsn()', 'EXECUTE'),\n"
	"  has_function_privilege('pg_current_wal_insert_lsn()', 'EXECUTE')\n"
	"  AND has_function_privilege('pg_current_wal_flush_lsn()',\n"
	"                             'EXECUTE'),\n"
	"  has_schema_privilege(n.oid, 'USAGE'), quote_ident(n.nspname),\n"
	"  (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)\n"
	"   FROM pg_attribute a JOIN json_array_elements_text($2::json) t\n"
	"     ON t = a.attname WHERE a.attrelid = c.oid\n"
	"     AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT'))\n"
	"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"WHERE c.oid = $1";

enum rights_column {
	RIGHTS_ROLE,
	RIGHTS_IDENTITY,
	RIGHTS_LOG,
	RIGHTS_USAGE,
	RIGHTS_SCHEMA,
	RIGHTS_UNREAD,
};

static void rights_report(struct problems *out, enum severity severity,
			  const char *code, const char *what, char *fix)
{
	problems_add(out, severity,
		     severity == SEVERITY_ERROR ? ERROR_ACCESS : ERROR_NONE,
		     code, fix, "%s", what);
	free(fix);
}

/* Rights without which nothing can be read. */
static bool rights_to_read(const struct postgres *c, const struct pg_result *r,
			   struct problems *out)
{
	const char *table = c->layout.table.sql;
	const char *role = pg_value(r, 0, RIGHTS_ROLE);
	const char *unread = pg_value(r, 0, RIGHTS_UNREAD);
	bool used = *pg_value(r, 0, RIGHTS_USAGE) == 't';
	char *what;

	if (!used) {
		what = xstrfmt("table %s: role %s may not look into its schema",
			       table, role);
		rights_report(out, SEVERITY_ERROR, "missing-rights", what,
			      xstrfmt("GRANT USAGE ON SCHEMA %s TO %s",
				      pg_value(r, 0, RIGHTS_SCHEMA), role));
		free(what);
	}
	if (unread) {
		what = xstrfmt("table %s: role %s may not read %s", table, role,
			       unread);
		rights_report(
			out, SEVERITY_ERROR, "missing-rights", what,
			xstrfmt("GRANT SELECT ON TABLE %s TO %s", table, role));
		free(what);
	}
	return used && !unread;
}

static void rights_to_know(const struct pg_result *r,
			   const struct watermark_spec *mark,
			   struct problems *out)
{
	const char *role = pg_value(r, 0, RIGHTS_ROLE);

	if (*pg_value(r, 0, RIGHTS_IDENTITY) != 't')
		rights_report(out, SEVERITY_INFO, "identity-incomplete",
			      "another server that takes this one's place may "
			      "go unnoticed: the role may not ask for the "
			      "cluster's identity",
			      xstrfmt("GRANT EXECUTE ON FUNCTION "
				      "pg_control_system(), "
				      "pg_control_checkpoint(), "
				      "pg_control_recovery(), "
				      "pg_current_wal_lsn() TO %s",
				      role));
	if (*pg_value(r, 0, RIGHTS_LOG) != 't' && mark &&
	    mark->strategy != STRATEGY_TIMESTAMP)
		rights_report(out, SEVERITY_WARNING, "missing-rights",
			      "the role cannot see how far the server's log is "
			      "flushed: after a crash the server may give ids "
			      "behind the mark out again",
			      xstrfmt("GRANT EXECUTE ON FUNCTION "
				      "pg_current_wal_insert_lsn(), "
				      "pg_current_wal_flush_lsn() TO %s",
				      role));
}

static char *rights_columns(const struct source_layout *l)
{
	json_t *names = json_array();
	char *text;

	for (size_t i = 0; i < l->n_columns; i++)
		if (!l->columns[i]->expression)
			json_array_append_new(names,
					      json_string(l->columns[i]->name));
	text = json_dumps(names, JSON_COMPACT);
	json_decref(names);
	return text;
}

int postgres_rights_inspect(struct postgres *c,
			    const struct watermark_spec *mark,
			    struct problems *out, bool *readable,
			    struct error *err)
{
	uint32_t relation = postgres_source_relation(&c->layout)->oid;
	char *oid = xstrfmt("%u", relation);
	char *names = rights_columns(&c->layout);
	const char *params[] = { oid, names };
	struct pg_result *r = NULL;
	int rc = 0;

	/* A query reads many tables: the server refuses it, or does not. */
	*readable = relation == RELATION_OF_QUERY;
	if (!*readable)
		rc = pg_query(c->pg, &r, rights_sql, "1ttttt?", 2, params, err);
	if (!rc && r) {
		*readable = rights_to_read(c, r, out);
		rights_to_know(r, mark, out);
	}
	pg_result_free(r);
	free(names);
	free(oid);
	return rc;
}

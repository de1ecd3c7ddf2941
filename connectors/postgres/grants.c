#include <stdlib.h>
#include <string.h>

#include "clients/pg_grantee.h"
#include "connectors/postgres/postgres.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* A role and a table for its rights, in quotes. */
struct rights_of {
	char *role;
	char *role_literal; /* its quoted name as a text */
	struct grants_place place;
	struct grants *out;
};

/* Between dollar quotes that the body does not hold. */
static void rights_do(struct rights_of *x, const char *why, char *body)
{
	struct strbuf tag = STRBUF_INIT;

	strbuf_addstr(&tag, "$");
	do
		strbuf_addstr(&tag, "do");
	while (strstr(body, tag.data));
	strbuf_addch(&tag, '$');
	grants_add_fmt(x->out, why, "DO %s BEGIN %s END %s", tag.data, body,
		       tag.data);
	strbuf_release(&tag);
	free(body);
}

/* Its name is the catalog's to know. */
static void rights_on_sequences(struct rights_of *x, const char *column)
{
	char *table = grants_literal(x->place.plain);
	char *name = grants_literal(column);

	rights_do(x, "sees where the sequence stands",
		  xstrfmt("EXECUTE (SELECT coalesce(string_agg(format('GRANT "
			  "SELECT ON SEQUENCE %%s TO %%s;', d.refobjid"
			  "::regclass, %s), ''), '') FROM pg_attribute a JOIN "
			  "pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum "
			  "= a.attnum JOIN pg_depend d ON d.classid = "
			  "'pg_attrdef'::regclass AND d.objid = f.oid JOIN "
			  "pg_class s ON s.oid = d.refobjid AND s.relkind = "
			  "'S' WHERE a.attrelid = %s::regclass AND a.attname "
			  "= %s);",
			  x->role_literal, table, name));
	free(table);
	free(name);
}

/* By strategy xmin a partitioned table is read partition by partition. */
static void rights_on_parts(struct rights_of *x)
{
	char *table = grants_literal(x->place.plain);

	rights_do(x, "reads each partition by itself",
		  xstrfmt("EXECUTE (SELECT coalesce(string_agg(format('GRANT "
			  "SELECT ON TABLE %%s TO %%s;', relid, %s), ''), '') "
			  "FROM pg_partition_tree(%s::regclass));",
			  x->role_literal, table));
	free(table);
}

/* Everybody has these, unless an administrator has taken them away. */
static void rights_on_functions(struct rights_of *x, enum strategy strategy)
{
	grants_add_fmt(x->out,
		       "notices another server at this address (the default)",
		       "GRANT EXECUTE ON FUNCTION pg_control_system(), "
		       "pg_control_checkpoint(), pg_control_recovery(), "
		       "pg_current_wal_lsn() TO %s",
		       x->role);
	if (strategy != STRATEGY_TIMESTAMP)
		grants_add_fmt(x->out,
			       "never marks what a crash can take back (the "
			       "default)",
			       "GRANT EXECUTE ON FUNCTION "
			       "pg_current_wal_insert_lsn(), "
			       "pg_current_wal_flush_lsn() TO %s",
			       x->role);
}

static void rights_to_read(struct rights_of *x,
			   const struct watermark_spec *mark)
{
	grants_add_fmt(x->out, "finds the table",
		       "GRANT USAGE ON SCHEMA %s TO %s", x->place.schema,
		       x->role);
	grants_add_fmt(x->out, "reads it", "GRANT SELECT ON TABLE %s TO %s",
		       x->place.table, x->role);
	if (mark->strategy == STRATEGY_SEQUENCE && mark->column)
		rights_on_sequences(x, mark->column);
	if (mark->strategy == STRATEGY_XMIN)
		rights_on_parts(x);
	rights_on_functions(x, mark->strategy);
}

static int rights_find(struct rights_of *x, const struct connection *conn,
		       const struct source_spec *source, bool watches,
		       struct error *err)
{
	struct pg_grantee grantee = { .role = NULL };
	struct strbuf plain = STRBUF_INIT;
	char *database;
	int rc = pg_grantee_find(&grantee, conn, err);

	if (!rc && source)
		rc = grants_place_find(&x->place, conn->name, source->table,
				       "public", '"', err);
	if (!rc) {
		x->role = grants_quote(grantee.role, '"');
		sql_quote_name(&plain, grantee.role, '"');
		x->role_literal = grants_literal(plain.data);
		database = grants_quote(grantee.database, '"');
		grants_add_fmt(x->out, "connects",
			       "GRANT CONNECT ON DATABASE %s TO %s", database,
			       x->role);
		free(database);
	}
	if (!rc && watches)
		grants_add_fmt(x->out, "sees the transactions of others",
			       "GRANT pg_read_all_stats TO %s", x->role);
	strbuf_release(&plain);
	pg_grantee_release(&grantee);
	return rc;
}

int postgres_grants(const struct connection *conn,
		    const struct source_spec *source,
		    const struct watermark_spec *mark,
		    const struct pressure_question *asked, struct grants *out,
		    struct error *err)
{
	struct rights_of x = { .out = out };
	bool watches = (source && mark->strategy != STRATEGY_XMIN) ||
		       (asked && (asked->active || asked->lag));
	int rc = rights_find(&x, conn, source, watches, err);

	if (!rc && source)
		rights_to_read(&x, mark);
	free(x.role);
	free(x.role_literal);
	grants_place_release(&x.place);
	return rc;
}

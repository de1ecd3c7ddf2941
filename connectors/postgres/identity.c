#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/common/settle.h"
#include "connectors/postgres/postgres.h"
#include "core/base/alloc.h"

static const char identity_cluster_sql[] =
	"SELECT system_identifier::text FROM pg_control_system()";

/* The control file learns of a new timeline at its next checkpoint, the name
 * of the log file at once. A standby writes none: there the receiver of the
 * log knows, as long as one runs and our role may see it. */
static const char identity_primary_sql[] =
	"SELECT CASE WHEN NOT pg_is_in_recovery() THEN\n"
	"  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))\n"
	"  ::bit(32)::int END";
static const char identity_standby_sql[] =
	"SELECT greatest(c.timeline_id, r.min_recovery_end_timeline,\n"
	"  w.received_tli)\n"
	"FROM pg_control_checkpoint() c CROSS JOIN pg_control_recovery() r\n"
	"  LEFT JOIN pg_stat_wal_receiver w ON true";

static const char identity_database_sql[] =
	"SELECT current_database(), d.oid, pg_is_in_recovery()\n"
	"FROM pg_database d WHERE datname = current_database()";

/* Rights may be missing: that part is left out. */
static int identity_ask(struct postgres *c, json_t *identity, const char *name,
			const char *sql, bool number, struct error *err)
{
	struct error why = ERROR_INIT;
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, sql, "?", 0, NULL, &why);

	if (rc && !error_has_code(&why, "42501")) {
		*err = why;
		return rc;
	}
	if (!rc && pg_rows(r) && pg_value(r, 0, 0)) {
		const char *text = pg_value(r, 0, 0);
		json_object_set_new(
			identity, name,
			number ? json_integer(strtoll(text, NULL, 10))
			       : json_string(text));
	}
	pg_result_free(r);
	return 0;
}

static int identity_cluster(struct postgres *c, json_t *identity,
			    struct error *err)
{
	struct pg_result *r = NULL;
	bool standby;
	int rc = identity_ask(c, identity, "system_identifier",
			      identity_cluster_sql, false, err);

	if (!rc)
		rc = pg_query(c->pg, &r, identity_database_sql, "1ttt", 0, NULL,
			      err);
	if (rc)
		return rc;
	standby = *pg_value(r, 0, 2) == 't';
	rc = identity_ask(c, identity, "timeline",
			  standby ? identity_standby_sql : identity_primary_sql,
			  true, err);
	json_object_set_new(identity, "database",
			    json_string(pg_value(r, 0, 0)));
	json_object_set_new(identity, "database_oid",
			    json_integer(strtoll(pg_value(r, 0, 1), NULL, 10)));
	pg_result_free(r);
	return rc;
}

/* The parts that rights may be missing for come last. */
void postgres_source_identity_ahead(struct pg *pg)
{
	pg_ahead_add(pg, identity_database_sql, 0, NULL);
	pg_ahead_add(pg, identity_cluster_sql, 0, NULL);
	pg_ahead_add(pg, identity_primary_sql, 0, NULL);
}

/* Behind describe, the table that was described: it is the one whose rows will
 * be read. */
static int identity_table(struct postgres *c, const struct source_spec *source,
			  uint32_t *oid, struct error *err)
{
	struct relation relation = { .oid = 0 };
	struct source_table names = { .view = false };
	int rc;

	if (c->described == source) {
		*oid = postgres_source_relation(&c->layout)->oid;
		return 0;
	}
	if (source->query) {
		*oid = RELATION_OF_QUERY;
		return 0;
	}
	rc = postgres_source_relation_find(c->pg, source->table, &relation,
					   &names, err);
	if (rc)
		return rc;
	source_table_release(&names);
	*oid = relation.oid;
	return 0;
}

int postgres_identity(struct connector *base, const struct source_spec *source,
		      json_t **out, struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	const struct source_column *mark = source_mark(&c->layout);
	json_t *identity = json_pack("{s:s}", "engine", "postgres");
	uint32_t oid = 0;
	int rc = identity_cluster(c, identity, err);

	if (!rc)
		rc = identity_table(c, source, &oid, err);
	if (rc) {
		json_decref(identity);
		return rc;
	}
	json_object_set_new(identity, "table", json_string(source->table));
	json_object_set_new(identity, "table_oid", json_integer(oid));
	if (c->described == source && mark)
		json_object_set_new(
			identity, "mark_meaning",
			json_string(settle_meaning(mark->type.kind)));
	*out = identity;
	return 0;
}

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/names.h"
#include "destinations/postgres/postgres.h"

/* NAMEDATALEN - 1: the server cuts longer names with a mere notice. */
#define NAME_LIMIT 63

static int place_check_length(const char *what, const char *name,
			      struct error *err)
{
	if (strlen(name) <= NAME_LIMIT)
		return 0;
	return error_set(err, ERROR_SCHEMA,
			 "%s %s: PostgreSQL cuts names at %d bytes" ERROR_FIX
			 "; choose a shorter one",
			 what, name, NAME_LIMIT);
}

static int place_check_database(struct pg *pg, const char *catalog,
				struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, "SELECT current_database()", "1t", 0, NULL,
			  err);

	if (!rc && strcmp(pg_value(r, 0, 0), catalog))
		rc = error_set(
			err, ERROR_SCHEMA,
			"the connection is to database %s, not %s" ERROR_FIX
			"; name a connection to that one",
			pg_value(r, 0, 0), catalog);
	pg_result_free(r);
	return rc;
}

static int place_check(struct pg *pg, const struct place *p,
		       const struct table_name *name,
		       const struct target *target, struct error *err)
{
	int rc = target_check_own(target, name->name, err);

	if (!rc)
		rc = place_check_length("table", p->base, err);
	if (!rc)
		rc = place_check_length("schema", p->schema, err);
	for (size_t i = 0;
	     !rc && target->schema && i < target->schema->n_columns; i++)
		rc = place_check_length("column",
					target->schema->columns[i].name, err);
	if (!rc && name->catalog)
		rc = place_check_database(pg, name->catalog, err);
	return rc;
}

int postgres_place_set(struct place *out, struct pg *pg,
		       const struct target *target, struct error *err)
{
	struct table_name name = { 0 };
	const char *schema;
	char *prefix;
	int rc = table_name_parse(&name, target->table, err);

	if (rc)
		return rc;
	schema = name.schema ? name.schema : "public";
	prefix = place_prefix(schema, '"');
	place_fill(out, target, schema, name.name, prefix, '"');
	free(prefix);
	rc = place_check(pg, out, &name, target, err);
	table_name_release(&name);
	return rc;
}

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/common/refusals.h"
#include "destinations/postgres/postgres.h"

/* A table that is gone when its lock is asked for. */
#define UNDEFINED_TABLE "42P01"

int postgres_signature_refuse(const struct target *target, struct error *err)
{
	return target_refuse_altered(
		target,
		"its columns, triggers, rules or policies are not those that "
		"the run has prepared, or it was truncated",
		err);
}

int postgres_signature_compare(const struct target *target,
			       const char *expected, const char *found,
			       struct error *err)
{
	if (!strcmp(expected ? expected : "", found ? found : ""))
		return 0;
	return postgres_signature_refuse(target, err);
}

int postgres_signature_same(struct sql_mark *m, const char *table,
			    struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;

	return postgres_signature_compare(d->target, d->signature, table, err);
}

int postgres_signature_read(struct pg *pg, const char *table, char **out,
			    struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r,
			  "SELECT " POSTGRES_SIGNATURE
			  "\nFROM pg_class c WHERE c.oid = to_regclass($1)",
			  "t", 1, &table, err);

	if (!rc) {
		free(*out);
		*out = pg_rows(r) ? xstrdup(pg_value(r, 0, 0)) : NULL;
	}
	pg_result_free(r);
	return rc;
}

/* ATTACH PARTITION waits for no writer, and a new partition may have triggers
 * of its own. */
int postgres_signature_check_again(struct postgres_destination *d,
				   struct error *err)
{
	char *now = NULL;
	int rc;

	if (d->table.kind != 'p' || d->target->preview)
		return 0;
	rc = postgres_signature_read(d->pg, d->rows, &now, err);
	if (!rc)
		rc = postgres_signature_compare(d->target, d->signature, now,
						err);
	free(now);
	return rc;
}

bool postgres_signature_is_gone(const struct error *err)
{
	return error_has_code(err, UNDEFINED_TABLE);
}

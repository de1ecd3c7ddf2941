#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/common/refusals.h"
#include "destinations/sqlite/internal.h"

/* All that decides what becomes of a row: the table, its indexes and its
 * triggers, as they were written. */
static const char signature_sql[] =
	"SELECT type || ' ' || name || ' ' || coalesce(sql, '')\n"
	"FROM main.sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE\n"
	"ORDER BY type, name";

int sqlite_target_signature_read(struct sqlite *db, const char *table,
				 char **out, struct error *err)
{
	struct strlist found = STRLIST_INIT;
	struct strbuf sb = STRBUF_INIT;
	int rc = db ? sqlite_target_catalog_list(db, signature_sql, table,
						 &found, err)
		    : 0;

	for (size_t i = 0; !rc && i < found.n; i++)
		strbuf_addf(&sb, "%s\n", found.items[i]);
	free(*out);
	*out = rc ? NULL : strbuf_detach(&sb);
	strbuf_release(&sb);
	strlist_release(&found);
	return rc;
}

static int signature_compare(struct sqlite_target *d, const char *table,
			     const char *expected, struct error *err)
{
	char *now = NULL;
	int rc = sqlite_target_signature_read(d->db, table, &now, err);

	if (!rc && strcmp(expected ? expected : "", now) != 0)
		rc = target_refuse_altered(
			d->target,
			"its columns, indexes or triggers are not those that "
			"the run has prepared",
			err);
	free(now);
	return rc;
}

/* The file's number changes with each statement that alters any of its tables.
 * -1: not known. */
static int signature_version(struct sqlite_target *d, int64_t *out,
			     struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(d->db, &st, "PRAGMA main.schema_version", err);

	if (!rc)
		rc = sqlite_step(st, err);
	*out = rc == 1 ? sqlite_i64(st, 0) : -1;
	sqlite_finalize(st);
	return rc < 0 ? rc : 0;
}

int sqlite_target_signature_check(struct sqlite_target *d, struct error *err)
{
	const char *table = d->target->refresh ? d->place.build : d->place.base;
	int64_t version = -1;
	int rc = signature_version(d, &version, err);

	if (rc || (version >= 0 && version == d->schema_version))
		return rc;
	rc = signature_compare(d, table, d->signature, err);
	if (!rc)
		d->schema_version = version;
	return rc;
}

int sqlite_target_signature_check_replaced(struct sqlite_target *d,
					   struct error *err)
{
	return signature_compare(d, d->place.base, d->replaced, err);
}

#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/common/mark_moved.h"
#include "destinations/mysql/internal.h"

#define ERRNO_NO_RIGHT 1227
#define ERRNO_NO_TABLE 1109

/* information_schema.referential_constraints is silent about tables that the
 * user may not see; InnoDB's own list is not. MariaDB writes names there as it
 * names files. Folded: to find one too many does no harm. */
static const char mysql_keys_sql[] =
	"SELECT MIN(REPLACE(for_name, '/', '.'))\n"
	"FROM information_schema.innodb_foreign\n"
	"WHERE LOWER(ref_name) = LOWER(CONCAT(?, '/', ?))";

static const char mariadb_keys_sql[] =
	"SELECT MIN(REPLACE(for_name, '/', '.'))\n"
	"FROM information_schema.innodb_sys_foreign\n"
	"WHERE LOWER(ref_name) = LOWER(CONCAT(\n"
	"  CONVERT(CAST(CONVERT(? USING filename) AS BINARY) USING ascii),\n"
	"  '/',\n"
	"  CONVERT(CAST(CONVERT(? USING filename) AS BINARY) USING ascii)))";

static int watchers_keys(struct mysql_client *db, const char *const params[2],
			 struct catalog_table *out, struct error *err)
{
	struct mysql_client_result *r = NULL;
	struct error why = ERROR_INIT;
	int rc = mysql_client_query(
		db, &r,
		mysql_client_is_mariadb(db) ? mariadb_keys_sql : mysql_keys_sql,
		"?", 2, params, &why);

	out->keys_unseen = mysql_client_failed_with(&why, ERRNO_NO_RIGHT) ||
			   mysql_client_failed_with(&why, ERRNO_NO_TABLE);
	if (rc && !out->keys_unseen) {
		*err = why;
		return rc;
	}
	if (!rc && mysql_client_rows(r) && mysql_client_value(r, 0, 0) &&
	    !out->referenced_by)
		out->referenced_by = xstrdup(mysql_client_value(r, 0, 0));
	mysql_client_result_free(r);
	return 0;
}

/* MySQL shows triggers to those alone who may make some. */
static int watchers_triggers(struct mysql_client *db,
			     const char *const params[2],
			     struct catalog_table *out, struct error *err)
{
	bool given = false;
	int rc = mysql_target_rights_give(db, "TRIGGER", params, &given, err);

	out->triggers_unseen = !rc && !given;
	return rc;
}

static const char mark_sql[] =
	"SELECT GROUP_CONCAT(trigger_name ORDER BY trigger_name\n"
	"                    SEPARATOR ', ')\n"
	"FROM information_schema.triggers\n"
	"WHERE event_object_schema = ? AND event_object_table = ?\n"
	"  AND event_manipulation <> 'DELETE'\n"
	"  AND LOCATE(LOWER(?), LOWER(action_statement)) > 0";

int mysql_target_watchers_mark(struct mysql_client *db,
			       const struct place *place,
			       const struct target *target,
			       const struct catalog_table *table,
			       struct problems *out, struct error *err)
{
	const char *name = mark_moved_column(target);
	const char *params[] = { place->database, place->base, name };
	const struct catalog_column *c =
		name ? mysql_target_catalog_find(table, name) : NULL;
	struct mysql_client_result *r = NULL;
	char *what;
	int rc;

	if (!c)
		return 0;
	if (c->renewed && target->mode == LOAD_UPDATE)
		mark_moved_report(target, "ON UPDATE CURRENT_TIMESTAMP", out);
	if (!table->triggers)
		return 0;
	rc = mysql_client_query(db, &r, mark_sql, "1?", ARRAY_SIZE(params),
				params, err);
	if (!rc && mysql_client_rows(r) && mysql_client_value(r, 0, 0)) {
		what = xstrfmt("trigger %s", mysql_client_value(r, 0, 0));
		mark_moved_report(target, what, out);
		free(what);
	}
	mysql_client_result_free(r);
	return rc;
}

void mysql_target_watchers_unseen(struct mysql_client *db,
				  const struct target *target,
				  const struct catalog_table *table,
				  struct problems *out)
{
	char *grant;

	if (!table->keys_unseen ||
	    !(target->refresh || target->mode == LOAD_DELETE_INSERT))
		return;
	grant = mysql_target_rights_grant(db, "PROCESS", "*.*");
	problems_add(out, SEVERITY_WARNING, ERROR_NONE, "references-unseen",
		     grant,
		     "table %s: foreign keys of other databases do not show "
		     "without the right PROCESS; %s",
		     target->table,
		     target->refresh ? "a table that one of them points at is "
				       "not replaced"
				     : "so that none of them deletes rows "
				       "elsewhere, changed rows are updated in "
				       "place");
	free(grant);
}

int mysql_target_watchers_read(struct mysql_client *db, const char *database,
			       const char *table, const struct target *target,
			       struct catalog_table *out, struct error *err)
{
	const char *params[2] = { database, table };
	bool keys = target->refresh || target->mode == LOAD_DELETE_INSERT ||
		    out->other_unique;
	int rc = 0;

	/* For a table that is still to be made: would the keys show? */
	if (keys)
		rc = watchers_keys(db, params, out, err);
	if (!rc && out->exists && !out->triggers &&
	    !mysql_client_is_mariadb(db) &&
	    (target->refresh || target->mode != LOAD_APPEND))
		rc = watchers_triggers(db, params, out, err);
	return rc;
}

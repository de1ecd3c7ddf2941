#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/mysql/owned.h"

static const char make_sql[] =
	"INSERT IGNORE INTO %s (pipeline, updated_at, target)\n"
	"VALUES (?, UTC_TIMESTAMP(6), ?)";

static const char look_sql[] =
	"SELECT watermark FROM %s WHERE pipeline = ? FOR UPDATE";

static const char raise_sql[] =
	"UPDATE %s SET watermark = ? WHERE pipeline = ?";

static int raise_write(struct mysql_target *d, const struct place *place,
		       const char *pipeline, const char *watermark,
		       struct error *err)
{
	const char *params[] = { watermark, pipeline };
	char *sql = xstrfmt(raise_sql, place->watermark);
	int rc = mysql_client_exec_count(d->db, sql, 2, params, NULL, err);

	free(sql);
	return rc;
}

/* The row's lock waits for the batch of a run that is under way. */
static int raise_locked(struct mysql_target *d, const struct place *place,
			const char *pipeline, const char *mark,
			struct error *err)
{
	const char *params[] = { pipeline, place->table };
	char *make = xstrfmt(make_sql, place->watermark);
	char *look = xstrfmt(look_sql, place->watermark), *raised = NULL;
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_exec_count(d->db, make, 2, params, NULL, err);

	if (!rc)
		rc = mysql_client_query(d->db, &r, look, "?", 1, params, err);
	if (!rc && mysql_client_rows(r))
		raised =
			watermark_raise_text(mysql_client_value(r, 0, 0), mark);
	mysql_client_result_free(r);
	if (raised)
		rc = raise_write(d, place, pipeline, raised, err);
	free(make);
	free(look);
	free(raised);
	return rc;
}

int mysql_target_raise(struct destination *base, const struct target *target,
		       const char *mark, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct place place = { .database = NULL };
	int rc = mysql_target_place_set(&place, d->db, target, err);

	if (!rc)
		rc = mysql_target_owned_check(d->db, &place, err);
	if (!rc)
		rc = mysql_target_session_begin(d, err);
	if (!rc)
		rc = raise_locked(d, &place, target->pipeline, mark, err);
	if (!rc)
		rc = mysql_client_exec(d->db, "COMMIT", err);
	if (rc)
		mysql_target_session_rollback(d);
	else
		mysql_target_session_end(d);
	mysql_target_place_release(&place);
	return rc;
}

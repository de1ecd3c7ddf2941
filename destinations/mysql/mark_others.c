#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/mysql/internal.h"

/* The numbers of a raw table go on behind the highest, whoever gave it. The
 * table that is updated may be read where that is done before, alone. */
static const char hand_on_sql[] =
	"UPDATE %s SET rows_total = GREATEST(rows_total,\n"
	"  (SELECT n FROM (SELECT MAX(rows_total) AS n FROM %s\n"
	"                  WHERE pipeline = ?) AS gone))\n"
	"WHERE pipeline = (SELECT name FROM (\n"
	"  SELECT MIN(o.pipeline) AS name FROM %s o JOIN %s w\n"
	"    ON w.target = o.target AND o.pipeline <> w.pipeline\n"
	"  WHERE w.pipeline = ?) AS other)";

static int mark_hand_on(struct mysql_client *db, const struct place *place,
			const char *pipeline, struct error *err)
{
	const char *mark = place->watermark;
	const char *params[] = { pipeline, pipeline };
	char *sql;
	int rc;

	if (!strcmp(place->table, place->base))
		return 0;
	sql = xstrfmt(hand_on_sql, mark, mark, mark, mark);
	rc = mysql_client_exec_count(db, sql, 2, params, NULL, err);
	free(sql);
	return rc;
}

static int mark_list_others(struct mysql_client *db, const struct place *place,
			    const char *pipeline, struct strlist *out,
			    struct error *err)
{
	const char *params[] = { place->table, pipeline };
	char *sql = xstrfmt("SELECT pipeline, watermark FROM %s\n"
			    "WHERE target = ? AND pipeline <> ?\n"
			    "  AND watermark IS NOT NULL ORDER BY pipeline",
			    place->watermark);
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, sql, "tt", 2, params, err);

	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++) {
		strlist_add(out, mysql_client_value(r, i, 0));
		strlist_add(out, mysql_client_value(r, i, 1));
	}
	mysql_client_result_free(r);
	free(sql);
	return rc;
}

int mysql_target_others(struct destination *base, const struct target *target,
			struct strlist *out, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct place place = { .database = NULL };
	bool has_target = false, has_watermark = false;
	int rc = mysql_target_place_set(&place, d->db, target, err);

	if (!rc)
		rc = mysql_target_mark_has_tables(d->db, &place, &has_target,
						  &has_watermark, err);
	if (!rc && has_target && has_watermark)
		rc = mark_list_others(d->db, &place, target->pipeline, out,
				      err);
	mysql_target_place_release(&place);
	return rc;
}

int mysql_target_forget(struct destination *base, const struct target *target,
			struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct place place = { .database = NULL };
	bool has_target = false, has_watermark = false;
	char *fence = xstrfmt("%" PRId64, target->writer.fence);
	const char *params[] = { target->pipeline, fence };
	char *sql = NULL;
	int rc = mysql_target_place_set(&place, d->db, target, err);

	if (!rc)
		rc = mysql_target_mark_has_tables(d->db, &place, &has_target,
						  &has_watermark, err);
	if (!rc && has_watermark)
		rc = mark_hand_on(d->db, &place, target->pipeline, err);
	if (!rc && has_watermark) {
		sql = xstrfmt("DELETE FROM %s WHERE pipeline = ? AND "
			      "fence <= ?",
			      place.watermark);
		rc = mysql_client_exec_count(d->db, sql, 2, params, NULL, err);
	}
	mysql_target_place_release(&place);
	free(sql);
	free(fence);
	return rc;
}

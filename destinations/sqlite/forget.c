#include <string.h>

#include "core/data/table_identity.h"
#include "destinations/sqlite/internal.h"

/* The numbers of a raw table go on behind the highest, whoever gave it. */
static const char hand_on_sql[] =
	"UPDATE main." NAME_WATERMARK_TABLE " SET rows_total =\n"
	"  max(rows_total, (SELECT rows_total FROM main." NAME_WATERMARK_TABLE
	"\n                   WHERE pipeline = ?1))\n"
	"WHERE pipeline = (SELECT min(o.pipeline)\n"
	"  FROM main." NAME_WATERMARK_TABLE " o\n"
	"  JOIN main." NAME_WATERMARK_TABLE " w\n"
	"    ON w.target = o.target COLLATE NOCASE\n"
	"      AND o.pipeline <> w.pipeline\n"
	"  WHERE w.pipeline = ?1)";

static int mark_hand_on(struct sqlite *db, const struct place *place,
			const char *pipeline, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc;

	if (!strcmp(place->table, place->base))
		return 0;
	rc = sqlite_prepare(db, &st, hand_on_sql, err);
	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	return rc;
}

int sqlite_target_forget(struct destination *base, const struct target *target,
			 struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct sqlite_statement *st = NULL;
	struct place place = { .table = NULL };
	bool has_watermark = false;
	int rc = place_set(&place, target, err);

	if (!rc && d->db)
		rc = owned_has_marks(d->db, &has_watermark, err);
	if (!rc && has_watermark)
		rc = mark_hand_on(d->db, &place, target->pipeline, err);
	if (!rc && has_watermark)
		rc = sqlite_prepare(d->db, &st,
				    "DELETE FROM main." NAME_WATERMARK_TABLE
				    " WHERE pipeline = ?1 AND fence <= ?2",
				    err);
	if (st) {
		sqlite_bind_str(st, 1, target->pipeline, -1);
		sqlite_bind_i64(st, 2, target->writer.fence);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	place_release(&place);
	return rc;
}

int mark_list_others(struct sqlite *db, const struct place *place,
		     const char *pipeline, struct strlist *out,
		     struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st,
				"SELECT pipeline, watermark\n"
				"FROM main." NAME_WATERMARK_TABLE "\n"
				"WHERE target = ?1 COLLATE NOCASE\n"
				"  AND pipeline <> ?2\n"
				"  AND watermark IS NOT NULL ORDER BY pipeline",
				err);

	if (!rc) {
		sqlite_bind_str(st, 1, place->table, -1);
		sqlite_bind_str(st, 2, pipeline, -1);
		rc = sqlite_step(st, err);
	}
	for (; rc == 1; rc = sqlite_step(st, err)) {
		strlist_add(out, sqlite_str(st, 0));
		strlist_add(out, sqlite_str(st, 1));
	}
	sqlite_finalize(st);
	return rc;
}

int sqlite_target_others(struct destination *base, const struct target *target,
			 struct strlist *out, struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct place place = { .table = NULL };
	bool has_target = false, has_watermark = false;
	int rc = place_set(&place, target, err);

	if (!rc && d->db)
		rc = catalog_has(d->db, place.table, &has_target, err);
	if (!rc && has_target)
		rc = owned_has_marks(d->db, &has_watermark, err);
	if (!rc && has_watermark)
		rc = mark_list_others(d->db, &place, target->pipeline, out,
				      err);
	place_release(&place);
	return rc;
}

int sqlite_target_identity(struct destination *base,
			   const struct target *target, json_t **out,
			   struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct place place = { .table = NULL };
	int rc = place_set(&place, target, err);

	if (!rc) {
		*out = json_pack("{s:s, s:s}", "engine", "sqlite", "table",
				 place.readable);
		table_identity_add_file(*out, d->path);
	}
	place_release(&place);
	return rc;
}

#include <stdlib.h>

#include "destinations/sqlite/internal.h"

static const char look_sql[] =
	"SELECT watermark FROM main." NAME_WATERMARK_TABLE
	" WHERE pipeline = ?1";

static const char raise_sql[] = "UPDATE main." NAME_WATERMARK_TABLE
				" SET watermark = ?2 WHERE pipeline = ?1";

/* 1: there is no row. */
static int raise_look(struct sqlite_target *d, const char *pipeline,
		      const char *mark, char **raised, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(d->db, &st, look_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		rc = sqlite_step(st, err);
	}
	if (rc >= 0)
		*raised = watermark_raise_text(
			rc == 1 ? sqlite_str(st, 0) : NULL, mark);
	sqlite_finalize(st);
	return rc < 0 ? rc : !rc;
}

static int raise_write(struct sqlite_target *d, const char *pipeline,
		       const char *watermark, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(d->db, &st, raise_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		sqlite_bind_str(st, 2, watermark, -1);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	return rc;
}

int sqlite_target_raise(struct destination *base, const struct target *target,
			const char *mark, struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct place place = { .table = NULL };
	char *raised = NULL;
	bool there = false;
	int rc = place_set(&place, target, err);

	if (!rc)
		rc = sqlite_begin(d->db, err);
	if (!rc)
		rc = owned_has_marks(d->db, &there, err);
	if (!rc)
		rc = raise_look(d, target->pipeline, mark, &raised, err);
	if (rc > 0)
		rc = mark_put(d->db, &place, target->pipeline, raised, -1, err);
	else if (!rc && raised)
		rc = raise_write(d, target->pipeline, raised, err);
	if (!rc)
		rc = sqlite_commit(d->db, err);
	if (rc)
		sqlite_rollback(d->db);
	free(raised);
	place_release(&place);
	return rc;
}

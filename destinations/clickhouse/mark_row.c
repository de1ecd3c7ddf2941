#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

void clickhouse_target_mark_row_release(struct mark_row *m)
{
	free(m->watermark);
	free(m->batch_id);
	free(m->target);
	free(m->table_uuid);
	free(m->written_at);
	memset(m, 0, sizeof(*m));
}

void clickhouse_target_mark_row_copy(struct mark_row *dst,
				     const struct mark_row *src)
{
	*dst = *src;
	dst->watermark = xstrdup(src->watermark);
	dst->batch_id = xstrdup(src->batch_id);
	dst->target = xstrdup(src->target);
	dst->table_uuid = xstrdup(src->table_uuid);
	dst->written_at = xstrdup(src->written_at);
}

void clickhouse_target_mark_row_checkpoint(const struct mark_row *m,
					   struct checkpoint *out)
{
	checkpoint_release(out);
	out->fence = m->fence;
	/* Forgotten: whoever wrote it may still live. */
	if (!m->found)
		return;
	out->found = true;
	out->watermark = xstrdup(m->watermark);
	out->batch_id = xstrdup(m->batch_id);
	out->rows_total = m->rows_total;
}

/* The chunk of a backfill has told the mark which rows it is about to
 * deliver. */
static bool mark_is_raised(const char *now, const char *was)
{
	char *raised = now ? watermark_raise_text(was, now) : NULL;
	bool same = raised && !strcmp(raised, now);

	free(raised);
	return same;
}

/* Is its writer still the one that we have seen? Then only two things may
 * differ. A writer that appended to the same table, and has let go of its own
 * row, raised the number of rows. Or the delivered mark was raised. */
bool clickhouse_target_mark_is_handed_on(const struct mark_row *now,
					 const struct mark_row *seen)
{
	const char *was = seen->watermark ? seen->watermark : "";

	return now->found && now->batch_id && seen->batch_id &&
	       !strcmp(now->batch_id, seen->batch_id) &&
	       now->fence == seen->fence &&
	       (!strcmp(now->watermark ? now->watermark : "", was) ||
		mark_is_raised(now->watermark, seen->watermark));
}

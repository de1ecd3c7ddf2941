#include "core/plugin/destination.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

static const char *const load_mode_names[] = {
	[LOAD_UPSERT] = "upsert",
	[LOAD_APPEND] = "append",
	[LOAD_DELETE_INSERT] = "delete_insert",
	[LOAD_UPDATE] = "update",
	[LOAD_REPLACE] = "replace",
};

static const char *const mapping_names[] = {
	[MAPPING_EXACT] = "exact",
	[MAPPING_WIDENED] = "widened",
	[MAPPING_LOSSY] = "lossy",
};

const char *load_mode_name(enum load_mode mode)
{
	return load_mode_names[mode];
}

const char *mapping_name(enum mapping m)
{
	return mapping_names[m];
}

bool target_writes(const struct target *target, size_t column)
{
	const struct schema *s = target->schema;

	return !schema_is_key(s, column) &&
	       (target->mode != LOAD_UPDATE || (long)column != s->mark);
}

bool target_writes_some(const struct target *target)
{
	for (size_t i = 0; i < target->schema->n_columns; i++)
		if (target_writes(target, i))
			return true;
	return false;
}

void inspection_init(struct inspection *i)
{
	memset(i, 0, sizeof(*i));
}

void inspection_release(struct inspection *i)
{
	if (!i)
		return;
	for (size_t k = 0; k < i->n_columns; k++) {
		free(i->columns[k].name);
		free(i->columns[k].destination_type);
	}
	free(i->columns);
	problems_release(&i->problems);
	strlist_release(&i->ddl);
	strlist_release(&i->added);
	strlist_release(&i->extra);
	inspection_init(i);
}

void checkpoint_init(struct checkpoint *c)
{
	memset(c, 0, sizeof(*c));
}

void checkpoint_release(struct checkpoint *c)
{
	if (!c)
		return;
	free(c->watermark);
	free(c->batch_id);
	free(c->delivered);
	strlist_release(&c->others);
	checkpoint_init(c);
}

void checkpoint_set_missing(struct checkpoint *c)
{
	struct checkpoint left = { .fence = c->fence,
				   .others = c->others,
				   .missing = true };

	c->others = (struct strlist)STRLIST_INIT;
	checkpoint_release(c);
	*c = left;
}

void checkpoint_add_other(struct checkpoint *c, const char *pipeline,
			  const char *mark)
{
	strlist_add(&c->others, pipeline);
	strlist_add(&c->others, mark);
}

void checkpoint_copy(struct checkpoint *dst, const struct checkpoint *src)
{
	struct checkpoint copy = *src;

	copy.watermark = xstrdup(src->watermark);
	copy.batch_id = xstrdup(src->batch_id ? src->batch_id : "");
	copy.delivered = xstrdup(src->delivered);
	copy.others = (struct strlist)STRLIST_INIT;
	checkpoint_release(dst);
	*dst = copy;
}

void checkpoint_keep(struct checkpoint *dst, const struct checkpoint *next,
		     const char *stands)
{
	struct error ignored = ERROR_INIT;
	struct watermark mark;
	char *raised = next->watermark && stands
			       ? watermark_raise_text(next->watermark, stands)
			       : NULL;

	checkpoint_copy(dst, next);
	if (!raised)
		return;
	watermark_init(&mark);
	if (!watermark_from_text(&mark, raised, &ignored)) {
		free(dst->delivered);
		dst->delivered = xstrdup(watermark_delivered(&mark));
	}
	watermark_release(&mark);
	free(dst->watermark);
	dst->watermark = raised;
}

int writer_check(const struct writer *w, struct error *err)
{
	return w->check ? w->check(w->ctx, err) : 0;
}

static const char *writer_batch(const struct checkpoint *c)
{
	return c->batch_id ? c->batch_id : "";
}

static void writer_compare(struct strbuf *sb, const struct checkpoint *seen,
			   const struct checkpoint *now)
{
	if (!now->found) {
		strbuf_addstr(sb, "the row is gone");
		return;
	}
	if (strcmp(writer_batch(now), writer_batch(seen)) != 0)
		strbuf_addf(sb, "batch_id is '%s', and this run left '%s'",
			    writer_batch(now), writer_batch(seen));
	if (now->fence != seen->fence)
		strbuf_addf(sb,
			    "%sfence is %" PRId64
			    ", and this run left %" PRId64,
			    sb->len ? "; " : "", now->fence, seen->fence);
	if (!sb->len && now->watermark && seen->watermark &&
	    strcmp(now->watermark, seen->watermark) != 0)
		strbuf_addstr(sb, "its watermark is not what this run left");
}

static int writer_refuse(const char *pipeline, const char *where,
			 const char *differs, const char *outcome,
			 struct error *err)
{
	return error_set(
		err, ERROR_STATE,
		"pipeline %s: another run of %s has taken over, or somebody "
		"altered its row in %s by hand: %s; %s. " ERROR_FIX
		"`tidemark runs` shows whether another run was at work. If one "
		"was, nothing is to be done. If none was, run again: the next "
		"run goes on from what the row says then; `tidemark verify` "
		"compares the rows after it",
		pipeline, pipeline, where, differs, outcome);
}

int writer_overtaken(const char *pipeline, const char *where,
		     const char *outcome, const struct checkpoint *seen,
		     const struct checkpoint *now, struct error *err)
{
	struct strbuf differs = STRBUF_INIT;
	int rc;

	if (seen && now)
		writer_compare(&differs, seen, now);
	if (!differs.len)
		strbuf_addstr(&differs,
			      "it is not the row that this run left there");
	rc = writer_refuse(pipeline, where, differs.data, outcome, err);
	strbuf_release(&differs);
	return rc;
}

int writer_check_fence(const struct writer *w, const char *pipeline,
		       int64_t stored, struct error *err)
{
	char *differs;
	int rc;

	if (!w->fence || stored <= w->fence)
		return 0;
	differs = xstrfmt("the fencing token (fence) there is %" PRId64
			  ", this run's is %" PRId64,
			  stored, w->fence);
	rc = writer_refuse(pipeline, "_tidemark_watermark", differs,
			   "nothing was written", err);
	free(differs);
	return rc;
}

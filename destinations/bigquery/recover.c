#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

/* Facts about a target. */
struct found {
	struct bigquery_place place;
	struct existing existing;
};

int bigquery_find(struct bigquery_destination *d, const struct target *target,
		  struct bigquery_place *place, struct existing *existing,
		  struct error *err)
{
	int rc = bigquery_place_init(place, d, target, err);

	memset(existing, 0, sizeof(*existing));
	if (!rc)
		rc = bigquery_is_bare(d->client, &d->bare, err);
	if (!rc)
		rc = bigquery_owned_check(d, place, err);
	return rc ? rc
		  : bigquery_existing_look(existing, d, place, target->pipeline,
					   err);
}

/* Leftovers of runs that were killed, once prepare has run. */
static int recover_tidy(struct bigquery_destination *d, struct error *err)
{
	const char *pipeline = d->target->pipeline;
	bool swept = false;
	int rc = bigquery_stage_sweep(d, &d->place, pipeline, &swept, err);

	if (!rc && swept)
		rc = bigquery_mark_release(d, &d->place, pipeline, NULL, err);
	return rc;
}

static int mark_resume(struct mark_keeper *k, struct checkpoint *out,
		       struct error *err)
{
	struct bigquery_destination *d = (struct bigquery_destination *)k;
	struct existing now;
	int rc = recover_tidy(d, err);

	memset(&now, 0, sizeof(now));
	if (!rc)
		rc = bigquery_mark_look(&now, d, &d->place, d->target->pipeline,
					err);
	if (!rc)
		rc = writer_check_fence(&d->target->writer, d->target->pipeline,
					now.mark.fence, err);
	if (!rc) {
		checkpoint_copy(out, &now.mark);
		if (!d->target->refresh) {
			checkpoint_copy(&d->seen, &now.mark);
			d->seen_us = now.written_us;
		}
	}
	existing_release(&now);
	return rc;
}

static int mark_find(struct mark_keeper *k, const struct target *target,
		     enum mark_look look, struct mark_found *out,
		     struct error *err)
{
	struct bigquery_destination *d = (struct bigquery_destination *)k;
	struct found *f = xcalloc(1, sizeof(*f));
	int rc = bigquery_find(d, target, &f->place, &f->existing, err);

	(void)look;
	out->own = f;
	out->where = bigquery_shown(d->client);
	out->has_target = f->existing.has_data;
	out->has_marks = f->existing.has_mark_table;
	return rc;
}

static void mark_lose(struct mark_found *f)
{
	struct found *own = f->own;

	bigquery_place_release(&own->place);
	existing_release(&own->existing);
	free(own);
}

static int mark_read_all(struct mark_keeper *k, const struct mark_found *f,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	const struct checkpoint *mark =
		&((struct found *)f->own)->existing.mark;

	(void)k;
	(void)pipeline;
	(void)err;
	checkpoint_copy(out, mark);
	strlist_copy(&out->others, &mark->others);
	return 0;
}

static int mark_forget(struct mark_keeper *k, const struct mark_found *f,
		       const struct target *target, struct error *err)
{
	const struct found *own = f->own;

	if (!own->existing.has_mark)
		return 0;
	return bigquery_mark_forget((struct bigquery_destination *)k,
				    &own->place, target, err);
}

/* An empty batch_id makes every writer that is under way find that it was
 * moved. */
static int mark_set(struct mark_keeper *k, const struct mark_found *f,
		    const char *pipeline, const char *watermark,
		    struct error *err)
{
	struct bigquery_destination *d = (struct bigquery_destination *)k;
	const struct found *own = f->own;
	struct existing put = own->existing;
	int rc = 0;

	put.mark.watermark = (char *)watermark;
	put.mark.batch_id = (char *)"";
	put.delivered = 0;
	if (!f->has_marks)
		rc = bigquery_mark_create_table(d, &own->place, err);
	return rc ? rc : bigquery_mark_put(d, &own->place, pipeline, &put, err);
}

static int mark_raise(struct mark_keeper *k, const struct mark_found *f,
		      const char *pipeline, const char *mark, struct error *err)
{
	const struct found *own = f->own;

	return bigquery_mark_raise((struct bigquery_destination *)k,
				   &own->place, pipeline, &own->existing, mark,
				   err);
}

/* A dry run has made nothing that there is a mark of. */
static const struct target *mark_prepared(const struct mark_keeper *k)
{
	const struct target *target =
		((const struct bigquery_destination *)k)->target;

	return target && !target->preview ? target : NULL;
}

const struct mark_engine bigquery_mark_keeper = {
	.prepared = mark_prepared,
	.missing = { "does not exist in", "" },
	.find = mark_find,
	.lose = mark_lose,
	.read = mark_read_all,
	.resume = mark_resume,
	.forget = mark_forget,
	.set = mark_set,
	.raise = mark_raise,
};

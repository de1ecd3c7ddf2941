#include "core/sync/tasks/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/tasks/streams_room.h"
#include "core/sync/tasks/streams_work.h"

/* The member of the mark's pending part with the load's id, which its chunks
 * have, too. The mark that is written at the end has none. */
#define STREAMS_ID "streams"
/* The member with what settle() knew of the table's parts. */
#define STREAMS_PARTS	"parts"
#define STREAMS_ID_SIZE 13
/* A settled point may come only when open transactions have ended. */
#define STREAMS_SETTLE_TRIES 20
#define STREAMS_SETTLE_US    (US_PER_SECOND / 5)

static const char *streams_id(const struct run *r)
{
	return json_string_value(json_object_get(r->from.pending, STREAMS_ID));
}

/* The mark of a load under way says that nothing is settled. Rows up to the
 * settled point count as delivered before the first of them is loaded. */
static int streams_begin(struct run *r, const char *id, struct error *err)
{
	struct read_batch none;
	int rc;

	memset(&none, 0, sizeof(none));
	batch_init(&none.batch, &r->schema);
	watermark_release(&none.batch.watermark);
	watermark_copy(&none.batch.watermark, &r->from);
	json_decref(none.batch.watermark.pending);
	none.batch.watermark.pending = json_pack("{s:s}", STREAMS_ID, id);
	if (r->p->strategy != STRATEGY_XMIN)
		json_object_set_new(none.batch.watermark.pending, "delivered",
				    json_string(r->settled.value));
	if (r->settled.parts)
		json_object_set(none.batch.watermark.pending, STREAMS_PARTS,
				r->settled.parts);
	json_decref(none.batch.watermark.identity);
	none.batch.watermark.identity = json_incref(r->identity);
	rc = task_finish(r, &none, err);
	batch_release(&none.batch);
	return rc;
}

int streams_forget(struct run *r, struct error *err)
{
	struct chunk_list known = { NULL, 0, 0 };
	const char *last = "";
	int rc = store_chunks_list(r->store, r->p->name, &known, err);

	for (size_t i = 0; !rc && i < known.n; i++) {
		const struct chunk *c = &known.items[i];

		if (strncmp(c->config, STREAMS_CONFIG,
			    strlen(STREAMS_CONFIG)) != 0 ||
		    !strcmp(c->backfill_id, last))
			continue;
		last = c->backfill_id;
		rc = store_chunks_delete(r->store, r->p->name, last, err);
	}
	chunk_list_release(&known);
	return rc;
}

/* The run goes on behind the settled point, whatever becomes of the source. So
 * no crash may take back what the point covers. A mark of one stream waits for
 * the log, too. */
static int streams_wait_for_log(struct run *r, bool *safe, struct error *err)
{
	char *value = xstrdup(r->settled.value);
	uint64_t end = value ? r->settled.log_end : 0;
	int rc = 0;

	for (int i = 0; !rc && r->settled.log_flushed < end &&
			!stop_requested() && i < STREAMS_SETTLE_TRIES;
	     i++) {
		clock_sleep_us(STREAMS_SETTLE_US);
		rc = run_settle(r, err);
	}
	*safe = !rc && r->settled.log_flushed >= end;
	if (*safe)
		xassign(&r->settled.value, value);
	else if (!rc)
		log_info("%s is loaded by one stream: the source does not "
			 "flush its log",
			 r->p->source_table);
	free(value);
	return rc;
}

/* Begin with a range for each stream. The chunks come before the mark that
 * names them: those that none names are forgotten. */
static int streams_plan_new(struct run *r, size_t n, struct streams_plan *plan,
			    char id[DIGEST_TEXT_SIZE], struct error *err)
{
	struct chunk_list first = { NULL, 0, 0 };
	char attempt[DIGEST_TEXT_SIZE];
	bool safe = false;
	int rc = streams_forget(r, err);

	if (!rc)
		rc = streams_wait_for_log(r, &safe, err);
	ledger_attempt_id(attempt);
	digest_hash_text(attempt, strlen(attempt), id);
	id[STREAMS_ID_SIZE - 1] = '\0';
	if (!safe || !streams_plan_aim(plan, r->settled.value, NULL))
		return rc;
	while (!rc && !plan->whole && first.n < n)
		rc = streams_plan_next(plan, id, &first, err);
	if (!rc && first.n > 1)
		rc = streams_queue(r, &first, err);
	if (!rc && first.n > 1)
		rc = failpoint("streams_queued", err);
	if (!rc && first.n > 1)
		rc = streams_begin(r, id, err);
	chunk_list_release(&first);
	return rc;
}

static int streams_list(struct run *r, const char *id, struct chunk_list *out,
			struct error *err)
{
	struct chunk_list known = { NULL, 0, 0 };
	int rc = id ? store_chunks_list(r->store, r->p->name, &known, err) : 0;

	for (size_t i = 0; !rc && i < known.n; i++) {
		struct chunk *c = &known.items[i];

		if (strcmp(c->backfill_id, id) != 0)
			continue;
		out->items = xgrow(out->items, &out->capacity, out->n + 1,
				   sizeof(*c));
		out->items[out->n++] = *c;
		memset(c, 0, sizeof(*c));
	}
	chunk_list_release(&known);
	return rc;
}

/* Ranges that were set aside get another chance. */
static int streams_resume(struct run *r, struct streams_plan *plan,
			  struct chunk_list *known, struct error *err)
{
	const struct chunk *last = NULL;
	bool held;
	int rc = 0;

	for (size_t i = 0; !rc && i < known->n; i++) {
		struct chunk *c = &known->items[i];

		if (!last || c->number > last->number)
			last = c;
		if (strcmp(c->state, CHUNK_FAILED) != 0)
			continue;
		xassign(&c->state, CHUNK_QUEUED);
		c->attempts = 0;
		rc = store_chunk_save(r->store, c, &held, err);
	}
	if (!rc && last)
		streams_plan_aim(plan, last->window_to, last);
	return rc;
}

static int streams_wait_for_settled(struct run *r, struct error *err)
{
	int rc = 0;

	for (int i = 0; !rc && !r->settled.value && !stop_requested() &&
			i < STREAMS_SETTLE_TRIES;
	     i++) {
		json_decref(r->from.pending);
		r->from.pending = json_incref(r->settled.pending);
		clock_sleep_us(STREAMS_SETTLE_US);
		rc = run_settle(r, err);
	}
	return rc;
}

/* The position of the last row of all ranges, where one stream would have come
 * to. NULL: they had no row. */
static const char *streams_position(const struct chunk_list *all)
{
	const struct chunk *last = NULL;

	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].checksum &&
		    (!last || all->items[i].number > last->number))
			last = &all->items[i];
	return last ? last->checksum : NULL;
}

/* With xmin, from the point that was settled before the first range was read:
 * whatever has changed since is newer. Else from the last row: a source whose
 * guarantee is weak may yet bring marks below the settled point. */
static int streams_go_behind(struct run *r, const struct streams_plan *plan,
			     const struct chunk_list *all, struct error *err)
{
	const char *position = streams_position(all);
	struct watermark at;
	int rc = 0;

	watermark_init(&at);
	if (plan->by_key)
		at.value = xstrdup(plan->settled);
	else if (position)
		rc = watermark_from_text(&at, position, err);
	xassign(&r->from.value, at.value);
	strlist_release(&r->from.key);
	for (size_t i = 0; i < at.key.n; i++)
		strlist_add(&r->from.key, at.key.items[i]);
	watermark_release(&at);
	return rc;
}

static int streams_go_on(struct run *r, const struct streams_plan *plan,
			 const char *id, struct error *err)
{
	json_t *parts = json_object_get(r->from.pending, STREAMS_PARTS);
	struct chunk_list all = { NULL, 0, 0 };
	int rc = streams_list(r, id, &all, err);

	for (size_t i = 0; i < all.n; i++)
		r->rows_beside += all.items[i].rows;
	parts = json_deep_copy(parts ? parts : r->settled.parts);
	/* The window that --verify looks at begins with the table. */
	if (!rc)
		run_verify_begin(r);
	if (!rc)
		rc = streams_go_behind(r, plan, &all, err);
	json_decref(r->from.pending);
	r->from.pending = parts;
	r->split = true;
	chunk_list_release(&all);
	return rc ? rc : run_settle(r, err);
}

static int streams_all(struct run *r, size_t n, struct streams_plan *plan,
		       struct error *err)
{
	struct chunk_list known = { NULL, 0, 0 };
	char id[DIGEST_TEXT_SIZE] = "";
	int rc = streams_list(r, streams_id(r), &known, err);

	if (known.n)
		snprintf(id, sizeof(id), "%s", known.items[0].backfill_id);
	if (!rc && known.n)
		rc = streams_resume(r, plan, &known, err);
	else if (!rc)
		rc = streams_wait_for_settled(r, err);
	if (!rc && !known.n)
		rc = streams_plan_new(r, n, plan, id, err);
	chunk_list_release(&known);
	if (rc || plan->n < 2)
		return rc;
	log_info("%s is loaded by %zu streams", r->p->source_table, n);
	rc = streams_run(r, n, plan, id, err);
	if (!rc)
		rc = failpoint("streams_loaded", err);
	return rc ? rc : streams_go_on(r, plan, id, err);
}

int streams_load(struct run *r, struct error *err)
{
	struct streams_plan plan;
	const char *why;
	size_t n = streams_count(r, &why), least;
	int rc;

	/* Whoever has asked for more is told. */
	if (why && r->p->streams > 1)
		log_info("%s is loaded by one stream: %s", r->p->source_table,
			 why);
	else if (why)
		log_debug("%s is loaded by one stream: %s", r->p->source_table,
			  why);
	/* It goes on as it was begun. */
	else if (n < 2 && r->p->streams != 1 && streams_id(r))
		n = 2;
	least = streams_id(r) ? 1 : 2;
	if (n > 1)
		n = streams_room(r, n, least);
	else
		n = 0;
	if (n < least)
		return r->store && streams_id(r) ? streams_forget(r, err) : 0;
	streams_plan_init(&plan, r, n);
	rc = streams_all(r, n, &plan, err);
	streams_plan_release(&plan);
	streams_room_end();
	return rc;
}

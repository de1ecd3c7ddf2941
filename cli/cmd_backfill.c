#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/backfill_line.h"
#include "cli/commands.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/engine.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/store/chunks.h"
#include "core/store/session.h"
#include "core/sync/backfill/backfill.h"
#include "core/sync/parts/state.h"
#include "core/sync/rounds/crew.h"

/* Between two lines about how far it has come: in a log, on a terminal. */
#define BACKFILL_LINE_US (10 * US_PER_SECOND)
#define BACKFILL_LIVE_US (US_PER_SECOND / 2)

static void backfill_print(const struct chunk_list *chunks)
{
	static const struct output_column columns[] = {
		{ "CHUNK", false }, { "FROM", false }, { "TO", false },
		{ "STATE", false }, { "ROWS", true },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < chunks->n; i++) {
		const struct chunk *c = &chunks->items[i];
		char *rows = xstrfmt("%" PRId64, c->rows);
		const char *cells[] = { c->chunk_id,
					c->nulls ? "(no value)" : c->range_from,
					c->range_to, c->state, rows };

		output_table_row(t, cells);
		free(rows);
	}
	output_table_print(t);
	output_table_free(t);
}

static void backfill_print_json(const struct chunk_list *chunks)
{
	json_t *list = json_array();

	for (size_t i = 0; i < chunks->n; i++)
		json_array_append_new(list,
				      backfill_chunk_json(&chunks->items[i]));
	output_json(json_pack("{s:o}", "chunks", list), false);
}

struct backfill_watch {
	const struct settings *s;
	const char *pipeline, *id;
	struct store *store;
	struct store *fresh; /* in place of `store`, once that was lost */
	int64_t told; /* chunks that were over when it was said last */
	int64_t told_us;
};

/* A store that was away is found again, as the workers do. */
static int backfill_chunks(struct backfill_watch *w, struct chunk_list *out,
			   struct error *err)
{
	struct store *store = w->fresh ? w->fresh : w->store;
	struct error ignored = ERROR_INIT;
	int rc = store_chunks_list(store, w->pipeline, out, err);

	if (!rc || !error_may_pass(err->code))
		return rc;
	chunk_list_release(out);
	store_close(w->fresh);
	w->fresh = NULL;
	if (state_open(w->s, &w->fresh, &ignored))
		return rc;
	error_clear(err);
	return store_chunks_list(w->fresh, w->pipeline, out, err);
}

static void backfill_tell(struct backfill_watch *w,
			  const struct backfill_sums *sums)
{
	struct strbuf line = STRBUF_INIT;

	if (progress_is_live()) {
		backfill_line(&line, w->pipeline, sums);
		progress_line(line.data);
	} else if (sums->done + sums->failed != w->told) {
		backfill_say(w->pipeline, sums, log_info);
	}
	w->told = sums->done + sums->failed;
	strbuf_release(&line);
}

/* A line now and then; a store that does not answer says nothing. */
static void backfill_tick(void *ctx)
{
	struct backfill_watch *w = ctx;
	struct chunk_list chunks = { NULL, 0, 0 };
	struct error ignored = ERROR_INIT;
	struct backfill_sums sums;
	int64_t every =
		progress_is_live() ? BACKFILL_LIVE_US : BACKFILL_LINE_US;

	if (clock_monotonic_us() - w->told_us < every)
		return;
	if (!backfill_chunks(w, &chunks, &ignored)) {
		backfill_sum(&chunks, w->id, &sums);
		backfill_tell(w, &sums);
	}
	w->told_us = clock_monotonic_us();
	chunk_list_release(&chunks);
}

/* Such a file has one writer at a time. */
static size_t backfill_workers(const struct arguments *args,
			       const struct pipeline_settings *p)
{
	const char *engine = p->destination->url.engine;
	int64_t n = arguments_number(args, "workers");

	if (n < 2 || !engine_has(engine, ENGINE_ONE_WRITER))
		return n ? (size_t)n : 1;
	log_info("%s is a file that one process writes at a time: one worker",
		 p->destination->url.shown);
	return 1;
}

static int backfill_work(const struct arguments *args, const struct settings *s,
			 const struct pipeline_settings *p,
			 struct backfill_watch *watch, struct error *err)
{
	const struct crew_terms terms = { .n = backfill_workers(args, p),
					  .tick = backfill_tick,
					  .ctx = watch };
	int rc;

	progress_begin(arguments_has(args, "quiet"));
	rc = crew_run(s, p, &terms, err);
	progress_end();
	return rc;
}

static enum error_code backfill_code(const char *name)
{
	for (int code = ERROR_CONFIG; code <= ERROR_UNKNOWN; code++)
		if (name &&
		    !strcmp(error_code_name((enum error_code)code), name))
			return (enum error_code)code;
	return ERROR_UNKNOWN;
}

/* The first chunk that was set aside gives the exit code. */
static int backfill_verdict(const struct chunk_list *chunks, const char *id,
			    struct error *err)
{
	const struct chunk *first = NULL;
	size_t all = 0, failed = 0;

	for (size_t i = 0; i < chunks->n; i++) {
		const struct chunk *c = &chunks->items[i];

		if (strcmp(c->backfill_id, id) != 0)
			continue;
		all++;
		if (strcmp(c->state, CHUNK_FAILED) != 0)
			continue;
		failed++;
		first = first ? first : c;
	}
	if (!first)
		return 0;
	return error_set(err, backfill_code(first->error_code),
			 "%zu of %zu chunks failed and were set aside; the "
			 "first is %s: %s. The same command tries them again",
			 failed, all, first->chunk_id, first->error_message);
}

static void backfill_keep(struct chunk_list *chunks, const char *id)
{
	size_t kept = 0;

	for (size_t i = 0; i < chunks->n; i++) {
		if (strcmp(chunks->items[i].backfill_id, id) != 0)
			chunk_release(&chunks->items[i]);
		else
			chunks->items[kept++] = chunks->items[i];
	}
	chunks->n = kept;
}

/* How it stands in the end, whatever `rc` says. */
static int backfill_report(const struct arguments *args,
			   struct backfill_watch *w, int rc, struct error *err)
{
	struct chunk_list chunks = { NULL, 0, 0 };
	struct error asked = ERROR_INIT;
	struct backfill_sums sums;

	if (backfill_chunks(w, &chunks, &asked)) {
		chunk_list_release(&chunks);
		if (!rc)
			*err = asked;
		return rc ? rc : -(int)asked.code;
	}
	backfill_keep(&chunks, w->id);
	backfill_sum(&chunks, w->id, &sums);
	if (arguments_has(args, "json"))
		backfill_print_json(&chunks);
	else
		backfill_say(w->pipeline, &sums, output_line);
	if (!rc)
		rc = backfill_verdict(&chunks, w->id, err);
	chunk_list_release(&chunks);
	return rc;
}

static int backfill_go(const struct arguments *args, const struct settings *s,
		       const struct pipeline_settings *p,
		       const struct backfill_window *window,
		       struct store *store, struct error *err)
{
	struct backfill_watch watch = { .s = s,
					.pipeline = p->name,
					.store = store };
	struct chunk_list chunks = { NULL, 0, 0 };
	struct backfill_sums sums;
	bool resumed = false;
	int rc = backfill_queue(p, window, arguments_has(args, "again"), store,
				&chunks, &resumed, err);

	if (!rc && !chunks.n)
		log_info("%s: there are no rows in this window", p->name);
	if (rc || !chunks.n) {
		if (!rc && arguments_has(args, "json"))
			backfill_print_json(&chunks);
		chunk_list_release(&chunks);
		return rc;
	}
	watch.id = chunks.items[0].backfill_id;
	backfill_sum(&chunks, NULL, &sums);
	if (resumed && sums.done == sums.n)
		log_info("%s: this window has been backfilled already: "
			 "%" PRId64 " chunks. To do it once more: --again",
			 p->name, sums.n);
	else if (resumed)
		log_info("%s: going on: %" PRId64 " of %" PRId64 " chunks are "
			 "done",
			 p->name, sums.done, sums.n);
	if (sums.done < sums.n && !arguments_has(args, "queue"))
		rc = backfill_work(args, s, p, &watch, err);
	rc = backfill_report(args, &watch, rc, err);
	store_close(watch.fresh);
	chunk_list_release(&chunks);
	return rc;
}

static int backfill_plan_only(const struct arguments *args,
			      const struct pipeline_settings *p,
			      const struct backfill_window *window,
			      struct error *err)
{
	struct chunk_list chunks = { NULL, 0, 0 };
	int rc = backfill_plan(p, window, &chunks, err);

	if (!rc && arguments_has(args, "json"))
		backfill_print_json(&chunks);
	else if (!rc)
		backfill_print(&chunks);
	chunk_list_release(&chunks);
	return rc;
}

static int backfill_give_up(const struct pipeline_settings *p,
			    struct store *store, struct error *err)
{
	int64_t left = 0;
	int rc = backfill_cancel(p, store, &left, err);

	if (!rc)
		output_line("%s: %" PRId64 " chunks that were not done are "
			    "forgotten",
			    p->name, left);
	return rc;
}

static int backfill_all(const struct arguments *args, const struct settings *s,
			const struct pipeline_settings *const *pipelines,
			size_t n, struct error *err)
{
	const struct backfill_window window = {
		.from = arguments_text(args, "from"),
		.to = arguments_text(args, "to"),
		.chunk_rows = arguments_number(args, "chunk-rows"),
	};
	struct store *store = NULL;
	int rc;

	if (args->operands.n > 1)
		return error_set(err, ERROR_CONFIG,
				 "backfill takes one pipeline; \"%s\" is one "
				 "too many",
				 args->operands.items[1]);
	if (n > 1)
		return settings_pipeline(s, args->operands.items[0], err)
			       ? 0
			       : -(int)err->code;
	rc = settings_fault(pipelines[0], err);
	if (rc)
		return rc;
	if (arguments_has(args, "plan"))
		return backfill_plan_only(args, pipelines[0], &window, err);
	rc = state_open(s, &store, err);
	if (!rc && arguments_has(args, "cancel"))
		rc = backfill_give_up(pipelines[0], store, err);
	else if (!rc)
		rc = backfill_go(args, s, pipelines[0], &window, store, err);
	store_close(store);
	return rc;
}

static int backfill_run(const struct arguments *args, struct error *err)
{
	return copied_use(args, backfill_all, err);
}

static const struct flag backfill_flags[] = {
	COPIED_INTO_FLAGS,
	{ "from", 0, FLAG_TEXT, "VALUE",
	  "a value of the mark column (xmin: the first key column), "
	  "inclusive" },
	{ "to", 0, FLAG_TEXT, "VALUE", "the same, exclusive" },
	{ "chunk-rows", 0, FLAG_COUNT, "N",
	  "rows of a chunk, about (default: 250000)" },
	{ "workers", 0, FLAG_COUNT, "N",
	  "work with so many at once (default: 1)" },
	{ "queue", 0, FLAG_SWITCH, NULL,
	  "only queue the chunks, for `tidemark worker`" },
	{ "again", 0, FLAG_SWITCH, NULL,
	  "from the beginning, even if this window has been backfilled" },
	{ "cancel", 0, FLAG_SWITCH, NULL,
	  "forget the chunks that are not done, whatever their window" },
	{ "plan", 0, FLAG_SWITCH, NULL, "print the chunks, do nothing" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_backfill = {
	.name = "backfill",
	.operands = "PIPELINE | SOURCE_URL DESTINATION_URL --table T",
	.min_operands = 1,
	.max_operands = 2,
	.summary = "read and load a window of the source once more, in chunks",
	.details =
		"Both ends of the window may be left out. It is cut into "
		"chunks where the rows\n"
		"lie. They are queued in the state store and worked on, and "
		"each is compared with\n"
		"the source once it is loaded. The pipeline's mark stays where "
		"it is, and `run`\n"
		"may go on beside: no older version of a row replaces a newer "
		"one. The same\n"
		"command once more goes on where it was. A chunk that fails is "
		"set aside, and its\n"
		"error gives the exit code. The others are done all the same.",
	.example = "tidemark backfill orders --from 2026-01-01 --to 2026-02-01",
	.flags = backfill_flags,
	.run = backfill_run,
};

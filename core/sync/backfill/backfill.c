#include "core/sync/backfill/backfill.h"
#include "core/store/chunks.h"
#include "core/sync/parts/range.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/engine.h"
#include "core/plugin/registry.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/keyless.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/range_value.h"
#include "core/sync/parts/stamp.h"
#include "core/sync/parts/tries.h"

struct planning {
	const struct pipeline_settings *p;
	struct connector *source;
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	char *column;
	char *from, *to; /* as the source compares them */
	int64_t rows; /* a chunk's */
	bool overtaken; /* another call has queued the same */
	char id[DIGEST_TEXT_SIZE], config[DIGEST_TEXT_SIZE];
	struct chunk_list *out;
};

void backfill_config(const struct pipeline_settings *p,
		     char out[DIGEST_TEXT_SIZE])
{
	ledger_run_id(p, "backfill", out);
}

static int planning_open(struct planning *b, struct error *err)
{
	const char *call = settings_call(b->p);
	int rc;

	if (b->p->mode == LOAD_REPLACE)
		return error_set(err, ERROR_CONFIG,
				 "pipeline %s is in mode replace: every run "
				 "loads all of it; tidemark run %s does",
				 b->p->name, call);
	if (b->p->mode == LOAD_UPDATE)
		return error_set(err, ERROR_CONFIG,
				 "pipeline %s is in mode update, which is a "
				 "backfill by itself: tidemark watermark reset "
				 "%s, and tidemark run %s reads all of it",
				 b->p->name, call, call);
	settings_source_spec(b->p, &b->spec);
	rc = registry_open_connector(b->p->source, &b->source, err);
	if (!rc)
		rc = range_describe(b->source, b->p, &b->spec, &b->mark,
				    &b->column, &b->schema, err);
	if (!rc)
		rc = keyless_refuse_again(b->p, &b->schema, err);
	return rc ? rc
		  : range_settle(b->source, &b->spec, &b->mark, &b->schema,
				 err);
}

static int planning_read(struct planning *b, enum range_kind kind,
			 const char *flag, const char *text, char **out,
			 struct error *err)
{
	long at = schema_find_source(&b->schema, b->mark.column);
	int rc = range_value_read(kind, b->mark.column, flag, text, out, err);

	if (rc || kind != RANGE_TIME || at < 0)
		return rc;
	return range_value_time(
		b->schema.columns[at].type.kind,
		engine_has(b->p->source->url.engine, ENGINE_SHORT_YEARS),
		b->mark.column, flag, out, err);
}

static int planning_window(struct planning *b,
			   const struct backfill_window *window,
			   struct error *err)
{
	enum range_kind kind = range_value_kind(&b->mark, &b->schema);
	struct strbuf sb = STRBUF_INIT;
	int rc = planning_read(b, kind, "--from", window->from, &b->from, err);

	if (!rc)
		rc = planning_read(b, kind, "--to", window->to, &b->to, err);
	if (!rc && b->from && b->to &&
	    range_value_compare(kind, b->from, b->to) > 0)
		rc = error_set(err, ERROR_CONFIG,
			       "--from %s is after --to %s: the window is from "
			       "the first, which belongs to it, to the second, "
			       "which does not",
			       window->from, window->to);
	strbuf_addf(&sb, "%s\x1f%s\x1f%s\x1f%s", b->p->name, b->config,
		    b->from ? b->from : "\x1e", b->to ? b->to : "\x1e");
	digest_hash_text(sb.data, sb.len, b->id);
	b->id[12] = '\0';
	strbuf_release(&sb);
	return rc;
}

static void planning_add(struct planning *b, const struct range *range,
			 int64_t rows)
{
	struct chunk_list *list = b->out;
	struct chunk *c;

	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	c = &list->items[list->n++];
	memset(c, 0, sizeof(*c));
	c->number = (int64_t)list->n;
	c->chunk_id = xstrfmt("%s/%s/%" PRId64, b->p->name, b->id, c->number);
	c->backfill_id = xstrdup(b->id);
	c->pipeline = xstrdup(b->p->name);
	c->config = xstrdup(b->config);
	c->column = xstrdup(b->mark.column);
	c->window_from = xstrdup(b->from);
	c->window_to = xstrdup(b->to);
	c->range_from = xstrdup(range->from);
	c->range_to = xstrdup(range->to);
	c->nulls = range->nulls;
	c->rows = rows;
	c->state = xstrdup(CHUNK_QUEUED);
	c->holder = xstrdup("");
	c->queued_at = clock_now_us();
}

/* The source itself may be the first to see what a value is worth. */
static int planning_explain(const struct planning *b, int rc, struct error *err)
{
	if (rc != -ERROR_DATA || !(b->from || b->to))
		return rc;
	err->code = ERROR_CONFIG;
	error_prefix(err, "--from or --to is not a value of column %s",
		     b->mark.column);
	return -ERROR_CONFIG;
}

static int planning_cut(struct planning *b, struct error *err)
{
	struct range range = { b->from, b->to, false };
	char *begin = NULL;
	bool more = true;
	int rc = 0;

	while (!rc && more) {
		struct range_cut cut = { NULL, 0 };
		struct range part = range;

		rc = b->source->ops->cut(b->source, &b->spec, &b->mark, &range,
					 b->rows, &cut, err);
		if (cut.end)
			part.to = cut.end;
		if (!rc && cut.rows)
			planning_add(b, &part, cut.rows);
		more = !rc && cut.end;
		free(begin);
		range.from = begin = cut.end;
	}
	free(begin);
	return planning_explain(b, rc, err);
}

/* Rows without a mark belong to no window but that of all rows. */
static int planning_nulls(struct planning *b, struct error *err)
{
	const struct range range = { NULL, NULL, true };
	struct range_cut cut = { NULL, 0 };
	int rc;

	if (b->mark.any_type || b->p->nulls == NULLS_SKIP || b->from || b->to)
		return 0;
	rc = b->source->ops->cut(b->source, &b->spec, &b->mark, &range, b->rows,
				 &cut, err);
	if (rc || !cut.rows)
		return rc;
	if (b->p->nulls == NULLS_ERROR)
		return error_set(err, ERROR_DATA,
				 "%" PRId64 " rows of %s have no %s: fill it, "
				 "or set watermark.nulls to include or skip",
				 cut.rows, b->spec.table, b->mark.column);
	planning_add(b, &range, cut.rows);
	return 0;
}

static int64_t planning_rows(const struct pipeline_settings *p)
{
	const struct destination_ops *ops = NULL;
	struct error ignored = ERROR_INIT;
	int rc = registry_destination(p->destination->url.engine, &ops,
				      &ignored);
	size_t piece = rc ? 0 : ops->batch_rows;

	if (!piece || piece > BACKFILL_CHUNK_ROWS)
		return BACKFILL_CHUNK_ROWS;
	return BACKFILL_CHUNK_ROWS - BACKFILL_CHUNK_ROWS % (int64_t)piece;
}

static void planning_init(struct planning *b, const struct pipeline_settings *p,
			  const struct backfill_window *window,
			  struct chunk_list *out)
{
	memset(b, 0, sizeof(*b));
	memset(out, 0, sizeof(*out));
	b->p = p;
	b->rows = window->chunk_rows ? window->chunk_rows : planning_rows(p);
	b->out = out;
	schema_init(&b->schema);
	backfill_config(p, b->config);
}

static void planning_release(struct planning *b)
{
	if (b->source)
		b->source->ops->close(b->source);
	schema_release(&b->schema);
	free(b->column);
	free(b->from);
	free(b->to);
}

static int planning_all(struct planning *b, struct error *err)
{
	int rc = planning_nulls(b, err);

	return rc ? rc : planning_cut(b, err);
}

int backfill_plan(const struct pipeline_settings *p,
		  const struct backfill_window *window, struct chunk_list *out,
		  struct error *err)
{
	struct planning b;
	int rc;

	planning_init(&b, p, window, out);
	rc = planning_open(&b, err);
	if (!rc)
		rc = planning_window(&b, window, err);
	if (!rc)
		rc = planning_all(&b, err);
	planning_release(&b);
	return rc;
}

/* Do the windows of two backfills have values in common? */
static bool planning_overlaps(const struct planning *b, const struct chunk *c)
{
	enum range_kind kind = range_value_kind(&b->mark, &b->schema);

	if (strcmp(c->column, b->mark.column) != 0)
		return true;
	if (b->to && c->window_from &&
	    range_value_compare(kind, c->window_from, b->to) >= 0)
		return kind == RANGE_OTHER;
	if (b->from && c->window_to &&
	    range_value_compare(kind, b->from, c->window_to) >= 0)
		return kind == RANGE_OTHER;
	return true;
}

static int planning_refuse_overlap(const struct planning *b,
				   const struct chunk_list *known,
				   struct error *err)
{
	for (size_t i = 0; i < known->n; i++) {
		const struct chunk *c = &known->items[i];

		if (!strcmp(c->backfill_id, b->id) ||
		    !strcmp(c->state, CHUNK_DONE) || !planning_overlaps(b, c))
			continue;
		return error_set(
			err, ERROR_CONFIG,
			"a backfill of %s from %s to %s%s is not over, and its "
			"window has rows in common with this one. Let it end, "
			"or give it up: tidemark backfill %s --cancel%s",
			b->p->name,
			c->window_from ? c->window_from : "the start",
			c->window_to ? c->window_to : "the end",
			strcmp(c->config, b->config) ? ", under another config,"
						     : "",
			b->p->call ? "URL URL" : b->p->name,
			b->p->call ? ", with the flags of this one" : "");
	}
	return 0;
}

/* The first run makes the target; until then there is nothing to load into. */
static int planning_check_target(struct planning *b, struct error *err)
{
	struct schema written;
	const struct target target = {
		.pipeline = b->p->name,
		.table = b->p->destination_table,
		.mode = b->p->mode,
		.schema = &written,
		.drift = b->p->drift,
	};
	struct destination *d = NULL;
	struct inspection look;
	int rc = registry_open_destination(b->p->destination, &d, err);

	if (rc)
		return rc;
	inspection_init(&look);
	rc = stamp_schema(b->p, &b->schema, &written, err);
	if (!rc)
		rc = d->ops->inspect(d, &target, &look, err);
	if (!rc)
		rc = problems_to_error(&look.problems, err);
	if (!rc && !look.table_exists)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s is not there yet: tidemark run %s "
			       "makes it, and loads all rows",
			       target.table, b->p->name);
	inspection_release(&look);
	d->ops->close(d);
	schema_release(&written);
	return rc;
}

/* Take up the chunks of an earlier call; a chunk that was set aside gets
 * another chance. */
static int planning_resume(struct planning *b, struct store *store,
			   struct chunk_list *known, struct error *err)
{
	bool held;
	int rc = 0;

	for (size_t i = 0; !rc && i < known->n; i++) {
		struct chunk *c = &known->items[i];

		if (strcmp(c->backfill_id, b->id) != 0)
			continue;
		if (!strcmp(c->state, CHUNK_FAILED)) {
			free(c->state);
			c->state = xstrdup(CHUNK_QUEUED);
			c->attempts = 0;
			rc = store_chunk_save(store, c, &held, err);
		}
		b->out->items = xgrow(b->out->items, &b->out->capacity,
				      b->out->n + 1, sizeof(*c));
		b->out->items[b->out->n++] = *c;
		memset(c, 0, sizeof(*c));
	}
	return rc;
}

/* Take up the chunks of the same window; or none, if it is to be done
 * `again`. */
static int planning_take_known(struct planning *b, struct store *store,
			       bool again, struct error *err)
{
	struct chunk_list known = { NULL, 0, 0 };
	int rc = store_chunks_list(store, b->p->name, &known, err);

	if (!rc)
		rc = planning_refuse_overlap(b, &known, err);
	if (!rc && again)
		rc = backfill_forget(b->p, store, &known, b->id, err);
	else if (!rc)
		rc = planning_resume(b, store, &known, err);
	chunk_list_release(&known);
	return rc;
}

/* Others may have queued theirs while this one was planned. */
static int planning_judge(void *ctx, const struct chunk_list *known, bool *add,
			  struct error *err)
{
	struct planning *b = ctx;

	for (size_t i = 0; i < known->n; i++)
		b->overtaken |= !strcmp(known->items[i].backfill_id, b->id);
	*add = !b->overtaken;
	return planning_refuse_overlap(b, known, err);
}

static int planning_queue(struct planning *b, struct store *store, bool again,
			  bool *resumed, struct error *err)
{
	const struct chunk_rule rule = { planning_judge, b };
	int rc = planning_take_known(b, store, again, err);

	*resumed = b->out->n > 0;
	if (rc || *resumed)
		return rc;
	rc = planning_check_target(b, err);
	if (!rc)
		rc = planning_all(b, err);
	if (!rc)
		rc = store_chunks_add(store, b->out, &rule, err);
	if (rc || !b->overtaken)
		return rc;
	chunk_list_release(b->out);
	*resumed = true;
	return planning_take_known(b, store, false, err);
}

static int backfill_queue_once(const struct pipeline_settings *p,
			       const struct backfill_window *window, bool again,
			       struct store *store, struct chunk_list *out,
			       bool *resumed, struct error *err)
{
	struct planning b;
	int rc;

	*resumed = false;
	planning_init(&b, p, window, out);
	rc = planning_open(&b, err);
	if (!rc)
		rc = planning_window(&b, window, err);
	if (!rc)
		rc = planning_queue(&b, store, again, resumed, err);
	planning_release(&b);
	return rc;
}

int backfill_queue(const struct pipeline_settings *p,
		   const struct backfill_window *window, bool again,
		   struct store *store, struct chunk_list *out, bool *resumed,
		   struct error *err)
{
	struct tries tries = { .policy = &p->retry };
	int rc;

	memset(out, 0, sizeof(*out));
	do {
		error_clear(err);
		chunk_list_release(out);
		rc = backfill_queue_once(p, window, again, store, out, resumed,
					 err);
	} while (rc && tries_again(&tries, err));
	return rc;
}

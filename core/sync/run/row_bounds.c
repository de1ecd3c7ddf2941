#include "core/sync/run/row_bounds.h"

#include <inttypes.h>
#include <string.h>

#include "core/plugin/naming.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/range.h"
#include "core/sync/parts/reader.h"

/* A pass that only counts. */
struct counting {
	struct connector *source;
	struct source_spec spec;
	struct strlist columns;
	struct watermark_spec mark;
	struct schema schema;
	struct scan scan;
	struct reader reader;
};

void window_init(struct window *w, const struct pipeline_settings *p,
		 bool refresh, int64_t rows)
{
	w->p = p;
	w->refresh = refresh;
	w->rows = refresh ? 0 : rows;
}

static int window_refuse_few(const struct window *w, int64_t rows,
			     struct error *err)
{
	return error_set(
		err, ERROR_DATA,
		"gate: %s brings %" PRId64 " row%s%s, fewer than min_rows "
		"%" PRId64 ". %s; look at the source, or change gate.min_rows",
		w->refresh ? "the full copy" : "the run", rows,
		rows == 1 ? "" : "s", w->refresh ? "" : " past the mark",
		w->p->gate.min_rows,
		w->refresh ? "The table was left as it is"
			   : "The mark was left where it is");
}

static int window_refuse_many(const struct window *w, bool loaded,
			      struct error *err)
{
	const char *left = w->refresh ? "The table was left as it is"
			   : loaded   ? "The rows beyond were not loaded"
				      : "Nothing was loaded";

	return error_set(err, ERROR_DATA,
			 "gate: the run brings more rows than max_rows "
			 "%" PRId64 ". %s; look at what changed at the source, "
			 "or raise gate.max_rows",
			 w->p->gate.max_rows, left);
}

/* Rows to count before both bounds are decided. */
static int64_t window_enough(const struct window *w)
{
	const struct gate_settings *gate = &w->p->gate;

	if (gate->max_rows)
		return gate->max_rows - w->rows + 1;
	return gate->min_rows - w->rows;
}

/* Fewer columns are fewer bytes; an expression may need any of them. */
static void counting_columns(struct counting *c, const struct scan *scan)
{
	const struct schema *s = scan->schema;
	const char *mark;

	if (c->spec.n_expressions || !s->n_key)
		return;
	for (size_t i = 0; i < s->n_key; i++)
		strlist_add(&c->columns, column_source(&s->columns[s->key[i]]));
	mark = s->mark < 0 ? NULL : column_source(&s->columns[s->mark]);
	if (mark && !strlist_has(&c->columns, mark))
		strlist_add(&c->columns, mark);
	c->spec.columns = &c->columns;
}

static int counting_rows(struct counting *c, int64_t enough, int64_t *out,
			 void (*tick)(void *ctx), void *ctx, struct error *err)
{
	size_t max_rows = c->reader.bounds.max_rows;
	int rc = 0;

	*out = 0;
	while (!rc && *out < enough) {
		struct read_batch *rb =
			reader_take(&c->reader, tick, ctx, &rc, err);

		if (!rb || !rb->batch.n_rows)
			break;
		*out += (int64_t)rb->batch.n_rows;
		reader_give_back(&c->reader, max_rows);
	}
	return rc;
}

static int counting_run(struct counting *c, const struct window *w,
			const struct scan *scan,
			struct destination *destination, size_t batch_rows,
			struct error *err)
{
	const struct reader_bounds bounds = {
		.max_rows = batch_rows,
		.max_bytes = (size_t)w->p->batch_bytes / READER_SLOTS,
	};
	int rc = registry_open_connector(w->p->source, &c->source, err);

	settings_watermark_spec(w->p, &c->mark);
	if (!rc)
		rc = source_describe(c->source, &c->spec,
				     scan->mark ? &c->mark : NULL, &c->schema,
				     err);
	c->scan = *scan;
	c->scan.source = &c->spec;
	c->scan.schema = &c->schema;
	c->scan.mark = scan->mark ? &c->mark : NULL;
	/* A session of its own has to learn anew how the marks are written. */
	if (!rc && scan->mark)
		rc = range_settle(c->source, &c->spec, &c->mark, &c->schema,
				  err);
	if (!rc)
		rc = c->source->ops->scan(c->source, &c->scan, err);
	if (!rc)
		rc = reader_start(&c->reader, c->source, destination,
				  &c->schema, w->p->name, &bounds, err);
	return rc;
}

int window_count(struct window *w, const struct scan *scan,
		 struct destination *destination, size_t batch_rows,
		 void (*tick)(void *ctx), void *ctx, struct error *err)
{
	const struct gate_settings *gate = &w->p->gate;
	struct counting c = { .spec = *scan->source, .columns = STRLIST_INIT };
	int64_t rows = 0;
	int rc;

	if (window_enough(w) <= 0)
		return 0;
	schema_init(&c.schema);
	counting_columns(&c, scan);
	rc = counting_run(&c, w, scan, destination, batch_rows, err);
	if (!rc)
		rc = counting_rows(&c, window_enough(w), &rows, tick, ctx, err);
	reader_stop(&c.reader);
	if (c.source)
		c.source->ops->close(c.source);
	schema_release(&c.schema);
	strlist_release(&c.columns);
	if (!rc && gate->max_rows && w->rows + rows > gate->max_rows)
		return window_refuse_many(w, w->rows > 0, err);
	if (!rc && w->rows + rows < gate->min_rows)
		return window_refuse_few(w, w->rows + rows, err);
	return rc;
}

int window_check_next(struct window *w, size_t rows, struct error *err)
{
	int64_t most = w->p->gate.max_rows;

	if (most && w->rows + (int64_t)rows > most)
		return window_refuse_many(w, w->rows > 0, err);
	w->rows += (int64_t)rows;
	return 0;
}

int window_check_end(const struct window *w, struct error *err)
{
	if (!w->refresh || w->rows >= w->p->gate.min_rows)
		return 0;
	return window_refuse_few(w, w->rows, err);
}

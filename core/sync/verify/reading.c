#include "core/sync/verify/reading.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/plugin/naming.h"
#include "core/sync/parts/reader.h"

/* Both sides have READER_SLOTS of these at once. */
#define VERIFY_ROWS  10000
#define VERIFY_BYTES (4 << 20)

/* A row that is marked is not there any more. */
static bool verify_is_marked(const struct verify_look *look,
			     const struct batch *b, size_t row)
{
	const struct vector *v;

	if (look->mark < 0)
		return false;
	v = &b->vectors[look->mark];
	if (vector_is_null(v, row))
		return false;
	for (size_t i = 0; i < v->width; i++)
		if (v->data[row * v->width + i])
			return true;
	return !v->width;
}

/* The hashes of all go before the rows, so that what `soon` fetches is there
 * by then. */
static void verify_look_rows(struct verify_look *look, const struct batch *b,
			     const size_t *rows, size_t n)
{
	struct compare_hash keys[DIGEST_ROWS], all[DIGEST_ROWS];

	compare_rows(look->compare, look->which, b, rows, n, &look->slots, keys,
		     all);
	for (size_t i = 0; look->soon && i < n; i++)
		look->soon(look->ctx, look->which, &keys[i]);
	for (size_t i = 0; i < n; i++)
		look->row(look->ctx, look->which, b, rows[i], &keys[i],
			  &all[i]);
}

static int verify_look_batch(void *ctx, const struct batch *b,
			     struct error *err)
{
	struct verify_look *look = ctx;
	size_t rows[DIGEST_ROWS];

	(void)err;
	for (size_t row = 0; row < b->n_rows;) {
		size_t n = 0;

		for (; n < DIGEST_ROWS && row < b->n_rows; row++)
			if (!verify_is_marked(look, b, row))
				rows[n++] = row;
		verify_look_rows(look, b, rows, n);
	}
	return 0;
}

struct verify_reading {
	struct reader reader;
	struct verify_look look;
	struct verify_side *side;
	struct scan scan; /* verify_reading_start()'s */
	uint64_t rows;
	bool open;
};

static int verify_begin(struct verify_reading *r, struct verify_side *s,
			const struct scan *scan, const struct verify_look *look,
			struct error *err)
{
	const struct reader_bounds bounds = {
		.max_rows = VERIFY_ROWS,
		.max_bytes = VERIFY_BYTES,
		.look = verify_look_batch,
		.look_ctx = &r->look,
		.pace = s->pace,
	};
	int rc = s->connector->ops->scan(s->connector, scan, err);

	r->look = *look;
	r->side = s;
	r->look.which = s->which;
	r->look.mark =
		verify_side_soft_delete(s)
			? schema_find_folded(scan->schema, s->p->soft_delete)
			: -1;
	digest_rows_init(&r->look.slots);
	if (!rc)
		rc = reader_start(&r->reader, s->connector, NULL, scan->schema,
				  s->p->name, &bounds, err);
	r->open = !rc;
	return rc;
}

/* The rows have been looked at by the time that a batch is here. */
int verify_reading_step(struct verify_reading *r, struct error *err)
{
	struct read_batch *rb;
	int rc = 0;

	if (!r->open)
		return 0;
	rb = reader_take(&r->reader, verify_progress_tick, r->side->progress,
			 &rc, err);
	r->open = rb && rb->batch.n_rows;
	if (!r->open)
		return rc;
	r->rows += rb->batch.n_rows;
	verify_progress_add(r->side->progress, r->side->which,
			    rb->batch.n_rows);
	reader_give_back(&r->reader, VERIFY_ROWS);
	return 0;
}

static int verify_drain(struct verify_reading *readings, size_t n,
			struct error *err)
{
	bool open = true;
	int rc = 0;

	while (open && !rc) {
		open = false;
		for (size_t i = 0; i < n && !rc; i++) {
			rc = verify_reading_step(&readings[i], err);
			open |= readings[i].open;
		}
	}
	return rc;
}

static void verify_end(struct verify_reading *r)
{
	reader_stop(&r->reader);
	digest_rows_release(&r->look.slots);
}

static void verify_scan_of(const struct verify_side *s, bool keys,
			   struct scan *out)
{
	out->source = keys ? &s->keys_spec : &s->spec;
	out->schema = keys ? &s->keys_schema : &s->schema;
	if (!s->since.from)
		return;
	out->mark = &s->since_mark;
	out->from = &s->since_from;
	out->range = &s->since;
	out->unordered = true;
}

int verify_read_both(struct verify_side *sides, bool keys,
		     const struct verify_look *look, struct error *err)
{
	struct verify_reading readings[COMPARE_SIDES] = { 0 };
	struct scan scans[COMPARE_SIDES] = { 0 };
	int rc = 0;

	for (size_t i = 0; i < COMPARE_SIDES; i++)
		digest_rows_init(&readings[i].look.slots);
	for (size_t i = 0; !rc && i < COMPARE_SIDES; i++) {
		verify_scan_of(&sides[i], keys, &scans[i]);
		rc = verify_begin(&readings[i], &sides[i], &scans[i], look,
				  err);
	}
	if (!rc)
		rc = verify_drain(readings, COMPARE_SIDES, err);
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		verify_end(&readings[i]);
	return rc;
}

int verify_reading_start(struct verify_reading **out, struct verify_side *s,
			 const struct verify_look *look, struct error *err)
{
	struct verify_reading *r = xcalloc(1, sizeof(*r));
	int rc;

	verify_scan_of(s, false, &r->scan);
	rc = verify_begin(r, s, &r->scan, look, err);
	*out = r;
	return rc;
}

bool verify_reading_is_open(const struct verify_reading *r)
{
	return r->open;
}

uint64_t verify_reading_rows(const struct verify_reading *r)
{
	return r->rows;
}

void verify_reading_end(struct verify_reading *r)
{
	if (!r)
		return;
	verify_end(r);
	free(r);
}

static int verify_read_one(struct verify_side *s, const struct scan *scan,
			   const struct verify_look *look, struct error *err)
{
	struct verify_reading reading = { .open = false };
	int rc = verify_begin(&reading, s, scan, look, err);

	if (!rc)
		rc = verify_drain(&reading, 1, err);
	verify_end(&reading);
	return rc;
}

int verify_read_whole(struct verify_side *s, const struct verify_look *look,
		      struct error *err)
{
	struct scan scan = { .source = NULL };

	verify_scan_of(s, false, &scan);
	return verify_read_one(s, &scan, look, err);
}

int verify_read_keys(struct verify_side *s, const struct strlist *keys,
		     const struct verify_look *look, struct error *err)
{
	const struct scan scan = { .source = &s->spec,
				   .schema = &s->schema,
				   .keys = keys };

	return verify_read_one(s, &scan, look, err);
}

static int verify_check_identity(struct verify_side *s,
				 const struct watermark *from,
				 struct error *err)
{
	json_t *identity = NULL;
	int rc;

	if (!from->identity)
		return 0;
	rc = s->connector->ops->identity(s->connector, &s->spec, &identity,
					 err);
	if (!rc)
		rc = watermark_check_identity(from, identity,
					      settings_run(s->p),
					      settings_call(s->p), err);
	json_decref(identity);
	return rc;
}

int verify_read_past(struct verify_side *s, const struct watermark *from,
		     const struct verify_look *look, struct error *err)
{
	const struct connector_ops *ops = s->connector->ops;
	struct watermark_spec mark;
	struct settled settled;
	struct schema schema;
	struct scan scan = { .source = &s->spec,
			     .schema = &schema,
			     .mark = &mark,
			     .from = from,
			     .settled = &settled };
	int rc;

	settings_watermark_spec(s->p, &mark);
	/* Rows that a look back would bring again have been delivered. */
	mark.lag_us = mark.lag_count = 0;
	mark.tail = TAIL_DELIVER;
	mark.nulls = NULLS_INCLUDE;
	settled_init(&settled);
	schema_init(&schema);
	rc = source_describe(s->connector, &s->spec, &mark, &schema, err);
	if (!rc)
		rc = verify_check_identity(s, from, err);
	if (!rc)
		rc = ops->settle(s->connector, &s->spec, &schema, &mark, from,
				 &settled, err);
	if (!rc)
		rc = verify_read_one(s, &scan, look, err);
	if (settled.hidden) {
		free(s->hidden);
		s->hidden = xstrdup(settled.hidden);
	}
	schema_release(&schema);
	settled_release(&settled);
	return rc;
}

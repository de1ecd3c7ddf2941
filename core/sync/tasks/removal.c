#include "core/sync/tasks/removal.h"

#include "core/base/stop.h"
#include "core/data/value.h"
#include "core/sync/parts/others.h"
#include "core/sync/run/run.h"
#include "core/sync/verify/suspects.h"
#include "core/sync/verify/work.h"

/* Keys of one look-up, and of one transaction. */
#define REMOVAL_KEYS 5000

struct removal {
	struct run *r;
	const struct verify_work *work;
	struct verify_side source;
	struct suspects keys; /* the present piece's */
	struct batch batch;
};

/* Find the keys of the piece that the source has now. */
static int removal_ask(struct removal *m, size_t first, size_t end,
		       struct error *err)
{
	const struct verify_work *w = m->work;
	const struct verify_look look = verify_counting(&w->compare, &m->keys);
	size_t n_key = w->compare.n_key;
	struct strlist texts = STRLIST_INIT;
	int rc;

	for (size_t i = first; i < end; i++) {
		suspects_get(&m->keys, &w->hashes[i]);
		for (size_t k = 0; k < n_key; k++)
			strlist_add(&texts, w->extra.items[i * n_key + k]);
	}
	rc = verify_read_keys(&m->source, &texts, &look, err);
	strlist_release(&texts);
	return rc;
}

static int removal_refuse(const struct removal *m, size_t column,
			  const char *text, struct error *err)
{
	const struct column *c = &m->r->schema.columns[column];

	return error_set(err, ERROR_DATA,
			 "an extra row of %s has %.200s in key column \"%s\", "
			 "which no %s of the source can be: delete it by hand",
			 m->r->p->destination_table, text, c->name,
			 c->type.native ? c->type.native
					: type_kind_name(c->type.kind));
}

static int removal_add(struct removal *m, size_t key, struct error *err)
{
	const struct schema *s = &m->r->schema;
	struct batch *b = &m->batch;

	batch_reserve_row(b);
	for (size_t i = 0; i < s->n_key; i++) {
		const char *text = m->work->extra.items[key * s->n_key + i];

		if (!value_set(&b->vectors[s->key[i]], b->n_rows, text)) {
			batch_row_undo(b);
			return removal_refuse(m, s->key[i], text, err);
		}
	}
	batch_row_done(b);
	return 0;
}

static int removal_piece(struct removal *m, size_t first, size_t end,
			 struct error *err)
{
	int rc;

	suspects_init(&m->keys, 0);
	batch_reset(&m->batch);
	rc = removal_ask(m, first, end, err);
	for (size_t i = first; !rc && i < end; i++) {
		const struct suspect *x =
			suspects_find(&m->keys, &m->work->hashes[i]);

		if (!x->rows[COMPARE_SOURCE].rows)
			rc = removal_add(m, i, err);
	}
	suspects_release(&m->keys);
	if (!rc && m->batch.n_rows)
		rc = run_remove(m->r, &m->batch, err);
	return rc;
}

static int removal_pieces(struct removal *m, struct error *err)
{
	size_t n = m->work->n_extra;
	int rc = 0;

	for (size_t at = 0; !rc && at < n; at += REMOVAL_KEYS) {
		if (stop_requested())
			return error_set(err, ERROR_STOPPED,
					 "stopped by a signal");
		run_tick(m->r);
		rc = removal_piece(
			m, at, n - at > REMOVAL_KEYS ? at + REMOVAL_KEYS : n,
			err);
	}
	return rc;
}

int removal_run(struct run *r, const struct verify_work *work,
		struct error *err)
{
	struct removal m = { .r = r, .work = work };
	int rc;

	if (!m.work->n_extra)
		return 0;
	/* Under the lease: one may have come since it was looked at first. */
	rc = others_check(r->destination, r->p, &r->target,
			  "nothing is deleted", err);
	if (rc)
		return rc;
	schema_init(&m.source.schema);
	schema_init(&m.source.keys_schema);
	batch_init(&m.batch, &r->schema);
	rc = verify_side_open_source(&m.source, r->p, err);
	if (!rc)
		rc = removal_pieces(&m, err);
	verify_side_close(&m.source);
	batch_release(&m.batch);
	return rc;
}

#include "core/sync/verify/clear.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plugin/naming.h"
#include "core/sync/parts/range.h"

/* Rows between the keys that belong to none of ours, for each of ours: with
 * more of them a look-up costs less. */
#define CLEAR_STRANGERS	     3
#define CLEAR_STRANGERS_FREE 10000

struct clearing {
	struct pass *pass;
	struct driver *driver;
	uint64_t seen; /* rows of the destination */
};

static bool clear_is_integer(enum type_kind kind)
{
	return kind == TYPE_INT16 || kind == TYPE_INT32 || kind == TYPE_INT64 ||
	       kind == TYPE_UINT64;
}

static int64_t clear_value(enum type_kind kind, const struct vector *v,
			   size_t row)
{
	int16_t small;

	if (kind == TYPE_INT16) {
		memcpy(&small, v->data + row * v->width, sizeof(small));
		return small;
	}
	return kind == TYPE_INT32 ? vector_i32(v, row) : vector_i64(v, row);
}

static bool clear_is_less(enum type_kind kind, int64_t a, int64_t b)
{
	return kind == TYPE_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static void clear_bound(struct pass_known *k, enum type_kind kind, int64_t x)
{
	if (!k->any || clear_is_less(kind, x, k->low))
		k->low = x;
	if (!k->any || clear_is_less(kind, k->high, x))
		k->high = x;
	k->any = true;
}

static void clear_take_rows(struct roster *to, struct pass_known *k,
			    const struct compare *compare,
			    const struct batch *b, const size_t *rows, size_t n,
			    struct digest_rows *slots)
{
	const struct compare_column *key = &compare->columns[0];
	const struct vector *v = &b->vectors[key->at[COMPARE_SOURCE]];
	enum type_kind kind = key->kind[COMPARE_SOURCE];
	struct compare_hash keys[DIGEST_ROWS], all[DIGEST_ROWS];

	compare_rows(compare, COMPARE_SOURCE, b, rows, n, slots, keys, all);
	for (size_t i = 0; i < n && !k->full; i++) {
		k->full = !roster_add(to, &keys[i], &all[i]);
		if (k->full)
			break;
		clear_bound(k, kind, clear_value(kind, v, rows[i]));
		k->rows++;
	}
}

void pass_know(struct roster *to, struct pass_known *k,
	       const struct compare *compare, const struct batch *b,
	       struct digest_rows *slots)
{
	size_t rows[DIGEST_ROWS];

	for (size_t row = 0; row < b->n_rows && !k->full;) {
		size_t n = 0;

		for (; n < DIGEST_ROWS && row < b->n_rows; row++)
			rows[n++] = row;
		clear_take_rows(to, k, compare, b, rows, n, slots);
	}
}

static void clear_take(struct clearing *c, const struct batch *b)
{
	struct pass *x = c->pass;
	size_t rows[DIGEST_ROWS];
	bool delivered;

	for (size_t row = 0; row < b->n_rows && !x->known.full;) {
		size_t n = 0;

		for (; n < DIGEST_ROWS && row < b->n_rows; row++)
			if (x->wants(x->ctx, b, row, &delivered))
				rows[n++] = row;
		clear_take_rows(&x->cleared, &x->known, &c->driver->compare, b,
				rows, n, &x->slots);
	}
}

static int clear_read_source(struct clearing *c, struct error *err)
{
	struct pass *x = c->pass;
	int rc = pass_start(x, c->driver, PASS_TALLY_ROWS, err);
	bool more = true;

	while (!rc && more && !x->known.full) {
		const struct batch *b = pass_next(x, c->driver, &rc, err);

		more = b != NULL;
		if (!b)
			break;
		clear_take(c, b);
		reader_give_back(&x->reader, PASS_TALLY_ROWS);
		verify_progress_tick(&c->driver->progress);
	}
	reader_stop(&x->reader);
	return rc;
}

static void clear_row(void *ctx, enum compare_side side, const struct batch *b,
		      size_t row, const struct compare_hash *key,
		      const struct compare_hash *all)
{
	struct clearing *c = ctx;

	(void)side;
	(void)b;
	(void)row;
	roster_meet(&c->pass->cleared, key, all);
}

/* The range goes up to a value that it does not have: beyond the highest of the
 * type there is none. */
static char *clear_end(enum type_kind kind, int64_t high, enum type_kind there)
{
	if (kind == TYPE_UINT64)
		return (uint64_t)high == UINT64_MAX ||
				       (there != TYPE_UINT64 &&
					(uint64_t)high >= INT64_MAX)
			       ? NULL
			       : xstrfmt("%" PRIu64, (uint64_t)high + 1);
	if (high == INT64_MAX || (there == TYPE_INT16 && high >= INT16_MAX) ||
	    (there == TYPE_INT32 && high >= INT32_MAX))
		return NULL;
	return xstrfmt("%" PRId64, high + 1);
}

static char *clear_begin(enum type_kind kind, int64_t low)
{
	return kind == TYPE_UINT64 ? xstrfmt("%" PRIu64, (uint64_t)low)
				   : xstrfmt("%" PRId64, low);
}

/* The key takes the place of the mark. Nothing is held back. */
static int clear_aim(struct clearing *c, char **end, struct error *err)
{
	struct verify_side *s = &c->driver->sides[COMPARE_DESTINATION];
	const struct compare_column *key = &c->driver->compare.columns[0];
	enum type_kind kind = key->kind[COMPARE_SOURCE];
	struct schema schema;
	int rc;

	s->since_mark = (struct watermark_spec){
		.strategy = STRATEGY_SEQUENCE,
		.column = s->schema.columns[key->at[COMPARE_DESTINATION]].name,
		.tail = TAIL_HOLD,
		.nulls = NULLS_INCLUDE,
		.time_zone = "UTC",
	};
	schema_init(&schema);
	rc = source_describe(s->connector, &s->spec, &s->since_mark, &schema,
			     err);
	schema_release(&schema);
	if (!rc)
		rc = range_settle(s->connector, &s->spec, &s->since_mark,
				  &s->schema, err);
	free(s->since_text);
	s->since_text = clear_begin(kind, c->pass->known.low);
	*end = clear_end(kind, c->pass->known.high,
			 key->kind[COMPARE_DESTINATION]);
	s->since = (struct range){ s->since_text, *end, false };
	s->since_from.strategy = STRATEGY_SEQUENCE;
	return rc;
}

/* `*whole`: it was read to its end. */
static int clear_read_destination(struct clearing *c, bool *whole,
				  struct error *err)
{
	struct verify_side *s = &c->driver->sides[COMPARE_DESTINATION];
	const struct verify_look look = { .compare = &c->driver->compare,
					  .row = clear_row,
					  .ctx = c };
	uint64_t most = c->pass->known.rows * (1 + CLEAR_STRANGERS) +
			CLEAR_STRANGERS_FREE;
	struct verify_reading *there = NULL;
	char *end = NULL;
	int rc = clear_aim(c, &end, err);

	if (!rc)
		rc = verify_reading_start(&there, s, &look, err);
	while (!rc && verify_reading_is_open(there) && c->seen <= most) {
		rc = verify_reading_step(there, err);
		c->seen = verify_reading_rows(there);
	}
	*whole = !rc && !verify_reading_is_open(there);
	verify_reading_end(there);
	s->since = (struct range){ NULL, NULL, false };
	free(end);
	return rc;
}

bool pass_clears(const struct pipeline_settings *p,
		 const struct compare *compare)
{
	const struct compare_column *key = &compare->columns[0];

	return p->mode != LOAD_APPEND && compare->n_key &&
	       key->form == COMPARE_SAME &&
	       clear_is_integer(key->kind[COMPARE_SOURCE]) &&
	       clear_is_integer(key->kind[COMPARE_DESTINATION]);
}

/* Has the range as many rows as are known? One may have come into it since they
 * were read, with a mark of before. Up to an exact settled point none does. */
static int clear_is_whole(struct pass *x, bool *whole, struct error *err)
{
	const struct range all = { NULL, NULL, false };
	const struct range *range = x->scan.range ? x->scan.range : &all;
	struct range_cut cut = { NULL, 0 };
	int rc =
		range_settle(x->connector, &x->spec, &x->mark, &x->schema, err);

	if (!rc)
		rc = x->connector->ops->cut(x->connector, &x->spec, &x->mark,
					    range, RANGE_ROWS_ALL, &cut, err);
	*whole = !rc && !cut.end && cut.rows == (int64_t)x->known.rows;
	free(cut.end);
	return rc;
}

void pass_forget(struct pass *x)
{
	roster_release(&x->cleared);
	memset(&x->known, 0, sizeof(x->known));
}

/* The rows of the source: those that are known, or else those of the range. */
static int clear_find_rows(struct clearing *c, struct error *err)
{
	struct pass *x = c->pass;
	bool whole = false;
	int rc = 0;

	if (x->known.any && !x->known.full)
		rc = clear_is_whole(x, &whole, err);
	if (rc || whole)
		return rc;
	pass_forget(x);
	return clear_read_source(c, err);
}

int pass_clear(struct pass *x, struct driver *d, bool *all, struct error *err)
{
	struct clearing c = { .pass = x, .driver = d };
	bool whole = true;
	size_t equal;
	int rc;

	*all = false;
	if (!pass_clears(d->p, &d->compare)) {
		pass_forget(x);
		return 0;
	}
	rc = clear_find_rows(&c, err);
	if (!rc && x->known.any)
		rc = clear_read_destination(&c, &whole, err);
	/* A row that was not reached has an entry that is not equal. But one of
	 * a key that the table repeats may be equal by its first row alone. */
	if (!whole)
		roster_release(&x->cleared);
	equal = roster_equal(&x->cleared, &x->there);
	*x->rows += (int64_t)equal;
	*all = !rc && whole && !x->known.full && equal == x->cleared.n;
	return rc;
}

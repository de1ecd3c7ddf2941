#include "core/sync/verify/clear.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/sync/parts/range.h"

/* Rows between the keys that belong to none of ours, for each of ours: with
 * more of them a look-up costs less. */
#define CLEAR_STRANGERS	     3
#define CLEAR_STRANGERS_FREE 10000

struct clearing {
	struct pass *pass;
	struct driver *driver;
	size_t column; /* the first of the key, in the source's batches */
	enum type_kind kind;
	bool full; /* the source has rows that were not taken */
	uint64_t n, seen; /* rows of the source, of the destination */
	bool any;
	/* The key's bounds; of an unsigned type, the bits of one. */
	int64_t low, high;
};

static bool clear_is_integer(enum type_kind kind)
{
	return kind == TYPE_INT16 || kind == TYPE_INT32 || kind == TYPE_INT64 ||
	       kind == TYPE_UINT64;
}

static int64_t clear_value(const struct clearing *c, const struct vector *v,
			   size_t row)
{
	int16_t small;

	if (c->kind == TYPE_INT16) {
		memcpy(&small, v->data + row * v->width, sizeof(small));
		return small;
	}
	return c->kind == TYPE_INT32 ? vector_i32(v, row) : vector_i64(v, row);
}

static bool clear_is_less(const struct clearing *c, int64_t a, int64_t b)
{
	return c->kind == TYPE_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static void clear_bound(struct clearing *c, const struct batch *b, size_t row)
{
	int64_t x = clear_value(c, &b->vectors[c->column], row);

	if (!c->any || clear_is_less(c, x, c->low))
		c->low = x;
	if (!c->any || clear_is_less(c, c->high, x))
		c->high = x;
	c->any = true;
}

static void clear_take_rows(struct clearing *c, const struct batch *b,
			    const size_t *rows, size_t n)
{
	struct compare_hash keys[DIGEST_ROWS], all[DIGEST_ROWS];
	struct pass *x = c->pass;

	compare_rows(&c->driver->compare, COMPARE_SOURCE, b, rows, n, &x->slots,
		     keys, all);
	for (size_t i = 0; i < n && !c->full; i++) {
		c->full = !roster_add(&x->cleared, &keys[i], &all[i]);
		if (c->full)
			break;
		clear_bound(c, b, rows[i]);
		c->n++;
	}
}

static void clear_take(struct clearing *c, const struct batch *b)
{
	size_t rows[DIGEST_ROWS];
	bool delivered;

	for (size_t row = 0; row < b->n_rows && !c->full;) {
		size_t n = 0;

		for (; n < DIGEST_ROWS && row < b->n_rows; row++)
			if (c->pass->wants(c->pass->ctx, b, row, &delivered))
				rows[n++] = row;
		clear_take_rows(c, b, rows, n);
	}
}

static int clear_read_source(struct clearing *c, struct error *err)
{
	struct pass *x = c->pass;
	int rc = pass_start(x, c->driver, PASS_TALLY_ROWS, err);
	bool more = true;

	while (!rc && more && !c->full) {
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
static char *clear_end(const struct clearing *c, enum type_kind there)
{
	if (c->kind == TYPE_UINT64)
		return (uint64_t)c->high == UINT64_MAX ||
				       (there != TYPE_UINT64 &&
					(uint64_t)c->high >= INT64_MAX)
			       ? NULL
			       : xstrfmt("%" PRIu64, (uint64_t)c->high + 1);
	if (c->high == INT64_MAX ||
	    (there == TYPE_INT16 && c->high >= INT16_MAX) ||
	    (there == TYPE_INT32 && c->high >= INT32_MAX))
		return NULL;
	return xstrfmt("%" PRId64, c->high + 1);
}

static char *clear_begin(const struct clearing *c)
{
	return c->kind == TYPE_UINT64 ? xstrfmt("%" PRIu64, (uint64_t)c->low)
				      : xstrfmt("%" PRId64, c->low);
}

/* The key takes the place of the mark. Nothing is held back. */
static int clear_aim(struct clearing *c, char **end, struct error *err)
{
	struct verify_side *s = &c->driver->sides[COMPARE_DESTINATION];
	const struct compare_column *key = &c->driver->compare.columns[0];
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
	rc = s->connector->ops->describe(s->connector, &s->spec, &s->since_mark,
					 &schema, err);
	schema_release(&schema);
	if (!rc)
		rc = range_settle(s->connector, &s->spec, &s->since_mark,
				  &s->schema, err);
	free(s->since_text);
	s->since_text = clear_begin(c);
	*end = clear_end(c, key->kind[COMPARE_DESTINATION]);
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
	uint64_t most = c->n * (1 + CLEAR_STRANGERS) + CLEAR_STRANGERS_FREE;
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

static bool clear_applies(const struct driver *d)
{
	const struct compare_column *key = &d->compare.columns[0];

	return d->p->mode != LOAD_APPEND && d->compare.n_key &&
	       key->form == COMPARE_SAME &&
	       clear_is_integer(key->kind[COMPARE_SOURCE]) &&
	       clear_is_integer(key->kind[COMPARE_DESTINATION]);
}

int pass_clear(struct pass *x, struct driver *d, bool *all, struct error *err)
{
	const struct compare_column *key = &d->compare.columns[0];
	struct clearing c = { .pass = x, .driver = d };
	bool whole = true;
	size_t equal;
	int rc;

	*all = false;
	if (!clear_applies(d))
		return 0;
	c.column = key->at[COMPARE_SOURCE];
	c.kind = key->kind[COMPARE_SOURCE];
	rc = clear_read_source(&c, err);
	if (!rc && c.any)
		rc = clear_read_destination(&c, &whole, err);
	/* A row that was not reached has an entry that is not equal. But one of
	 * a key that the table repeats may be equal by its first row alone. */
	if (!whole)
		roster_release(&x->cleared);
	equal = roster_equal(&x->cleared, &x->there);
	*x->rows += (int64_t)equal;
	*all = !rc && whole && !c.full && equal == x->cleared.n;
	return rc;
}

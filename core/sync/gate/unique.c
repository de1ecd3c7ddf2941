#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/retry.h"
#include "core/data/digest_rows.h"
#include "core/sync/gate/rule.h"

#define VALUES_FIRST 1024 /* a power of two */
/* Rows hashed ahead of looking them up: their slots come from memory meanwhile.
 */
#define VALUES_AHEAD 32

/* Both hashed with a seed of the run: a chance equality, one in 2^64, is gone
 * the next time. */
struct values_slot {
	uint64_t value; /* 0: free */
	uint64_t key; /* the row's that had it first */
};

struct values_table {
	struct values_slot *slots;
	size_t capacity, n; /* open addressing, at most half full */
};

/* Two generations: when the younger is full, the older is forgotten. Each
 * takes 4 MiB at most. */
struct gate_values {
	struct values_table young, old;
	uint64_t seed;
	uint64_t rows; /* stands for the key where there is none */
	struct digest_rows scratch;
};

struct gate_values *gate_values_new(void)
{
	struct gate_values *v = xcalloc(1, sizeof(*v));

	v->seed = retry_random();
	digest_rows_init(&v->scratch);
	return v;
}

void gate_values_free(struct gate_values *v)
{
	if (!v)
		return;
	free(v->young.slots);
	free(v->old.slots);
	digest_rows_release(&v->scratch);
	free(v);
}

/* The slot that has this value, or the free one where it belongs. */
static struct values_slot *values_find(const struct values_table *t,
				       uint64_t value)
{
	size_t at = value & (t->capacity - 1);

	while (t->slots[at].value && t->slots[at].value != value)
		at = (at + 1) & (t->capacity - 1);
	return &t->slots[at];
}

static void values_grow(struct values_table *t)
{
	struct values_table larger = {
		.capacity = t->capacity ? t->capacity * 2 : VALUES_FIRST,
		.n = t->n,
	};

	larger.slots = xcalloc(larger.capacity, sizeof(*larger.slots));
	for (size_t i = 0; i < t->capacity; i++)
		if (t->slots[i].value)
			*values_find(&larger, t->slots[i].value) = t->slots[i];
	free(t->slots);
	*t = larger;
}

static void values_age(struct gate_values *v)
{
	struct values_table forgotten = v->old;

	if (forgotten.slots)
		memset(forgotten.slots, 0,
		       forgotten.capacity * sizeof(*forgotten.slots));
	forgotten.n = 0;
	v->old = v->young;
	v->young = forgotten;
}

/* Kinds in which equal values may be written in more than one way. */
static bool values_has_spellings(enum type_kind kind)
{
	return kind == TYPE_DECIMAL || kind == TYPE_JSON ||
	       kind == TYPE_FLOAT32 || kind == TYPE_FLOAT64;
}

static uint64_t values_hash(struct gate_values *v, const struct vector *column,
			    size_t row, uint64_t seed)
{
	size_t n = column->width;
	const void *bytes;

	if (values_has_spellings(column->kind)) {
		digest_rows_begin(&v->scratch, 1, &row, 1);
		digest_rows_put(&v->scratch, 0, column);
		bytes = v->scratch.slots;
		n = DIGEST_SLOT;
	} else if (n) {
		bytes = column->data + row * n;
	} else {
		bytes = vector_bytes(column, row, &n);
	}
	return XXH3_64bits_withSeed(bytes, n, seed);
}

static uint64_t values_hash_key(struct gate_values *v, const struct batch *b,
				size_t row)
{
	const struct schema *schema = b->schema;
	uint64_t hash = v->seed;

	if (!schema->n_key)
		return v->rows;
	for (size_t i = 0; i < schema->n_key; i++)
		hash = values_hash(v, &b->vectors[schema->key[i]], row, hash);
	return hash;
}

/* Has another row of the run had this value? */
static bool values_repeat(struct gate_values *v, uint64_t value, uint64_t key)
{
	struct values_slot *slot;

	if (v->old.n) {
		slot = values_find(&v->old, value);
		if (slot->value && slot->key != key)
			return true;
	}
	if (v->young.n == GATE_UNIQUE_ROWS)
		values_age(v);
	if (v->young.n * 2 >= v->young.capacity)
		values_grow(&v->young);
	slot = values_find(&v->young, value);
	if (slot->value)
		return slot->key != key;
	slot->value = value;
	slot->key = key;
	v->young.n++;
	return false;
}

static void values_fetch(const struct values_table *t, uint64_t value)
{
	if (t->capacity)
		__builtin_prefetch(&t->slots[value & (t->capacity - 1)]);
}

/* Hash rows from `row` on; 0: NULL, which repeats nothing. */
static void values_hash_ahead(struct gate_values *v,
			      const struct vector *column, size_t row, size_t n,
			      uint64_t *values)
{
	for (size_t i = 0; i < n; i++) {
		values[i] = 0;
		if (vector_is_null(column, row + i))
			continue;
		values[i] = values_hash(v, column, row + i, v->seed);
		values[i] = values[i] ? values[i] : 1;
		values_fetch(&v->old, values[i]);
		values_fetch(&v->young, values[i]);
	}
}

int gate_unique_scan(struct gate_rule *rule, const struct batch *b,
		     struct gate_found *found, struct error *err)
{
	const struct vector *column = &b->vectors[rule->column];
	struct gate_values *v = rule->values;
	uint64_t values[VALUES_AHEAD];

	(void)err;
	for (size_t row = 0; row < b->n_rows; row++) {
		size_t ahead = row % VALUES_AHEAD, left = b->n_rows - row;

		if (!ahead)
			values_hash_ahead(v, column, row,
					  left < VALUES_AHEAD ? left
							      : VALUES_AHEAD,
					  values);
		v->rows++;
		if (values[ahead] &&
		    values_repeat(v, values[ahead], values_hash_key(v, b, row)))
			gate_note(found, row);
	}
	return 0;
}

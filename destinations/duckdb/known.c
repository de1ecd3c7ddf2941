#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "destinations/duckdb/internal.h"

/* Split block Bloom filters, as Parquet's specification has them: a block of
 * eight 32-bit words, one bit of each word a key. Each filter is four times as
 * large as the one before; all of them take 21 MiB, which is room for 5.5
 * million keys. */
#define KNOWN_FIRST_BYTES ((size_t)1 << 20)
/* In a full batch, less than one key is then found that is not there. */
#define KNOWN_BITS_A_KEY  32
#define KNOWN_BLOCK_BYTES 32

static const uint32_t known_salts[8] = {
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
	0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
};

/* Equal in DuckDB means equal bytes in the batch. */
static bool known_kind(enum type_kind kind)
{
	switch (kind) {
	case TYPE_BOOL:
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
	case TYPE_TEXT:
	case TYPE_BYTES:
	case TYPE_UUID:
	case TYPE_TIME:
		return true;
	default:
		return false;
	}
}

static void known_grow(struct duckdb_target_known *k)
{
	struct duckdb_target_filter *f = &k->filters[k->n_filters];

	f->bytes = KNOWN_FIRST_BYTES << 2 * k->n_filters;
	f->words = xcalloc(f->bytes, 1);
	f->room = f->bytes * 8 / KNOWN_BITS_A_KEY;
	k->n_filters++;
}

void duckdb_target_known_begin(struct duckdb_target_known *k,
			       const struct schema *s, bool empty)
{
	duckdb_target_known_release(k);
	k->all = empty && s->n_key;
	for (size_t i = 0; i < s->n_key; i++)
		k->all = k->all && known_kind(s->columns[s->key[i]].type.kind);
	if (k->all)
		known_grow(k);
}

void duckdb_target_known_release(struct duckdb_target_known *k)
{
	for (size_t i = 0; i < k->n_filters; i++)
		free(k->filters[i].words);
	free(k->hashes);
	free(k->table);
	memset(k, 0, sizeof(*k));
}

static uint64_t known_hash(const struct batch *b, size_t row)
{
	const struct schema *s = b->schema;
	uint64_t h = 0;

	for (size_t i = 0; i < s->n_key; i++) {
		const struct vector *v = &b->vectors[s->key[i]];
		const uint8_t *at = v->data + row * v->width;
		size_t n = v->width;

		if (!n)
			at = vector_bytes(v, row, &n);
		h = XXH3_64bits_withSeed(at, n, h);
	}
	return h | 1; /* 0 is no hash */
}

static uint32_t *known_block(const struct duckdb_target_filter *f,
			     uint64_t hash)
{
	uint64_t blocks = f->bytes / KNOWN_BLOCK_BYTES;

	return f->words + ((hash >> 32) * blocks >> 32) * 8;
}

static bool known_has(const struct duckdb_target_known *k, uint64_t hash)
{
	for (size_t i = 0; i < k->n_filters; i++) {
		const uint32_t *block = known_block(&k->filters[i], hash);
		bool all = true;

		for (size_t w = 0; w < 8; w++) {
			uint32_t bit = (uint32_t)hash * known_salts[w] >> 27;

			all = all && block[w] >> bit & 1;
		}
		if (all)
			return true;
	}
	return false;
}

/* The last filter takes all that come: it then finds more keys that are not
 * there, and those are looked up. */
static void known_add(struct duckdb_target_known *k, uint64_t hash)
{
	struct duckdb_target_filter *f = &k->filters[k->n_filters - 1];
	uint32_t *block;

	if (!f->room && k->n_filters < DUCKDB_FILTERS) {
		known_grow(k);
		f++;
	}
	f->room -= f->room > 0;
	block = known_block(f, hash);
	for (size_t w = 0; w < 8; w++)
		block[w] |= UINT32_C(1)
			    << ((uint32_t)hash * known_salts[w] >> 27);
}

/* A probe waits for memory: so many ahead are asked for. */
#define KNOWN_AHEAD 16

static void known_prefetch(const struct duckdb_target_known *k, size_t row,
			   size_t n)
{
	if (row + KNOWN_AHEAD >= n)
		return;
	for (size_t i = 0; i < k->n_filters; i++)
		__builtin_prefetch(known_block(&k->filters[i],
					       k->hashes[row + KNOWN_AHEAD]));
}

/* The hashes of `found` (numbers of rows) in a table of open addresses, its
 * size a power of two; 0 is an empty place. */
static size_t known_tabulate(struct duckdb_target_known *k,
			     const uint32_t *found, size_t n)
{
	size_t size = 64;

	while (size < n * 4)
		size *= 2;
	k->table = xgrow(k->table, &k->table_capacity, size, sizeof(*k->table));
	memset(k->table, 0, size * sizeof(*k->table));
	for (size_t i = 0; i < n; i++) {
		uint64_t hash = k->hashes[found[i]];
		size_t at = (size_t)hash & (size - 1);

		while (k->table[at] && k->table[at] != hash)
			at = (at + 1) & (size - 1);
		k->table[at] = hash;
	}
	return size;
}

static bool known_tabulated(const struct duckdb_target_known *k, size_t size,
			    uint64_t hash)
{
	size_t at = (size_t)hash & (size - 1);

	while (k->table[at] && k->table[at] != hash)
		at = (at + 1) & (size - 1);
	return k->table[at] != 0;
}

/* A key that stands twice in the batch is found at its second row: add the
 * first. */
static size_t known_add_firsts(struct duckdb_target_known *k, size_t n_rows,
			       uint32_t *maybe, size_t n)
{
	size_t size = known_tabulate(k, maybe, n);

	n = 0;
	for (size_t i = 0; i < n_rows; i++)
		if (known_tabulated(k, size, k->hashes[i]))
			maybe[n++] = (uint32_t)i;
	return n;
}

bool duckdb_target_known_batch(struct duckdb_target_known *k,
			       const struct batch *b, uint32_t *maybe,
			       size_t *n_maybe)
{
	size_t n = b->n_rows, found = 0;

	if (!k->all)
		return false;
	k->hashes =
		xgrow(k->hashes, &k->hashes_capacity, n, sizeof(*k->hashes));
	for (size_t i = 0; i < n; i++)
		k->hashes[i] = known_hash(b, i);
	/* Keys of a batch that is then rolled back make the next one look
	 * closer, no more. */
	for (size_t i = 0; i < n; i++) {
		known_prefetch(k, i, n);
		if (known_has(k, k->hashes[i]))
			maybe[found++] = (uint32_t)i;
		else
			known_add(k, k->hashes[i]);
	}
	*n_maybe = found ? known_add_firsts(k, n, maybe, found) : 0;
	return true;
}

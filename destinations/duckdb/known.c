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

static struct {
	pthread_mutex_t lock; /* guards the list and the counts of users */
	struct duckdb_target_known *first;
} known_all = { PTHREAD_MUTEX_INITIALIZER, NULL };

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

static bool known_applies(const struct schema *s)
{
	bool applies = s->n_key > 0;

	for (size_t i = 0; i < s->n_key; i++)
		applies =
			applies && known_kind(s->columns[s->key[i]].type.kind);
	return applies;
}

static char *known_key(const struct schema *s)
{
	struct strbuf sb = STRBUF_INIT;

	duckdb_target_sql_keys(&sb, s);
	return strbuf_detach(&sb);
}

/* A dry run has a copy of the table for itself. */
static struct duckdb_target_known *
known_find(const struct duckdb_target_destination *d)
{
	const void *database = duck_database_of(d->db);
	struct duckdb_target_known *k = known_all.first;

	while (k && (d->target->preview || k->database != database ||
		     strcmp(k->into, d->into) != 0))
		k = k->next;
	return k;
}

static struct duckdb_target_known *
known_new(const struct duckdb_target_destination *d, bool empty)
{
	struct duckdb_target_known *k = xcalloc(1, sizeof(*k));

	k->database = duck_database_of(d->db);
	k->into = xstrdup(d->into);
	k->key = known_key(d->target->schema);
	k->all = empty && known_applies(d->target->schema);
	if (k->all)
		known_grow(k);
	k->next = known_all.first;
	known_all.first = k;
	return k;
}

static void known_free(struct duckdb_target_known *k)
{
	struct duckdb_target_known **at = &known_all.first;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	for (size_t i = 0; i < k->n_filters; i++)
		free(k->filters[i].words);
	free(k->hashes);
	free(k->table);
	free(k->into);
	free(k->key);
	free(k);
}

/* With other keys, or a table that was made anew under the eyes of others,
 * nothing is known. */
void duckdb_target_known_join(struct duckdb_target_destination *d, bool empty)
{
	struct duckdb_target_known *k;
	char *key = known_key(d->target->schema);

	duckdb_target_known_leave(d);
	pthread_mutex_lock(&known_all.lock);
	k = known_find(d);
	if (k)
		k->all = k->all && !empty && !strcmp(k->key, key);
	else
		k = known_new(d, empty);
	k->users++;
	d->known = k;
	pthread_mutex_unlock(&known_all.lock);
	free(key);
}

void duckdb_target_known_leave(struct duckdb_target_destination *d)
{
	pthread_mutex_lock(&known_all.lock);
	if (d->known && !--d->known->users)
		known_free(d->known);
	d->known = NULL;
	pthread_mutex_unlock(&known_all.lock);
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

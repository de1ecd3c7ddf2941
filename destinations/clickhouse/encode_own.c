#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/digest.h"
#include "core/data/table_name.h"
#include "core/data/value.h"
#include "destinations/clickhouse/internal.h"

/* A number of 64 bits is written in groups of 7 bits. */
#define NUMBER_BYTES ((size_t)10)
#define HALF_DIGITS  16 /* half of a hash in hex */
#define SIGN_BIT     (UINT64_C(1) << 63)

static char *encode_write_number(char *out, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*out++ = (char)(number | 0x80);
	*out++ = (char)number;
	return out;
}

void clickhouse_target_encode_number(struct encoder *e, uint64_t number)
{
	char *begin = strbuf_reserve(&e->chunk, NUMBER_BYTES);

	e->chunk.len += (size_t)(encode_write_number(begin, number) - begin);
}

void clickhouse_target_encode_text(struct encoder *e, const void *text,
				   size_t n)
{
	char *begin = strbuf_reserve(&e->chunk, n + NUMBER_BYTES);
	char *out = encode_write_number(begin, n);

	if (n)
		memcpy(out, text, n);
	e->chunk.len += (size_t)(out - begin) + n;
}

/* A number that grows with the mark. 0: there is no mark, or its kind has no
 * such number. */
static uint64_t own_version(const struct batch *b, size_t row)
{
	long mark = b->schema->mark;
	const struct vector *v = mark < 0 ? NULL : &b->vectors[mark];
	struct strbuf text = STRBUF_INIT;
	int64_t number = 0;

	if (!v || vector_is_null(v, row))
		return 0;
	if (v->kind == TYPE_TIMESTAMP || v->kind == TYPE_TIMESTAMPTZ ||
	    v->kind == TYPE_INT64) {
		number = vector_i64(v, row);
	} else {
		value_print(&text, v, row);
		if (!value_parse_instant(text.data, &number))
			number = strtoll(text.data, NULL, 10);
		strbuf_release(&text);
	}
	/* Half of the numbers are left for what replaces a row. */
	return ((uint64_t)number ^ SIGN_BIT) >> 1;
}

static uint64_t own_name(const char *name)
{
	char hex[DIGEST_TEXT_SIZE];

	digest_hash_text(name, strlen(name), hex);
	hex[HALF_DIGITS] = '\0';
	return strtoull(hex, NULL, 16);
}

/* A NULL column does not count, so a column that is added later does not make
 * every row a new one. For this the names of the other columns are part of the
 * hash. */
static struct digest own_hash(struct encoder *e, size_t i, size_t row)
{
	size_t n = schema_compared(e->batch->schema);
	struct digest digest = digest_rows_squeeze(&e->block, i, n);

	digest.high += e->all_names;
	for (size_t k = 0; k < n; k++)
		if (e->batch->vectors[k].n_nulls &&
		    vector_is_null(&e->batch->vectors[k], row))
			digest.high -= e->names[k];
	return digest;
}

static void own_put_bytes(struct encoder *e, const void *src, size_t n)
{
	memcpy(strbuf_reserve(&e->chunk, n), src, n);
	e->chunk.len += n;
}

/* Rows that are not far are hashed together, column by column. */
static void own_put_hashes(struct encoder *e, const uint32_t *rows, size_t n)
{
	size_t some[DIGEST_ROWS];
	size_t n_columns = schema_compared(e->batch->schema);

	for (size_t at = 0, m; at < n; at += m) {
		for (m = 0; m < DIGEST_ROWS && at + m < n; m++)
			some[m] = rows[at + m];
		digest_rows_begin(&e->block, n_columns, some, m);
		for (size_t i = 0; i < n_columns; i++)
			digest_rows_put(&e->block, i, &e->batch->vectors[i]);
		for (size_t i = 0; i < m; i++) {
			struct digest one = own_hash(e, i, some[i]);

			own_put_bytes(e, &one.high, sizeof(one.high));
			own_put_bytes(e, &one.low, sizeof(one.low));
		}
	}
}

static void own_put_versions(struct encoder *e, const uint32_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t version = own_version(e->batch, rows[i]);

		own_put_bytes(e, &version, sizeof(version));
	}
}

static void own_put_seqs(struct encoder *e, const uint32_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t seq = e->first_seq + (int64_t)rows[i];

		own_put_bytes(e, &seq, sizeof(seq));
	}
}

static const struct own_column {
	const char *name, *type;
	void (*put)(struct encoder *e, const uint32_t *rows, size_t n);
} own_columns[] = {
	{ NAME_VERSION, "UInt64", own_put_versions },
	{ NAME_HASH, "UInt128", own_put_hashes },
	{ NAME_RAW_SEQ, "Int64", own_put_seqs },
};

static const struct own_column *own_column(const struct encoder *e)
{
	return &own_columns[e->column - e->batch->schema->n_columns];
}

void clickhouse_target_encode_own_begin(struct encoder *e)
{
	const struct own_column *c = own_column(e);

	clickhouse_target_encode_text(e, c->name, strlen(c->name));
	clickhouse_target_encode_text(e, c->type, strlen(c->type));
}

void clickhouse_target_encode_own(struct encoder *e, const uint32_t *rows,
				  size_t n)
{
	own_column(e)->put(e, rows, n);
}

void clickhouse_target_encode_own_init(struct encoder *e)
{
	const struct schema *s = e->batch->schema;

	e->n_columns = s->n_columns + ARRAY_SIZE(own_columns);
	digest_rows_init(&e->block);
	e->names = xcalloc(s->n_columns + 1, sizeof(*e->names));
	for (size_t i = 0; i < schema_compared(s); i++) {
		e->names[i] = own_name(s->columns[i].name);
		e->all_names += e->names[i];
	}
}

void clickhouse_target_encode_own_release(struct encoder *e)
{
	free(e->names);
	digest_rows_release(&e->block);
}

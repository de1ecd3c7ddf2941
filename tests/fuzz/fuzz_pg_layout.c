/*
 * A binary COPY of any bytes, read against any layout. A row has a key, and a
 * value or NULL in each of its columns, or there is an error that says so. The
 * rows read so far can be printed.
 */
#include "clients/pg_row.h"
#include "connectors/postgres/postgres.h"
#include "core/base/alloc.h"
#include "core/data/value.h"
#include "tests/fuzz/fuzz.h"

#define MOST_COLUMNS 6

/* The stream that the rows come from. */
static struct pg_row row;

const struct pg_field_bytes *pg_stream_fields(const struct pg *pg)
{
	(void)pg;
	return row.fields;
}

static void fuzz_column(struct fuzz_input *in, struct source_column *out,
			struct wire_column *wire)
{
	static const int32_t modifiers[] = { -1, 3, 0, 6, 10 << 16 | 6 };
	size_t n;
	const struct wire_type *types = postgres_source_wire_types(&n);
	uint8_t type = fuzz_byte(in), modifier = fuzz_byte(in);
	int32_t any = (int32_t)fuzz_u32(in);

	out->name = (char *)"c";
	wire->wire = &types[type % n];
	wire->decode = wire->wire->decode;
	wire->modifier =
		modifier < ARRAY_SIZE(modifiers) ? modifiers[modifier] : any;
	postgres_source_wire_type_describe(wire->wire, wire->modifier,
					   &out->type);
	out->how = wire;
	fuzz_check(out->type.precision >= 0);
	fuzz_check(out->type.digits >= 0 && out->type.digits <= 6);
	out->type.native = (char *)"";
}

/* The last column is a hidden mark, or there is none. */
static void fuzz_layout(struct fuzz_input *in, struct source_layout *out,
			struct schema *schema)
{
	uint8_t choice = fuzz_byte(in);
	size_t n = 1 + choice % MOST_COLUMNS;
	struct wire_column *wires = xcalloc(n + 1, sizeof(*wires));

	out->own = wires;
	out->all = xcalloc(n + 1, sizeof(*out->all));
	out->columns = xcalloc(n + 1, sizeof(*out->columns));
	out->key = xcalloc(n + 1, sizeof(*out->key));
	out->n_columns = n;
	out->mark = choice & 0x80 ? (long)n : -1;
	out->n_key = choice >> 3 & 1;
	for (size_t i = 0; i < n + (out->mark >= 0); i++) {
		out->columns[i] = &out->all[i];
		fuzz_column(in, &out->all[i], &wires[i]);
	}
	for (size_t i = 0; i < n; i++)
		schema_add(schema, "c", &out->all[i].type, true);
	if (out->n_key)
		out->key[0] = n - 1;
}

/* A message of the stream, its length in front. */
static bool fuzz_message(struct fuzz_input *in, struct fuzz_input *out)
{
	size_t n = fuzz_byte(in);

	n |= (size_t)fuzz_byte(in) << 8;
	if (!in->n)
		return false;
	*out = (struct fuzz_input){ in->data, n < in->n ? n : in->n };
	in->data += out->n;
	in->n -= out->n;
	return true;
}

static void fuzz_print(const struct source_layout *l, const struct batch *b)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < l->n_columns; i++)
		if (!vector_is_null(&b->vectors[i], b->n_rows - 1))
			value_print(&text, &b->vectors[i], b->n_rows - 1);
	for (size_t i = 0; i < l->n_key; i++)
		fuzz_check(
			!vector_is_null(&b->vectors[l->key[i]], b->n_rows - 1));
	fuzz_check(!text.failed);
	strbuf_release(&text);
}

static void fuzz_rows(struct fuzz_input *in, struct postgres *c,
		      struct batch *b)
{
	struct fuzz_input message;

	while (fuzz_message(in, &message)) {
		struct error err = ERROR_INIT;
		size_t before = b->n_rows;
		int rc = pg_row_read(&row, message.data, message.n, &err);

		if (rc <= 0)
			break;
		rc = postgres_source_rows_append(c, b, &err);
		fuzz_check(rc == -(int)err.code);
		fuzz_check(b->n_rows == before + !rc);
		if (rc)
			break;
		fuzz_print(&c->layout, b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct source_spec source = { .table = "t" };
	struct schema schema;
	struct scan scan = { .source = &source, .schema = &schema };
	struct postgres c = { .pg = NULL };
	struct batch batch;

	schema_init(&schema);
	fuzz_layout(&in, &c.layout, &schema);
	fuzz_check(
		!paged_pass_begin(&c.pass, NULL, NULL, &c.layout, &scan, NULL));
	batch_init(&batch, &schema);
	row = (struct pg_row){ .width = c.layout.n_columns +
					(c.layout.mark >= 0) };
	fuzz_rows(&in, &c, &batch);
	pg_row_release(&row);
	paged_pass_release(&c.pass);
	batch_release(&batch);
	schema_release(&schema);
	free(c.layout.own);
	free(c.layout.all);
	free(c.layout.columns);
	free(c.layout.key);
	return 0;
}

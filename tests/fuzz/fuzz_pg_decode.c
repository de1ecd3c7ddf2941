/*
 * PostgreSQL's binary values, as a rogue server might send them. Every decoder
 * takes any bytes and stores a value or an error, and the stored value can be
 * printed. An accepted numeric has as many digits behind the point as its
 * header says.
 */
#include <stdlib.h>
#include <string.h>

#include "connectors/postgres/types.h"
#include "core/base/alloc.h"
#include "core/data/value.h"
#include "tests/fuzz/fuzz.h"

static void fuzz_numeric(const uint8_t *data, const struct strbuf *text)
{
	size_t scale = (size_t)data[6] << 8 | data[7];
	const char *point = strchr(text->data, '.');

	if (!strcmp(text->data, "NaN") || strstr(text->data, "Infinity"))
		return;
	fuzz_check(strspn(text->data, "-0123456789.") == text->len);
	fuzz_check(scale ? point && strlen(point + 1) == scale : !point);
}

static void fuzz_value(const struct wire_type *wire, const uint8_t *data,
		       size_t size, struct batch *b)
{
	struct error err = ERROR_INIT;
	struct strbuf text = STRBUF_INIT;
	struct vector *v = &b->vectors[0];

	batch_reserve_row(b);
	if (wire->decode(v, b->n_rows, data, size, &err)) {
		fuzz_check(err.code == ERROR_DATA);
		batch_row_undo(b);
		return;
	}
	batch_row_done(b);
	fuzz_check(!vector_is_null(v, b->n_rows - 1));
	value_print(&text, v, b->n_rows - 1);
	if (wire->oid == WIRE_NUMERIC)
		fuzz_numeric(data, &text);
	strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n;
	const struct wire_type *types = postgres_source_wire_types(&n);
	const struct wire_type *wire;
	struct schema schema;
	struct batch batch;
	struct type type;

	if (size < 1)
		return 0;
	wire = &types[data[0] % n];
	postgres_source_wire_type_describe(wire, -1, &type);
	type.native = (char *)"";
	schema_init(&schema);
	schema_add(&schema, "v", &type, true);
	batch_init(&batch, &schema);
	/* The same value twice: the second starts where the first ended. */
	fuzz_value(wire, data + 1, size - 1, &batch);
	fuzz_value(wire, data + 1, size - 1, &batch);
	batch_release(&batch);
	schema_release(&schema);
	return 0;
}

/*
 * Columns and rows of a MySQL server, as the client library hands them out,
 * whatever the server has sent. A column's description gives a type that is
 * read in a form that it has. A cell is a value of that type or an error.
 */
#include "connectors/mysql/decode.h"
#include "core/data/value.h"
#include "tests/fuzz/fuzz.h"

#define MOST_PRECISION 65
#define MOST_HOURS     839

static void fuzz_field(struct fuzz_input *in, struct mysql_client_field *out)
{
	uint8_t flags;

	*out = (struct mysql_client_field){ .type = fuzz_byte(in) };
	flags = fuzz_byte(in);
	out->is_unsigned = flags & 1;
	out->binary = flags & 2;
	out->length = fuzz_u32(in);
	out->decimals = fuzz_byte(in);
}

static void fuzz_cell(struct fuzz_input *in, enum mysql_client_form form,
		      struct mysql_client_cell *out)
{
	memset(out, 0, sizeof(*out));
	switch (form) {
	case MYSQL_CLIENT_INTEGER:
	case MYSQL_CLIENT_UNSIGNED:
		fuzz_take(in, &out->integer, sizeof(out->integer));
		break;
	case MYSQL_CLIENT_FLOAT:
		fuzz_take(in, &out->float32, sizeof(out->float32));
		break;
	case MYSQL_CLIENT_DOUBLE:
		fuzz_take(in, &out->float64, sizeof(out->float64));
		break;
	case MYSQL_CLIENT_TIME:
		out->time.negative = fuzz_byte(in) & 1;
		out->time.year = fuzz_u32(in);
		out->time.month = fuzz_u32(in);
		out->time.day = fuzz_u32(in);
		out->time.hour = fuzz_u32(in);
		out->time.minute = fuzz_u32(in);
		out->time.second = fuzz_u32(in);
		out->time.microsecond = fuzz_u32(in);
		break;
	case MYSQL_CLIENT_BYTES:
		out->bytes = in->data;
		out->n = in->n;
		break;
	}
}

static void fuzz_value(const struct vector *v, size_t row)
{
	struct interval_value interval;
	struct strbuf text = STRBUF_INIT;
	int64_t us = 0;
	int32_t days = 0;

	value_print(&text, v, row);
	fuzz_check(!text.failed);
	if (v->kind == TYPE_DATE)
		fuzz_check(value_parse_date(text.data, &days));
	else if (v->kind == TYPE_TIMESTAMP || v->kind == TYPE_TIMESTAMPTZ)
		fuzz_check(value_parse_timestamp(text.data, &us));
	else if (v->kind == TYPE_INTERVAL) {
		memcpy(&interval, v->data + row * v->width, sizeof(interval));
		us = interval.microseconds / 1000000 / 3600;
		fuzz_check(us > -MOST_HOURS && us < MOST_HOURS);
	}
	strbuf_release(&text);
}

static void fuzz_row(const struct mysql_source_type *how,
		     const struct mysql_client_cell *cell, enum zero_dates zero,
		     struct batch *b)
{
	struct error err = ERROR_INIT;
	int rc;

	batch_reserve_row(b);
	rc = how->decode(&b->vectors[0], b->n_rows, cell, zero, &err);
	fuzz_check(rc == -(int)err.code && (!rc || err.code == ERROR_DATA));
	if (rc) {
		batch_row_undo(b);
		return;
	}
	batch_row_done(b);
	if (!vector_is_null(&b->vectors[0], b->n_rows - 1))
		fuzz_value(&b->vectors[0], b->n_rows - 1);
}

/* The type of an expression's column, or of a table's. */
static const struct mysql_source_type *
fuzz_type(const struct mysql_client_field *field, bool of_table)
{
	size_t n;
	const struct mysql_source_type *how = mysql_source_types(&n);

	if (of_table)
		return &how[(size_t)field->type % n];
	how = mysql_source_type_of_field(field);
	fuzz_check(mysql_client_form_fits(how->form, field->type));
	return how;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t choice = fuzz_byte(&in);
	struct mysql_client_field field;
	const struct mysql_source_type *how;
	struct mysql_client_cell cell;
	struct schema schema;
	struct batch batch;
	struct type type;

	fuzz_field(&in, &field);
	how = fuzz_type(&field, choice & 2);
	type = (struct type){ .kind = how->kind, .native = (char *)"" };
	mysql_source_type_digits(&field, &type);
	fuzz_check(type.precision >= 0 && type.precision <= MOST_PRECISION);
	fuzz_check(type.scale >= 0 && type.scale <= type.precision);
	fuzz_check(type.digits >= 0 && type.digits <= 6);
	schema_init(&schema);
	schema_add(&schema, "v", &type, true);
	batch_init(&batch, &schema);
	fuzz_cell(&in, how->form, &cell);
	/* The same value twice: the second starts where the first ended. */
	for (int i = 0; i < 2; i++)
		fuzz_row(how, &cell,
			 choice & 1 ? ZERO_DATES_NULL : ZERO_DATES_ERROR,
			 &batch);
	batch_release(&batch);
	schema_release(&schema);
	return 0;
}

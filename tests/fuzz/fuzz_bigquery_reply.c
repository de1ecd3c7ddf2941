/*
 * Answers of BigQuery, or of a program in its place. Any bytes give an error,
 * or values that can be read, also rows of columns of any types.
 */
#include <stdlib.h>

#include "clients/bigquery_reply.h"
#include "connectors/bigquery/types.h"
#include "core/data/value.h"
#include "tests/fuzz/fuzz.h"

static void fuzz_shape(const json_t *reply)
{
	struct error page = ERROR_INIT, table = ERROR_INIT;
	bool done;

	if (bigquery_reply_complete(reply, &done, "x", &page) !=
		    -(int)page.code ||
	    bigquery_reply_table(reply, "x", &table) != -(int)table.code)
		abort();
}

static void fuzz_cells(const json_t *page)
{
	for (size_t row = 0; row < 3; row++)
		for (size_t column = 0; column < 3; column++) {
			const char *text = "";
			size_t n = 1;

			if (!bigquery_reply_cell(page, row, column, &text,
						 &n) &&
			    (text || n))
				abort();
			for (size_t i = 0; text && i < n; i++)
				if (text[i] == '\xff')
					abort(); /* is not UTF-8 */
		}
}

/* A value of a column that is described by a field. */
static void fuzz_value(const json_t *field,
		       const struct bigquery_source_type *how, struct batch *b,
		       const char *text, size_t n)
{
	const char *type = json_string_value(json_object_get(field, "type"));
	struct strbuf printed = STRBUF_INIT;
	struct error err = ERROR_INIT;
	int rc;

	bigquery_source_type_print(type ? type : "", text, &printed);
	strbuf_reset(&printed);
	batch_reserve_row(b);
	rc = bigquery_source_type_take(how, &b->vectors[0], b->n_rows, text, n,
				       &err);
	fuzz_check(rc == -(int)err.code && (!rc || err.code == ERROR_DATA));
	if (rc) {
		batch_row_undo(b);
	} else {
		batch_row_done(b);
		value_print(&printed, &b->vectors[0], b->n_rows - 1);
	}
	strbuf_release(&printed);
}

static void fuzz_column(const json_t *page, const json_t *field, size_t column)
{
	struct type type;
	const struct bigquery_source_type *how =
		bigquery_source_type_of(field, &type);
	struct schema schema;
	struct batch b;

	fuzz_check(type.precision >= 0 && type.scale >= 0);
	if (type.kind == TYPE_DECIMAL)
		fuzz_check(type.precision <= 77 &&
			   type.scale <= type.precision);
	schema_init(&schema);
	schema_add(&schema, "c", &type, true);
	free(type.native);
	batch_init(&b, &schema);
	for (size_t row = 0; row < 3; row++) {
		const char *text;
		size_t n;

		if (bigquery_reply_cell(page, row, column, &text, &n) && text)
			fuzz_value(field, how, &b, text, n);
	}
	batch_release(&b);
	schema_release(&schema);
}

/* Rows of a table whose schema says what they are. */
static void fuzz_rows(const json_t *reply)
{
	const json_t *fields =
		json_object_get(json_object_get(reply, "schema"), "fields");

	for (size_t i = 0; i < json_array_size(fields) && i < 8; i++)
		fuzz_column(reply, json_array_get(fields, i), i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = ERROR_INIT, refused = ERROR_INIT;
	json_t *reply = NULL;
	bool done = false;

	if (bigquery_reply_parse(&reply, (const char *)data, size,
				 "application/json", 200, "x", &err)) {
		if (reply || err.code != ERROR_TRANSIENT || !*err.message)
			abort();
		return 0;
	}
	if (!bigquery_reply_refused(reply, 400, "x", &refused) || !refused.code)
		abort();
	if (bigquery_reply_job(reply, &done, "x", &err) != -(int)err.code)
		abort();
	fuzz_shape(reply);
	bigquery_reply_number(json_object_get(reply, "statistics"), "totalRows",
			      -1);
	fuzz_cells(reply);
	fuzz_rows(reply);
	json_decref(reply);
	return 0;
}

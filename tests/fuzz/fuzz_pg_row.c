/*
 * Rows of a binary COPY, as a rogue server might send them. Any bytes are a
 * row, the trailer or an error. A row's fields lie inside its message, one
 * behind the other, and fill it.
 */
#include <stdlib.h>

#include "clients/pg_row.h"
#include "tests/fuzz/fuzz.h"

static void fuzz_fields(const struct pg_row *row, const uint8_t *data,
			size_t size, bool header)
{
	const uint8_t *end = data;
	size_t used = 2;

	for (size_t i = 0; i < row->n_fields; i++) {
		const struct pg_field_bytes *f = &row->fields[i];

		used += 4 + f->n;
		fuzz_check(f->data || !f->n);
		if (!f->data)
			continue;
		fuzz_check(f->data >= end + 4);
		end = f->data + f->n;
		fuzz_check(end <= data + size);
	}
	fuzz_check(header ? used + 19 <= size : used == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool header = size && !(data[0] & 1);
	struct pg_row row = { .width = size ? data[0] >> 1 & 7 : 0,
			      .begun = !header };
	struct error err = ERROR_INIT;
	int rc;

	if (!size)
		return 0;
	rc = pg_row_read(&row, data + 1, size - 1, &err);
	fuzz_check(rc == 0 || rc == 1 || rc == -ERROR_TRANSIENT);
	fuzz_check(rc == 1 || !row.n_fields);
	fuzz_check((rc < 0) == (err.code != 0));
	fuzz_check(rc != 1 || row.n_fields == row.width);
	if (rc == 1)
		fuzz_fields(&row, data + 1, size - 1, header);
	pg_row_release(&row);
	return 0;
}

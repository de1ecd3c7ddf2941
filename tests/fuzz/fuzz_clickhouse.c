/*
 * Answers of a ClickHouse server, or of a program in its place. Any bytes are a
 * table of text, an exception or an error. Any text is a decimal that comes
 * back as it was, or none.
 */
#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse.h"
#include "clients/clickhouse_decimal.h"
#include "clients/clickhouse_errors.h"
#include "tests/fuzz/fuzz.h"

static void fuzz_table(const char *text, size_t size)
{
	struct clickhouse_rows rows;
	struct error err = ERROR_INIT;

	if (clickhouse_rows_parse(&rows, text, size, &err))
		fuzz_check(err.code != ERROR_NONE && !rows.cells);
	for (size_t i = 0; i < rows.n_rows; i++)
		for (size_t k = 0; k < rows.n_columns; k++)
			fuzz_check(!clickhouse_cell(&rows, i, k) ||
				   strlen(clickhouse_cell(&rows, i, k)) <=
					   size);
	clickhouse_rows_release(&rows);
}

static void fuzz_exception(const char *text, size_t size)
{
	struct error err = ERROR_INIT;
	size_t begin = 0, end = 0;
	long code = clickhouse_find_exception(text, size, &begin, &end);

	fuzz_check(!code || (begin <= end && end <= size));
	fuzz_check(!clickhouse_fail_text(&err, "it", text, size) ==
		   (err.code == ERROR_NONE));
}

static void fuzz_decimal(const char *text, size_t size)
{
	int precision = size ? (unsigned char)text[0] % 76 + 1 : 1;
	int scale = size > 1 ? (unsigned char)text[1] % (precision + 1) : 0;
	size_t width = clickhouse_decimal_width(precision);
	uint8_t out[32] = { 0 }, again[32] = { 0 };
	struct strbuf sb = STRBUF_INIT;

	if (size > 2 && scale <= precision &&
	    clickhouse_decimal_encode(text + 2, size - 2, precision, scale,
				      out)) {
		clickhouse_decimal_print(&sb, out, width, true, scale);
		fuzz_check(clickhouse_decimal_encode(sb.data, sb.len, precision,
						     scale, again));
		fuzz_check(!memcmp(out, again, width));
	}
	strbuf_release(&sb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	fuzz_check(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	fuzz_table(text, size);
	fuzz_exception(text, size);
	fuzz_decimal(text, size);
	free(text);
	return 0;
}

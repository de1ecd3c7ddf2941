/*
 * Answers of BigQuery, or of whoever sits where it should: whatever the bytes
 * are, an error comes of them or values that can be read.
 */
#include <stdlib.h>

#include "clients/bigquery_reply.h"
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
	json_decref(reply);
	return 0;
}

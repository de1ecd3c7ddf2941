/*
 * Types and values of a lying ClickHouse server. Any text is some type. Any
 * bytes are rows of columns of such types, or an error that says so. Accepted
 * values can be printed.
 */
#include "clients/clickhouse_handle.h"
#include "connectors/clickhouse/source.h"
#include "core/base/alloc.h"
#include "core/data/value.h"
#include "tests/fuzz/fuzz.h"

#define MOST_COLUMNS 4
#define MOST_ROWS    16
#define MOST_DIGITS  78 /* a UInt256's */

/* The answer, which comes in pieces of some size. */
static struct fuzz_input answer;
static struct strbuf head;
static size_t head_read, piece;

/* Nothing is asked ahead here. */
void clickhouse_forget_ahead(struct clickhouse *c)
{
	(void)c;
}

int http_begin(struct http *h, const struct http_request *request,
	       struct http_response *out, struct error *err)
{
	(void)h;
	(void)request;
	(void)err;
	out->status = 200;
	strbuf_reset(&out->headers);
	strbuf_addstr(&out->headers,
		      "Content-Type: application/octet-stream\n");
	return 0;
}

int http_read(struct http *h, void *buffer, size_t room, size_t *n,
	      struct error *err)
{
	size_t most = room < piece ? room : piece;

	(void)h;
	(void)err;
	*n = head.len - head_read;
	if (*n) {
		*n = *n < most ? *n : most;
		memcpy(buffer, head.data + head_read, *n);
		head_read += *n;
		return 0;
	}
	*n = answer.n < most ? answer.n : most;
	fuzz_take(&answer, buffer, *n);
	return 0;
}

int http_drain(struct http *h, struct http_response *out, size_t limit,
	       bool cut, struct error *err)
{
	(void)h;
	(void)out;
	(void)limit;
	(void)cut;
	(void)err;
	return 0;
}

void http_end(struct http *h)
{
	(void)h;
}

const char *http_shown(const struct http *h)
{
	(void)h;
	return "it";
}

char *clickhouse_path(const struct clickhouse *c, bool whole, const char *query)
{
	(void)c;
	(void)whole;
	(void)query;
	return xstrdup("/");
}

static void fuzz_head(const struct schema *s)
{
	strbuf_reset(&head);
	strbuf_addch(&head, (char)(s->n_columns + 1));
	for (size_t i = 0; i <= s->n_columns; i++)
		strbuf_add(&head, "\1c", 2);
	strbuf_add(&head, "\5UInt8", 6);
	for (size_t i = 0; i < s->n_columns; i++) {
		size_t n = strlen(s->columns[i].type.native) & 0x7f;

		strbuf_addch(&head, (char)n);
		strbuf_add(&head, s->columns[i].type.native, n);
	}
}

/* A column's description comes with its comment, a page does not. */
static void fuzz_column(struct fuzz_input *in,
			struct clickhouse_source_cell *cell, struct schema *out)
{
	char *declared = fuzz_text(in), *comment = fuzz_text(in);
	struct type type, ignored;

	clickhouse_source_type_of(declared, comment, &type, cell);
	fuzz_check(type.digits >= 0 && type.digits <= 6);
	if (type.kind == TYPE_DECIMAL)
		fuzz_check(type.precision >= 0 &&
			   type.precision <= MOST_DIGITS && type.scale >= 0 &&
			   type.scale <= type.precision);
	clickhouse_source_is_ordered(&type, cell);
	clickhouse_source_type_of(declared, NULL, &ignored, cell);
	fuzz_check(cell->width <= (1 << 30));
	schema_add(out, "c", &type, true);
	free(ignored.native);
	free(type.native);
	free(declared);
	free(comment);
}

static int fuzz_row(struct clickhouse_source *s, struct batch *b)
{
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_INIT;
	int rc = 0;

	batch_reserve_row(b);
	for (size_t i = 0; !rc && i < b->schema->n_columns; i++) {
		rc = clickhouse_source_decode(s, &b->vectors[i], b->n_rows,
					      &s->cells[i], &err);
		fuzz_check(rc == -(int)err.code);
		if (!rc && !vector_is_null(&b->vectors[i], b->n_rows))
			value_print(&text, &b->vectors[i], b->n_rows);
	}
	if (rc)
		batch_row_undo(b);
	else
		batch_row_done(b);
	strbuf_release(&text);
	return rc;
}

static void fuzz_rows(struct clickhouse_source *s, const struct schema *schema)
{
	struct error err = ERROR_INIT;
	struct batch b;
	int rc = clickhouse_select(s->db, "SELECT 1", schema->n_columns, &err);

	fuzz_check(rc == -(int)err.code);
	batch_init(&b, schema);
	while (!rc && b.n_rows < MOST_ROWS) {
		rc = clickhouse_next(s->db, &err);
		fuzz_check(rc == 1 || rc == -(int)err.code);
		if (rc <= 0)
			break;
		rc = fuzz_row(s, &b);
	}
	clickhouse_select_end(s->db);
	batch_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct clickhouse_source_cell cells[MOST_COLUMNS];
	struct clickhouse db = { .shown = (char *)"it" };
	struct clickhouse_source s = { .db = &db, .cells = cells };
	uint8_t choice = fuzz_byte(&in);
	struct schema schema;

	strbuf_init(&db.waiting);
	strbuf_init(&s.text);
	strbuf_init(&head);
	http_response_init(&db.response);
	schema_init(&schema);
	for (int i = 0; i <= choice % MOST_COLUMNS; i++)
		fuzz_column(&in, &cells[i], &schema);
	if (choice & 0x80)
		fuzz_head(&schema);
	piece = 1 + (choice >> 2 & 0x1f);
	head_read = 0;
	answer = in;
	fuzz_rows(&s, &schema);
	schema_release(&schema);
	http_response_release(&db.response);
	strbuf_release(&db.waiting);
	strbuf_release(&s.text);
	strbuf_release(&head);
	return 0;
}

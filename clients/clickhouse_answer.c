#include <stdlib.h>
#include <string.h>

#include "clients/answer.h"
#include "clients/clickhouse.h"
#include "core/base/alloc.h"

void clickhouse_rows_release(struct clickhouse_rows *r)
{
	for (size_t i = 0; i < r->n_rows * r->n_columns; i++)
		free(r->cells[i]);
	free(r->cells);
	memset(r, 0, sizeof(*r));
}

static bool rows_is_null(const void *result, size_t row, size_t column)
{
	return !clickhouse_cell(result, row, column);
}

int clickhouse_rows_check(const struct clickhouse_rows *r, const char *shape,
			  const char *where, struct error *err)
{
	struct answer a = { .result = r,
			    .n_rows = r->n_rows,
			    .n_columns = r->n_columns,
			    .is_null = rows_is_null };

	return answer_check(&a, shape, where, err);
}

const char *clickhouse_cell(const struct clickhouse_rows *r, size_t row,
			    size_t column)
{
	if (row >= r->n_rows || column >= r->n_columns)
		return NULL;
	return r->cells[row * r->n_columns + column];
}

int64_t clickhouse_rows_i64(const struct clickhouse_rows *r, int64_t missing)
{
	const char *text = r->n_rows ? clickhouse_cell(r, 0, 0) : NULL;

	return text ? strtoll(text, NULL, 10) : missing;
}

static char answer_escape(char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case '0':
		return '?'; /* no byte of a text of ours */
	default:
		return c;
	}
}

/* NULL for \N, which no text is written as. */
static char *answer_cell(const char *text, size_t n)
{
	struct strbuf sb = STRBUF_INIT;

	if (n == 2 && text[0] == '\\' && text[1] == 'N')
		return NULL;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (c == '\\' && i + 1 < n)
			c = answer_escape(text[++i]);
		strbuf_addch(&sb, c ? c : '?');
	}
	return strbuf_detach(&sb);
}

static size_t answer_count(const char *line, size_t n)
{
	size_t cells = 1;

	for (size_t i = 0; i < n; i++)
		cells += line[i] == '\t';
	return cells;
}

/* A cell may be one byte in the answer, and takes far more in memory. */
static int answer_refuse(struct clickhouse_rows *out, bool many,
			 struct error *err)
{
	clickhouse_rows_release(out);
	if (many)
		return error_set(err, ERROR_ACCESS,
				 "the answer has more than %d cells",
				 CLICKHOUSE_CELLS_MOST);
	return error_set(err, ERROR_TRANSIENT,
			 "the answer is no table: it breaks off, or its lines "
			 "differ");
}

static void answer_row(struct clickhouse_rows *out, size_t *capacity,
		       const char *line, size_t n)
{
	size_t at = out->n_rows * out->n_columns;

	out->cells = xgrow(out->cells, capacity, at + out->n_columns,
			   sizeof(*out->cells));
	for (size_t i = 0; i < out->n_columns; i++) {
		const char *tab = memchr(line, '\t', n);
		size_t cell = tab ? (size_t)(tab - line) : n;

		out->cells[at + i] = answer_cell(line, cell);
		line += cell + (tab ? 1 : 0);
		n -= cell + (tab ? 1 : 0);
	}
	out->n_rows++;
}

int clickhouse_rows_parse(struct clickhouse_rows *out, const char *text,
			  size_t n, struct error *err)
{
	size_t capacity = 0;
	const char *end;

	memset(out, 0, sizeof(*out));
	for (; n; n -= (size_t)(end - text) + 1, text = end + 1) {
		size_t cells;

		end = memchr(text, '\n', n);
		cells = end ? answer_count(text, (size_t)(end - text)) : 0;
		if (!out->n_rows)
			out->n_columns = cells;
		if (!end || cells != out->n_columns)
			return answer_refuse(out, false, err);
		if (cells > CLICKHOUSE_CELLS_MOST - out->n_rows * cells)
			return answer_refuse(out, true, err);
		answer_row(out, &capacity, text, (size_t)(end - text));
	}
	return 0;
}

char *clickhouse_plain_type(const char *declared, bool *nullable)
{
	static const char *const wraps[] = { "LowCardinality(", "Nullable(" };
	char *text = xstrdup(declared);
	bool null = false;

	for (size_t i = 0; i < ARRAY_SIZE(wraps); i++) {
		size_t n = strlen(wraps[i]), len = strlen(text);

		if (strncmp(text, wraps[i], n) != 0 || len <= n)
			continue;
		null |= i == 1;
		memmove(text, text + n, len - n);
		text[len - n - 1] = '\0';
	}
	if (nullable)
		*nullable = null;
	return text;
}

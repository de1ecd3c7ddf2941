#include "cli/row_text.h"

#include <math.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/data/value.h"

/* Bytes that stand in a string as they are. */
static size_t row_plain(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] >= 0x20 && text[i] < 0x7f && text[i] != '"' &&
	       text[i] != '\\')
		i++;
	return i;
}

/* Append the character at `text`; returns its bytes. Control characters would
 * reach a terminal. */
static size_t row_add_character(struct strbuf *out, const char *text, size_t n)
{
	size_t length = utf8_char_length(text, n);
	uint32_t code = length ? utf8_code(text, length) : 0xfffd;

	if (length == 1 && (*text == '"' || *text == '\\'))
		strbuf_addf(out, "\\%c", *text);
	else if (length && !utf8_is_control(text, length))
		strbuf_add(out, text, length);
	else if (code < 0x10000)
		strbuf_addf(out, "\\u%04x", (unsigned)code);
	else
		strbuf_addf(out, "\\u%04x\\u%04x",
			    (unsigned)(0xd7c0 + (code >> 10)),
			    (unsigned)(0xdc00 + (code & 0x3ff)));
	return length ? length : 1;
}

static void row_add_escaped(struct strbuf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t run = row_plain(text + i, n - i);

		strbuf_add(out, text + i, run);
		i += run;
		if (i < n)
			i += row_add_character(out, text + i, n - i);
	}
}

static void row_add_string(struct strbuf *out, const char *text, size_t n)
{
	strbuf_addch(out, '"');
	row_add_escaped(out, text, n);
	strbuf_addch(out, '"');
}

/* The text of a present value. One that is not UTF-8 is written as bytes. */
static void row_print(struct strbuf *out, const struct vector *v, size_t row)
{
	struct vector raw = *v;

	strbuf_reset(out);
	value_print(out, v, row);
	if (v->width || utf8_is_valid(out->data ? out->data : "", out->len))
		return;
	raw.kind = TYPE_BYTES;
	strbuf_reset(out);
	value_print(out, &raw, row);
}

static bool row_is_finite(const struct vector *v, size_t row)
{
	const uint8_t *at = v->data + row * v->width;
	double wide;
	float narrow;

	if (v->kind == TYPE_FLOAT64) {
		memcpy(&wide, at, sizeof(wide));
		return isfinite(wide);
	}
	memcpy(&narrow, at, sizeof(narrow));
	return isfinite(narrow);
}

/* Is the text of the value a JSON value? */
static bool row_is_bare(const struct vector *v, size_t row)
{
	switch (v->kind) {
	case TYPE_BOOL:
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
		return true;
	case TYPE_FLOAT32:
	case TYPE_FLOAT64:
		return row_is_finite(v, row);
	default:
		return false;
	}
}

void row_text_json(struct strbuf *out, const struct batch *b, size_t row)
{
	const struct schema *s = b->schema;
	struct strbuf text = STRBUF_INIT;

	strbuf_addch(out, '{');
	for (size_t i = 0; i < s->n_columns; i++) {
		const struct vector *v = &b->vectors[i];
		const char *name = s->columns[i].name;

		strbuf_addstr(out, i ? "," : "");
		row_add_string(out, name, strlen(name));
		strbuf_addch(out, ':');
		if (vector_is_null(v, row)) {
			strbuf_addstr(out, "null");
			continue;
		}
		row_print(&text, v, row);
		if (row_is_bare(v, row))
			strbuf_add(out, text.data, text.len);
		else
			row_add_string(out, text.data, text.len);
	}
	strbuf_addstr(out, "}\n");
	strbuf_release(&text);
}

static void row_add_cell(struct strbuf *out, const char *text, size_t n)
{
	bool quoted = !n;

	for (size_t i = 0; i < n && !quoted; i++)
		quoted = text[i] == '"' || text[i] == ',' || text[i] == '\r' ||
			 text[i] == '\n';
	if (!quoted) {
		strbuf_add(out, text, n);
		return;
	}
	strbuf_addch(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			strbuf_addch(out, '"');
		strbuf_addch(out, text[i]);
	}
	strbuf_addch(out, '"');
}

void row_text_csv_names(struct strbuf *out, const struct schema *s)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		const char *name = s->columns[i].name;

		strbuf_addstr(out, i ? "," : "");
		row_add_cell(out, name, strlen(name));
	}
	strbuf_addch(out, '\n');
}

void row_text_csv(struct strbuf *out, const struct batch *b, size_t row)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < b->schema->n_columns; i++) {
		const struct vector *v = &b->vectors[i];

		strbuf_addstr(out, i ? "," : "");
		if (vector_is_null(v, row))
			continue;
		row_print(&text, v, row);
		row_add_cell(out, text.data, text.len);
	}
	strbuf_addch(out, '\n');
	strbuf_release(&text);
}

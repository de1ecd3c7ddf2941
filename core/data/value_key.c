#include <math.h>
#include <string.h>

#include "core/data/value.h"

/* Longest value of a key shown in a message, in bytes. */
#define VALUE_KEY_SHOWN 64
/* Integers up to here are the same number to every JSON reader. */
#define VALUE_JSON_EXACT (INT64_C(1) << 53)

/* Up to `most` bytes, whole characters. */
static size_t value_cut(const char *text, size_t n, size_t most)
{
	if (n <= most)
		return n;
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

static json_t *value_text_json(const struct vector *v, size_t row, size_t most)
{
	struct strbuf text = STRBUF_INIT;
	json_t *json;

	value_print(&text, v, row);
	json = json_stringn(text.data, value_cut(text.data, text.len, most));
	if (!json) {
		/* Not UTF-8: shown as bytes rather than not at all. */
		struct vector raw = *v;
		strbuf_reset(&text);
		raw.kind = TYPE_BYTES;
		value_print(&text, &raw, row);
		json = json_stringn(text.data,
				    value_cut(text.data, text.len, most));
	}
	strbuf_release(&text);
	return json;
}

static json_t *value_integer_json(const struct vector *v, size_t row, int64_t n)
{
	if (n > VALUE_JSON_EXACT || n < -VALUE_JSON_EXACT)
		return value_text_json(v, row, SIZE_MAX);
	return json_integer(n);
}

static json_t *value_float_json(const struct vector *v, size_t row, double x)
{
	return isfinite(x) ? json_real(x) : value_text_json(v, row, SIZE_MAX);
}

static json_t *value_present_json(const struct vector *v, size_t row,
				  size_t most)
{
	const uint8_t *at = v->data + row * v->width;
	int16_t i16;
	float f32;
	double f64;

	switch (v->kind) {
	case TYPE_BOOL:
		return json_boolean(*at);
	case TYPE_INT16:
		memcpy(&i16, at, sizeof(i16));
		return json_integer(i16);
	case TYPE_INT32:
		return json_integer(vector_i32(v, row));
	case TYPE_INT64:
		return value_integer_json(v, row, vector_i64(v, row));
	case TYPE_UINT64:
		return vector_i64(v, row) < 0
			       ? value_text_json(v, row, most)
			       : value_integer_json(v, row, vector_i64(v, row));
	case TYPE_FLOAT32:
		memcpy(&f32, at, sizeof(f32));
		return value_float_json(v, row, (double)f32);
	case TYPE_FLOAT64:
		memcpy(&f64, at, sizeof(f64));
		return value_float_json(v, row, f64);
	default:
		return value_text_json(v, row, most);
	}
}

static json_t *value_json(const struct vector *v, size_t row, size_t most)
{
	return vector_is_null(v, row) ? json_null()
				      : value_present_json(v, row, most);
}

json_t *value_key_json(const struct batch *b, size_t row)
{
	const struct schema *schema = b->schema;
	json_t *key = json_object();

	for (size_t i = 0; i < schema->n_key; i++) {
		size_t k = schema->key[i];
		json_object_set_new(key, schema->columns[k].name,
				    value_json(&b->vectors[k], row, SIZE_MAX));
	}
	return key;
}

json_t *value_row_json(const struct batch *b, size_t row, size_t most)
{
	json_t *json = json_object();

	for (size_t i = 0; i < b->schema->n_columns; i++)
		json_object_set_new(json, b->schema->columns[i].name,
				    value_json(&b->vectors[i], row, most));
	return json;
}

/* Cut between characters, control characters as \xNN: a key is the user's
 * data and may end up on a terminal. */
static void value_put_shown(struct strbuf *sb, const char *text, size_t n)
{
	size_t shown = value_cut(text, n, VALUE_KEY_SHOWN);

	for (size_t i = 0; i < shown; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c == 0x7f)
			strbuf_addf(sb, "\\x%02x", c);
		else
			strbuf_addch(sb, (char)c);
	}
	if (shown < n)
		strbuf_addstr(sb, "...");
}

void value_print_key(struct strbuf *sb, const struct batch *b, size_t row)
{
	const struct schema *schema = b->schema;
	struct strbuf text = STRBUF_INIT;

	if (!schema->n_key)
		strbuf_addstr(sb, "without a key");
	for (size_t i = 0; i < schema->n_key; i++) {
		const struct vector *v = &b->vectors[schema->key[i]];
		strbuf_reset(&text);
		if (vector_is_null(v, row))
			strbuf_addstr(&text, "NULL");
		else
			value_print(&text, v, row);
		strbuf_addstr(sb, i ? ", " : "");
		strbuf_addstr(sb, schema->columns[schema->key[i]].name);
		strbuf_addch(sb, '=');
		value_put_shown(sb, text.data, text.len);
	}
	strbuf_release(&text);
}

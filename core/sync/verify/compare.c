#include "core/sync/verify/compare.h"

#include <stdlib.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/canonical.h"
#include "core/data/value.h"

/* Types of one family compare with each other, and with text. */
enum compare_family {
	FAMILY_NUMBER,
	FAMILY_INSTANT,
	FAMILY_BYTES,
	FAMILY_OTHER
};

static enum compare_family compare_family_of(enum type_kind kind)
{
	switch (kind) {
	case TYPE_BOOL:
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
	case TYPE_FLOAT32:
	case TYPE_FLOAT64:
	case TYPE_DECIMAL:
		return FAMILY_NUMBER;
	case TYPE_DATE:
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return FAMILY_INSTANT;
	case TYPE_BYTES:
		return FAMILY_BYTES;
	default:
		return FAMILY_OTHER;
	}
}

static bool compare_is_text(enum type_kind kind)
{
	return kind == TYPE_TEXT || kind == TYPE_NATIVE;
}

static bool compare_is_integer(enum type_kind kind)
{
	return kind == TYPE_INT16 || kind == TYPE_INT32 || kind == TYPE_INT64 ||
	       kind == TYPE_UINT64;
}

static bool compare_is_float(enum type_kind kind)
{
	return kind == TYPE_FLOAT32 || kind == TYPE_FLOAT64;
}

/* MySQL's TIME is a span of time, others' a time of the day: the same text. */
static bool compare_is_span(enum type_kind kind)
{
	return kind == TYPE_TIME || kind == TYPE_INTERVAL;
}

/* char(5), character(5), bpchar: their values end where the spaces begin. */
static bool compare_is_padded(const struct type *t)
{
	static const char *const names[] = { "char", "character", "bpchar" };
	size_t n = t->native ? strcspn(t->native, "(") : 0;

	for (size_t i = 0; n && i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n &&
		    !strncasecmp(names[i], t->native, n))
			return true;
	return false;
}

static enum compare_form compare_texts(const struct type *a,
				       const struct type *b)
{
	if (a->kind == TYPE_JSON || b->kind == TYPE_JSON)
		return COMPARE_JSON;
	if (compare_is_padded(a) || compare_is_padded(b))
		return COMPARE_PADDED;
	return compare_is_text(a->kind) && compare_is_text(b->kind)
		       ? COMPARE_SAME
		       : COMPARE_TEXT;
}

static enum compare_form compare_in_family(enum compare_family family,
					   bool same)
{
	if (same || family == FAMILY_BYTES)
		return COMPARE_SAME;
	if (family == FAMILY_NUMBER)
		return COMPARE_NUMBER;
	return family == FAMILY_INSTANT ? COMPARE_INSTANT : COMPARE_NONE;
}

enum compare_form compare_form_of(const struct type *a, const struct type *b)
{
	enum compare_family left = compare_family_of(a->kind);
	enum compare_family right = compare_family_of(b->kind);
	bool same =
		a->kind == b->kind ||
		(compare_is_integer(a->kind) && compare_is_integer(b->kind)) ||
		(compare_is_float(a->kind) && compare_is_float(b->kind));

	if (left == FAMILY_OTHER && right == FAMILY_OTHER &&
	    (compare_is_text(a->kind) || compare_is_text(b->kind)))
		return compare_texts(a, b);
	if (compare_is_span(a->kind) && compare_is_span(b->kind))
		return same ? COMPARE_SAME : COMPARE_TEXT;
	if (left == right)
		return compare_in_family(left, same);
	if (left == FAMILY_BYTES || right == FAMILY_BYTES ||
	    (!compare_is_text(a->kind) && !compare_is_text(b->kind)))
		return COMPARE_NONE;
	return compare_in_family(left == FAMILY_OTHER ? right : left, false);
}

static const char *compare_type_name(const struct type *t)
{
	return t->native && *t->native ? t->native : type_kind_name(t->kind);
}

static int compare_add(struct compare *c, const struct schema *source,
		       size_t column, const struct schema *destination,
		       struct error *err)
{
	const struct column *from = &source->columns[column], *to;
	struct compare_column *out = &c->columns[c->n];
	long at = schema_find_folded(destination, from->name);

	if (at < 0)
		return error_set(
			err, ERROR_SCHEMA,
			"table %s of the destination has no column "
			"\"%s\", which the source %s has: tidemark run "
			"adds it; verify again after that",
			destination->table, from->name, source->table);
	to = &destination->columns[at];
	out->form = compare_form_of(&from->type, &to->type);
	if (out->form == COMPARE_NONE)
		return error_set(err, ERROR_SCHEMA,
				 "column \"%s\": %s at the source (%s) and %s "
				 "at the destination (%s) cannot be compared; "
				 "leave it out with source.columns, or give "
				 "the destination a type that holds it",
				 from->name, compare_type_name(&from->type),
				 source->table, compare_type_name(&to->type),
				 destination->table);
	out->at[COMPARE_SOURCE] = column;
	out->at[COMPARE_DESTINATION] = (size_t)at;
	out->kind[COMPARE_SOURCE] = from->type.kind;
	out->kind[COMPARE_DESTINATION] = to->type.kind;
	c->n++;
	return 0;
}

int compare_match(struct compare *out, const struct schema *source,
		  const struct schema *destination, struct error *err)
{
	int rc = 0;

	memset(out, 0, sizeof(*out));
	out->keyless = !source->n_key;
	out->columns = xcalloc(source->n_columns, sizeof(*out->columns));
	for (size_t i = 0; !rc && i < source->n_key; i++)
		rc = compare_add(out, source, source->key[i], destination, err);
	out->n_key = out->n;
	for (size_t i = 0; !rc && i < source->n_columns; i++)
		if (!schema_is_key(source, i))
			rc = compare_add(out, source, i, destination, err);
	if (out->keyless)
		out->n_key = out->n;
	return rc;
}

void compare_release(struct compare *c)
{
	free(c->columns);
	memset(c, 0, sizeof(*c));
}

/* The µs of a value that is an instant, or stands for one. False on any
 * other text, and on a day that µs do not reach: only its text tells such
 * days apart. */
static bool compare_instant(const struct vector *v, size_t row, int64_t *us)
{
	struct strbuf text = STRBUF_INIT;
	bool known;

	if (v->kind == TYPE_TIMESTAMP || v->kind == TYPE_TIMESTAMPTZ) {
		*us = vector_i64(v, row);
		return true;
	}
	value_print(&text, v, row);
	known = value_parse_instant(text.data, us);
	if (known && (*us == INT64_MAX || *us == INT64_MIN))
		known = strstr(text.data, "infinity") != NULL;
	strbuf_release(&text);
	return known;
}

static void compare_put_text(struct strbuf *sb, const struct vector *v,
			     size_t row, enum compare_form form)
{
	size_t start = sb->len, n;
	int64_t us;

	if (form == COMPARE_INSTANT && compare_instant(v, row, &us)) {
		strbuf_add(sb, &us, sizeof(us));
		return;
	}
	if (v->kind == TYPE_BOOL) {
		strbuf_addch(sb, v->data[row] ? '1' : '0');
	} else if (form == COMPARE_JSON || form == COMPARE_NUMBER) {
		struct strbuf text = STRBUF_INIT;

		value_print(&text, v, row);
		if (form == COMPARE_JSON)
			canonical_json(sb, text.data, text.len);
		else
			canonical_number(sb, text.data, text.len);
		strbuf_release(&text);
	} else {
		value_print(sb, v, row);
	}
	for (n = sb->len;
	     form == COMPARE_PADDED && n > start && sb->data[n - 1] == ' ';)
		n--;
	sb->len = n;
	sb->data[n] = '\0';
}

/* Put the value of a column whose class differs between the sides. */
static void compare_put(const struct compare_column *column,
			const struct vector *v, size_t i,
			struct digest_rows *slots)
{
	uint8_t class = (uint8_t)(DIGEST_CLASS_FREE + column->form);
	struct strbuf text = STRBUF_INIT;

	for (size_t k = 0; k < slots->n; k++) {
		if (vector_is_null(v, slots->rows[k])) {
			digest_rows_put_null(slots, i, k);
			continue;
		}
		strbuf_reset(&text);
		compare_put_text(&text, v, slots->rows[k], column->form);
		digest_rows_put_bytes(slots, i, k, class, text.data, text.len);
	}
	strbuf_release(&text);
}

static struct compare_hash compare_hash_of(const struct digest_rows *slots,
					   size_t row, size_t n)
{
	struct digest one = digest_rows_hash(slots, row, n);

	return (struct compare_hash){ one.low, one.high };
}

void compare_rows(const struct compare *c, enum compare_side side,
		  const struct batch *b, const size_t *rows, size_t n,
		  struct digest_rows *slots, struct compare_hash *keys,
		  struct compare_hash *all)
{
	digest_rows_begin(slots, c->n, rows, n);
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_column *column = &c->columns[i];
		const struct vector *v = &b->vectors[column->at[side]];

		if (column->form == COMPARE_SAME)
			digest_rows_put(slots, i, v);
		else
			compare_put(column, v, i, slots);
	}
	for (size_t k = 0; k < n; k++) {
		keys[k] = compare_hash_of(slots, k, c->n_key);
		all[k] = compare_hash_of(slots, k, c->n);
	}
}

/* As the finder's type writes it: SQLite keeps instants with "+00:00". */
static void compare_print_instant(const struct vector *v, size_t row,
				  enum type_kind kind, struct strbuf *out)
{
	bool zone = kind == TYPE_TIMESTAMPTZ ||
		    (compare_is_text(kind) && v->kind == TYPE_TIMESTAMPTZ);
	int64_t us;

	if (!compare_instant(v, row, &us)) {
		value_print(out, v, row);
	} else if (kind == TYPE_DATE || v->kind == TYPE_DATE) {
		value_print_date(out, (int32_t)(us / INT64_C(86400000000)));
	} else {
		value_print_timestamp(out, us, zone);
		if (zone && compare_is_text(kind) && us != INT64_MAX &&
		    us != INT64_MIN)
			strbuf_addstr(out, ":00");
	}
}

void compare_key_text(const struct compare *c, enum compare_side side,
		      const struct batch *b, size_t row, size_t i,
		      enum compare_side finder, struct strbuf *out)
{
	const struct compare_column *column = &c->columns[i];
	const struct vector *v = &b->vectors[column->at[side]];
	enum type_kind kind = column->kind[finder];
	bool same = side == finder || v->kind == kind;

	if (vector_is_null(v, row))
		return;
	if (!same && column->form == COMPARE_INSTANT) {
		compare_print_instant(v, row, kind, out);
	} else if (!same && v->kind == TYPE_BOOL) {
		strbuf_addch(out, v->data[row] ? '1' : '0');
	} else if (!same && kind == TYPE_BOOL) {
		struct strbuf text = STRBUF_INIT;

		value_print(&text, v, row);
		strbuf_addstr(out,
			      strcmp(text.data, "0") != 0 ? "true" : "false");
		strbuf_release(&text);
	} else {
		value_print(out, v, row);
	}
}

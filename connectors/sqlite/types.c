#include "connectors/sqlite/types.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/sqlite/decode.h"
#include "core/base/alloc.h"

static const struct sqlite_source_type type_integer = {
	TYPE_INT64, sqlite_source_decode_integer, false, true
};
static const struct sqlite_source_type type_text = { TYPE_TEXT,
						     sqlite_source_decode_text,
						     false, true };
static const struct sqlite_source_type type_blob = { TYPE_BYTES,
						     sqlite_source_decode_blob,
						     false, true };
static const struct sqlite_source_type type_real = { TYPE_FLOAT64,
						     sqlite_source_decode_real,
						     false, true };
static const struct sqlite_source_type type_decimal = {
	TYPE_DECIMAL, sqlite_source_decode_decimal, false, true
};
/* 5 and '5' are two values, and one text. */
static const struct sqlite_source_type type_any = { TYPE_TEXT,
						    sqlite_source_decode_any,
						    false, false };

/* Type names that say more than their affinity does, without the part in
 * parentheses. */
static const struct {
	const char *name;
	struct sqlite_source_type type;
} type_names[] = {
	{ "BOOLEAN", { TYPE_BOOL, sqlite_source_decode_bool, false, true } },
	{ "BOOL", { TYPE_BOOL, sqlite_source_decode_bool, false, true } },
	{ "DATE", { TYPE_DATE, sqlite_source_decode_date, true, true } },
	{ "DATETIME",
	  { TYPE_TIMESTAMP, sqlite_source_decode_timestamp, true, true } },
	{ "TIMESTAMP",
	  { TYPE_TIMESTAMP, sqlite_source_decode_timestamp, true, true } },
	{ "TIMESTAMPTZ",
	  { TYPE_TIMESTAMPTZ, sqlite_source_decode_timestamp, true, true } },
	{ "TIMESTAMP WITH TIME ZONE",
	  { TYPE_TIMESTAMPTZ, sqlite_source_decode_timestamp, true, true } },
	{ "TIME", { TYPE_TIME, sqlite_source_decode_time, true, true } },
	{ "UUID", { TYPE_UUID, sqlite_source_decode_uuid, true, true } },
	{ "JSON", { TYPE_JSON, sqlite_source_decode_json, false, false } },
};

/* sqlite.org/datatype3.html, section 3.1: the first rule that matches. */
static const struct sqlite_source_type *type_by_affinity(const char *declared)
{
	if (strcasestr(declared, "INT"))
		return &type_integer;
	if (strcasestr(declared, "CHAR") || strcasestr(declared, "CLOB") ||
	    strcasestr(declared, "TEXT"))
		return &type_text;
	if (strcasestr(declared, "BLOB"))
		return &type_blob;
	if (!*declared || !strcasecmp(declared, "ANY"))
		return &type_any;
	if (strcasestr(declared, "REAL") || strcasestr(declared, "FLOA") ||
	    strcasestr(declared, "DOUB"))
		return &type_real;
	return &type_decimal;
}

/* "(10, 2)" of a DECIMAL. */
static void type_read_digits(const char *declared, struct type *out)
{
	const char *open = strchr(declared, '(');
	char *end;
	long precision, scale = 0;

	if (!open)
		return;
	precision = strtol(open + 1, &end, 10);
	if (*end == ',')
		scale = strtol(end + 1, NULL, 10);
	if (precision < 1 || precision > 1000 || scale < 0 || scale > precision)
		return;
	out->precision = (int)precision;
	out->scale = (int)scale;
}

const struct sqlite_source_type *sqlite_source_type_of(const char *declared,
						       struct type *out)
{
	const struct sqlite_source_type *found = NULL;
	size_t n;

	declared = declared ? declared : "";
	n = strcspn(declared, "(");
	while (n && declared[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(type_names); i++) {
		if (strlen(type_names[i].name) == n &&
		    !strncasecmp(type_names[i].name, declared, n))
			found = &type_names[i].type;
	}
	if (!found)
		found = type_by_affinity(declared);
	*out = (struct type){ .kind = found->kind,
			      .native = xstrdup(declared) };
	if (found->kind == TYPE_DECIMAL)
		type_read_digits(declared, out);
	if (found->kind == TYPE_TIMESTAMP || found->kind == TYPE_TIMESTAMPTZ ||
	    found->kind == TYPE_TIME)
		out->digits = 6;
	return found;
}

static int type_hex(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static void type_bind_bytes(struct sqlite_statement *st, int at,
			    const char *text)
{
	struct strbuf bytes = STRBUF_INIT;

	for (const char *p = text; p[0] && p[1]; p += 2)
		strbuf_addch(&bytes,
			     (char)(type_hex(p[0]) << 4 | type_hex(p[1])));
	sqlite_bind_copy(st, at, false, bytes.data, bytes.len);
	strbuf_release(&bytes);
}

/* Columns of numbers would turn a text into the number themselves, but SQLite's
 * own reading of fractions is not exact to the last bit. */
static void type_bind_number(struct sqlite_statement *st, int at,
			     const char *text)
{
	size_t digits = strspn(text + (*text == '-'), "0123456789");
	bool whole = digits && digits < 19 && !text[digits + (*text == '-')];

	if (whole)
		sqlite_bind_i64(st, at, strtoll(text, NULL, 10));
	else if (strlen(text) <= 18 && strcmp(text, "NaN") != 0)
		sqlite_bind_f64(st, at, strtod(text, NULL));
	else
		sqlite_bind_copy(st, at, true, text, strlen(text));
}

void sqlite_source_bind(struct sqlite_statement *st, int at,
			enum type_kind kind, const char *text)
{
	switch (kind) {
	case TYPE_INT64:
		sqlite_bind_i64(st, at, strtoll(text, NULL, 10));
		break;
	case TYPE_BOOL:
		sqlite_bind_i64(st, at, *text == 't');
		break;
	case TYPE_FLOAT64:
		if (!strcmp(text, "NaN"))
			sqlite_bind_copy(st, at, true, text, strlen(text));
		else
			sqlite_bind_f64(st, at, strtod(text, NULL));
		break;
	case TYPE_DECIMAL:
		type_bind_number(st, at, text);
		break;
	case TYPE_BYTES:
	case TYPE_UUID:
		if (!strncmp(text, "\\x", 2)) {
			type_bind_bytes(st, at, text + 2);
			break;
		}
		/* fall through */
	default:
		sqlite_bind_copy(st, at, true, text, strlen(text));
	}
}

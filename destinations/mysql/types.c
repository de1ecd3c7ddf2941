#include "destinations/mysql/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

#define LONG_BYTES    INT64_C(4294967295)
#define VARCHAR_MOST  16383 /* characters of utf8mb4 */
#define CHAR_BYTES    4 /* utf8mb4 */
#define DECIMAL_MOST  65
#define SCALE_MOST    30
#define BITS_MOST     64
#define TIME_KEPT     100 /* characters of an interval */
#define UUID_KEPT     36
#define UUID_SINCE    100700
#define INET6_SINCE   100500
#define INET4_SINCE   101000
#define KEY_TEXT_MOST 700 /* characters of a text key without a bound */
/* Part of a row's 65535 bytes, for text columns that are no key. */
#define ROW_BYTES 40000

void mysql_target_type_release(struct mysql_target_type *t)
{
	free(t->name);
	t->name = NULL;
}

struct base_name {
	const char *name;
	enum mysql_target_base base;
	int width; /* bytes of integers and INET */
};

static const struct base_name base_names[] = {
	{ "tinyint", MYSQL_TARGET_INT, 1 },
	{ "smallint", MYSQL_TARGET_INT, 2 },
	{ "mediumint", MYSQL_TARGET_INT, 3 },
	{ "int", MYSQL_TARGET_INT, 4 },
	{ "bigint", MYSQL_TARGET_INT, 8 },
	{ "decimal", MYSQL_TARGET_DECIMAL, 0 },
	{ "float", MYSQL_TARGET_FLOAT, 0 },
	{ "double", MYSQL_TARGET_DOUBLE, 0 },
	{ "bit", MYSQL_TARGET_BIT, 0 },
	{ "year", MYSQL_TARGET_YEAR, 0 },
	{ "char", MYSQL_TARGET_CHAR, 0 },
	{ "varchar", MYSQL_TARGET_VARCHAR, 0 },
	{ "tinytext", MYSQL_TARGET_TEXT, 0 },
	{ "text", MYSQL_TARGET_TEXT, 0 },
	{ "mediumtext", MYSQL_TARGET_TEXT, 0 },
	{ "longtext", MYSQL_TARGET_TEXT, 0 },
	{ "enum", MYSQL_TARGET_ENUM, 0 },
	{ "set", MYSQL_TARGET_ENUM, 0 },
	{ "binary", MYSQL_TARGET_BINARY, 0 },
	{ "varbinary", MYSQL_TARGET_VARBINARY, 0 },
	{ "tinyblob", MYSQL_TARGET_BLOB, 0 },
	{ "blob", MYSQL_TARGET_BLOB, 0 },
	{ "mediumblob", MYSQL_TARGET_BLOB, 0 },
	{ "longblob", MYSQL_TARGET_BLOB, 0 },
	{ "date", MYSQL_TARGET_DATE, 0 },
	{ "datetime", MYSQL_TARGET_DATETIME, 0 },
	{ "timestamp", MYSQL_TARGET_TIMESTAMP, 0 },
	{ "time", MYSQL_TARGET_TIME, 0 },
	{ "json", MYSQL_TARGET_JSON, 0 },
	{ "uuid", MYSQL_TARGET_UUID, 0 },
	{ "inet4", MYSQL_TARGET_INET, 4 },
	{ "inet6", MYSQL_TARGET_INET, 6 },
};

static const struct base_name *base_find(const char *data_type, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(base_names); i++)
		if (strlen(base_names[i].name) == n &&
		    !strncasecmp(base_names[i].name, data_type, n))
			return &base_names[i];
	return NULL;
}

void mysql_target_type_read(struct mysql_target_type *out,
			    const char *data_type, const char *column_type,
			    int64_t characters, int64_t precision,
			    int64_t scale, int64_t digits)
{
	const struct base_name *b = base_find(data_type, strlen(data_type));

	*out = (struct mysql_target_type){
		.name = xstrdup(column_type),
		.base = b ? b->base : MYSQL_TARGET_OTHER,
		.width = b ? b->width : 0,
		.is_unsigned = strstr(column_type, " unsigned") != NULL,
		.length = characters >= 0 ? characters : precision,
		.scale = (int)(digits >= 0 ? digits : scale),
	};
}

/* ---- what a new column gets */

static void wanted_set(struct mysql_target_type *out,
		       enum mysql_target_base base, int64_t length, int scale,
		       char *name)
{
	*out = (struct mysql_target_type){ .base = base };
	out->name = name;
	out->length = length;
	out->scale = scale;
}

static void wanted_integer(struct mysql_target_type *out, const char *name,
			   int width, bool is_unsigned)
{
	wanted_set(out, MYSQL_TARGET_INT, 0, 0, xstrdup(name));
	out->width = width;
	out->is_unsigned = is_unsigned;
}

static void wanted_long(struct mysql_target_type *out, bool bytes)
{
	wanted_set(out, bytes ? MYSQL_TARGET_BLOB : MYSQL_TARGET_TEXT,
		   LONG_BYTES, 0, xstrdup(bytes ? "longblob" : "longtext"));
}

static void wanted_varchar(struct mysql_target_type *out, int64_t length)
{
	wanted_set(out, MYSQL_TARGET_VARCHAR, length, 0,
		   xstrfmt("varchar(%d)", (int)length));
}

/* "datetime", "datetime(3)". */
static void wanted_clock(struct mysql_target_type *out,
			 enum mysql_target_base base, const char *name,
			 int digits)
{
	wanted_set(out, base, 0, digits,
		   digits ? xstrfmt("%s(%d)", name, digits) : xstrdup(name));
}

/* Scales below 0 and above the precision are PostgreSQL's. */
static enum mapping wanted_decimal(struct mysql_target_type *out,
				   const struct type *t)
{
	int precision = t->precision, scale = t->scale;

	if (scale < 0) {
		precision -= scale;
		scale = 0;
	}
	if (scale > precision)
		precision = scale;
	if (t->precision <= 0 || precision > DECIMAL_MOST ||
	    scale > SCALE_MOST) {
		wanted_long(out, false);
		return MAPPING_WIDENED;
	}
	wanted_set(out, MYSQL_TARGET_DECIMAL, precision, scale,
		   xstrfmt("decimal(%d,%d)", precision, scale));
	return MAPPING_EXACT;
}

static enum mapping wanted_text(struct mysql_target_type *out,
				const struct type *t)
{
	if (t->precision > 0 && t->precision <= VARCHAR_MOST)
		wanted_varchar(out, t->precision);
	else
		wanted_long(out, false);
	return MAPPING_EXACT;
}

static enum mapping wanted_bytes(struct mysql_target_type *out,
				 const struct type *t)
{
	if (t->precision > 0 && t->precision <= VARCHAR_MOST)
		wanted_set(out, MYSQL_TARGET_VARBINARY, t->precision, 0,
			   xstrfmt("varbinary(%d)", t->precision));
	else
		wanted_long(out, true);
	return MAPPING_EXACT;
}

/* MariaDB's UUID refuses some of the versions and variants that others keep: it
 * holds what was one there. */
static enum mapping wanted_uuid(struct mysql_target_type *out,
				const struct mysql_target_dialect *d,
				const char *native)
{
	if (d->mariadb && d->version >= UUID_SINCE && native &&
	    !strcmp(native, "uuid")) {
		wanted_set(out, MYSQL_TARGET_UUID, 0, 0, xstrdup("uuid"));
		return MAPPING_EXACT;
	}
	wanted_set(out, MYSQL_TARGET_CHAR, UUID_KEPT, 0, xstrdup("char(36)"));
	return MAPPING_WIDENED;
}

/* MySQL's JSON takes large numbers for doubles and sorts members: it holds what
 * was JSON there, and no other's. MariaDB's is text with a check. */
static enum mapping wanted_json(struct mysql_target_type *out,
				const struct mysql_target_dialect *d,
				const char *native)
{
	if (d->mariadb || (native && !strcmp(native, "json"))) {
		wanted_set(out, MYSQL_TARGET_JSON, LONG_BYTES, 0,
			   xstrdup("json"));
		return MAPPING_EXACT;
	}
	wanted_long(out, false);
	return MAPPING_WIDENED;
}

static enum mapping wanted_by_kind(struct mysql_target_type *out,
				   const struct type *t,
				   const struct mysql_target_dialect *d,
				   const char *native)
{
	switch (t->kind) {
	case TYPE_BOOL:
		wanted_integer(out, "tinyint(1)", 1, false);
		return MAPPING_EXACT;
	case TYPE_INT16:
		wanted_integer(out, "smallint", 2, false);
		return MAPPING_EXACT;
	case TYPE_INT32:
		wanted_integer(out, "int", 4, false);
		return MAPPING_EXACT;
	case TYPE_INT64:
		wanted_integer(out, "bigint", 8, false);
		return MAPPING_EXACT;
	case TYPE_UINT64:
		wanted_integer(out, "bigint unsigned", 8, true);
		return MAPPING_EXACT;
	case TYPE_FLOAT32:
		wanted_set(out, MYSQL_TARGET_FLOAT, 0, 0, xstrdup("float"));
		return MAPPING_EXACT;
	case TYPE_FLOAT64:
		wanted_set(out, MYSQL_TARGET_DOUBLE, 0, 0, xstrdup("double"));
		return MAPPING_EXACT;
	case TYPE_DECIMAL:
		return wanted_decimal(out, t);
	case TYPE_TEXT:
		return wanted_text(out, t);
	case TYPE_BYTES:
		return wanted_bytes(out, t);
	case TYPE_DATE:
		wanted_set(out, MYSQL_TARGET_DATE, 0, 0, xstrdup("date"));
		return MAPPING_EXACT;
	case TYPE_TIME:
		wanted_clock(out, MYSQL_TARGET_TIME, "time", t->digits);
		return MAPPING_EXACT;
	case TYPE_TIMESTAMP:
		wanted_clock(out, MYSQL_TARGET_DATETIME, "datetime", t->digits);
		return MAPPING_EXACT;
	case TYPE_TIMESTAMPTZ:
		/* In UTC: TIMESTAMP ends in 2038. */
		wanted_clock(out, MYSQL_TARGET_DATETIME, "datetime", t->digits);
		return MAPPING_WIDENED;
	case TYPE_INTERVAL:
		wanted_varchar(out, TIME_KEPT);
		return MAPPING_WIDENED;
	case TYPE_UUID:
		return wanted_uuid(out, d, native);
	case TYPE_JSON:
		return wanted_json(out, d, native);
	default:
		wanted_long(out, false);
		return MAPPING_WIDENED;
	}
}

/* "3" of "time(3)". */
static int native_number(const char *native)
{
	const char *paren = strchr(native, '(');

	return paren ? (int)strtol(paren + 1, NULL, 10) : 0;
}

static bool native_bits(struct mysql_target_type *out, int bits)
{
	if (bits < 1 || bits > BITS_MOST)
		return false;
	wanted_set(out, MYSQL_TARGET_BIT, bits, 0, xstrfmt("bit(%d)", bits));
	return true;
}

static bool native_inet(struct mysql_target_type *out,
			const struct mysql_target_dialect *d,
			const struct base_name *b)
{
	unsigned long since = b->width == 4 ? INET4_SINCE : INET6_SINCE;

	if (!d->mariadb || d->version < since)
		return false;
	wanted_set(out, MYSQL_TARGET_INET, 0, 0, xstrdup(b->name));
	out->width = b->width;
	return true;
}

/* The labels' own text is longer than any of them. */
static enum mapping native_label(struct mysql_target_type *out,
				 const char *native)
{
	size_t n = strlen(native);

	if (n > VARCHAR_MOST)
		wanted_long(out, false);
	else
		wanted_varchar(out, (int64_t)n);
	return MAPPING_WIDENED;
}

/* The type of the same name, where the source is MySQL or MariaDB and the
 * value that travels has kept all of it. */
static bool wanted_native(struct mysql_target_type *out, const struct type *t,
			  const struct mysql_target_dialect *d,
			  enum mapping *mapping)
{
	const char *native = t->native ? t->native : "";
	size_t n = strcspn(native, "( ");
	const struct base_name *b = base_find(native, n);
	bool is_unsigned = strstr(native, " unsigned") != NULL;

	*mapping = MAPPING_EXACT;
	switch (b ? b->base : MYSQL_TARGET_OTHER) {
	case MYSQL_TARGET_INT:
		wanted_integer(out, b->name, b->width, is_unsigned);
		if (is_unsigned) {
			free(out->name);
			out->name = xstrfmt("%s unsigned", b->name);
		}
		return true;
	case MYSQL_TARGET_BIT:
		return native_bits(out, native_number(native));
	case MYSQL_TARGET_YEAR:
		wanted_set(out, MYSQL_TARGET_YEAR, 0, 0, xstrdup("year"));
		return true;
	case MYSQL_TARGET_CHAR:
	case MYSQL_TARGET_BINARY:
		wanted_set(out, b->base, t->precision, 0,
			   xstrfmt("%s(%d)", b->name, t->precision));
		return t->precision > 0;
	case MYSQL_TARGET_TIMESTAMP:
		wanted_clock(out, MYSQL_TARGET_TIMESTAMP, "timestamp",
			     t->digits);
		return true;
	case MYSQL_TARGET_TIME:
		wanted_clock(out, MYSQL_TARGET_TIME, "time",
			     native_number(native));
		return true;
	case MYSQL_TARGET_ENUM:
		*mapping = native_label(out, native);
		return true;
	case MYSQL_TARGET_INET:
		return native_inet(out, d, b);
	default:
		return false;
	}
}

static int64_t key_bytes(const struct mysql_target_type *t)
{
	switch (t->base) {
	case MYSQL_TARGET_CHAR:
	case MYSQL_TARGET_VARCHAR:
		return t->length * CHAR_BYTES;
	case MYSQL_TARGET_BINARY:
	case MYSQL_TARGET_VARBINARY:
		return t->length;
	case MYSQL_TARGET_DECIMAL:
		return t->length / 2 + 2;
	case MYSQL_TARGET_UUID:
	case MYSQL_TARGET_INET:
		return 16;
	default:
		return 8;
	}
}

static bool key_is_open(const struct mysql_target_type *t)
{
	return t->base == MYSQL_TARGET_TEXT || t->base == MYSQL_TARGET_BLOB ||
	       t->base == MYSQL_TARGET_JSON;
}

/* A part without a bound gets an equal share of what the others leave. */
static bool wanted_keys(const struct schema *s, struct mysql_target_type *types)
{
	int64_t left = MYSQL_TARGET_KEY_BYTES, share;
	size_t open = 0;

	for (size_t i = 0; i < s->n_key; i++) {
		const struct mysql_target_type *t = &types[s->key[i]];

		if (key_is_open(t))
			open++;
		else
			left -= key_bytes(t);
	}
	share = open ? left / (int64_t)open : 0;
	for (size_t i = 0; left >= 0 && i < s->n_key; i++) {
		struct mysql_target_type *t = &types[s->key[i]];
		bool blob = t->base == MYSQL_TARGET_BLOB;
		int64_t n = share / (blob ? 1 : CHAR_BYTES);

		if (!key_is_open(t))
			continue;
		n = n > KEY_TEXT_MOST ? KEY_TEXT_MOST : n;
		free(t->name);
		if (blob)
			wanted_set(t, MYSQL_TARGET_VARBINARY, n, 0,
				   xstrfmt("varbinary(%d)", (int)n));
		else
			wanted_varchar(t, n);
		if (n < 1)
			return false;
	}
	return left >= 0;
}

/* A row takes 65535 bytes; long texts are kept beside it. */
static void wanted_room(const struct schema *s, struct mysql_target_type *types)
{
	int64_t left = ROW_BYTES;

	for (size_t i = 0; i < s->n_columns; i++) {
		struct mysql_target_type *t = &types[i];
		bool bytes = t->base == MYSQL_TARGET_VARBINARY;
		int64_t n = key_bytes(t) + 2;

		if (schema_is_key(s, i) ||
		    (t->base != MYSQL_TARGET_VARCHAR && !bytes))
			continue;
		if (n > left) {
			free(t->name);
			wanted_long(t, bytes);
		} else {
			left -= n;
		}
	}
}

bool mysql_target_types_wanted(const struct schema *s,
			       const struct mysql_target_dialect *dialect,
			       struct mysql_target_type *types,
			       enum mapping *mappings)
{
	bool ours = s->engine && !strcmp(s->engine, "mysql");

	for (size_t i = 0; i < s->n_columns; i++) {
		const struct type *t = &s->columns[i].type;

		types[i] = (struct mysql_target_type){ .name = NULL };
		if (ours && wanted_native(&types[i], t, dialect, &mappings[i]))
			continue;
		mysql_target_type_release(&types[i]);
		mappings[i] = wanted_by_kind(&types[i], t, dialect,
					     ours ? t->native : NULL);
		if (ours && t->kind == TYPE_BYTES && !t->precision &&
		    !strstr(t->native ? t->native : "", "blob"))
			mappings[i] = MAPPING_WIDENED; /* a geometry's WKB */
	}
	wanted_room(s, types);
	return wanted_keys(s, types);
}

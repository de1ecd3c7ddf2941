/*
 * MySQL's and MariaDB's types as a destination sees them: which one a source
 * column gets, whether an existing column holds it, and in which text form its
 * values travel.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_TYPES_H
#define TIDEMARK_DESTINATIONS_MYSQL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/schema.h"
#include "core/plugin/destination.h"
#include "destinations/common/drift.h"

enum my_base {
	MY_OTHER, /* geometry, and what nobody here knows */
	MY_INT,
	MY_DECIMAL,
	MY_FLOAT,
	MY_DOUBLE,
	MY_BIT,
	MY_YEAR,
	MY_CHAR,
	MY_VARCHAR,
	MY_TEXT, /* of any size */
	MY_ENUM, /* or SET */
	MY_BINARY,
	MY_VARBINARY,
	MY_BLOB, /* of any size */
	MY_DATE,
	MY_DATETIME,
	MY_TIMESTAMP,
	MY_TIME,
	MY_JSON,
	MY_UUID,
	MY_INET, /* inet4 or inet6 */
};

struct my_type {
	char *name; /* as DDL writes it: "bigint unsigned" */
	enum my_base base;
	bool is_unsigned;
	int width; /* MY_INT: bytes; INET: 4 or 6 */
	/* CHAR, VARCHAR: characters; TEXT and binary ones: bytes; DECIMAL:
	 * digits; BIT: bits. */
	int64_t length;
	int scale; /* DECIMAL; digits of a fraction of a second */
};
void my_type_release(struct my_type *t);

/* What the server can do. */
struct my_dialect {
	bool mariadb;
	unsigned long version;
	const char *collation; /* of utf8mb4: by bytes, blanks count */
};

/* InnoDB takes this much of a key, DYNAMIC row format. */
#define MY_KEY_BYTES 3072

/* The types that the columns of a new table get; `types` and `mappings` have
 * room for s->n_columns. A key text without a bound gets what the index takes;
 * false: the key's declared bounds are beyond that. */
bool my_types_wanted(const struct schema *s, const struct my_dialect *dialect,
		     struct my_type *types, enum mapping *mappings);
/* From the catalog's words; -1: NULL there. */
void my_type_read(struct my_type *out, const char *data_type,
		  const char *column_type, int64_t characters,
		  int64_t precision, int64_t scale, int64_t digits);

/* Does `actual` hold every value of `wanted`? For FIT_GROWS `grown` is what to
 * alter it to (caller frees), else NULL. */
enum fit my_type_fit(const struct my_type *wanted, const struct my_type *actual,
		     char **grown);

bool my_type_is_text(enum my_base base); /* character data of any kind */

/* Stored marks are in the source's order: not numbers kept as text. */
bool my_type_keeps_order(enum type_kind kind, const struct my_type *actual);

/* How a value is written. */
enum my_form {
	FORM_BYTES, /* as they are: text and bytes */
	FORM_JSON, /* the same, into MySQL's own JSON */
	FORM_PRINTED, /* value_print */
	FORM_INTEGER, /* digits; a bool is 0 or 1 */
	FORM_FLOAT, /* no NaN, no infinity */
	FORM_DECIMAL, /* the same */
	FORM_DATE, /* years 1 to 9999 */
	FORM_INSTANT, /* the same, with a time */
	FORM_CLOCK, /* an interval without days as a TIME */
};
enum my_form my_type_form(enum type_kind kind, const struct my_type *actual);
/* The SQL of a `value` that LOAD DATA has in a variable, or INSERT in a "?":
 * the value alone if it is understood as it is. */
bool my_type_needs_cast(const struct my_type *actual, const char *charset);
void my_type_cast(struct strbuf *sb, const struct my_type *actual,
		  const char *charset, const char *value);

#endif

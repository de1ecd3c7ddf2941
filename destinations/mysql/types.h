/*
 * MySQL's and MariaDB's types for a destination: the type that a source column
 * gets, and whether an existing column holds it. Also the text form in which
 * its values travel.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_TYPES_H
#define TIDEMARK_DESTINATIONS_MYSQL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/schema.h"
#include "core/plugin/destination.h"
#include "destinations/common/drift.h"

enum mysql_target_base {
	MYSQL_TARGET_OTHER, /* geometry, and what nobody here knows */
	MYSQL_TARGET_INT,
	MYSQL_TARGET_DECIMAL,
	MYSQL_TARGET_FLOAT,
	MYSQL_TARGET_DOUBLE,
	MYSQL_TARGET_BIT,
	MYSQL_TARGET_YEAR,
	MYSQL_TARGET_CHAR,
	MYSQL_TARGET_VARCHAR,
	MYSQL_TARGET_TEXT, /* any size */
	MYSQL_TARGET_ENUM, /* or SET */
	MYSQL_TARGET_BINARY,
	MYSQL_TARGET_VARBINARY,
	MYSQL_TARGET_BLOB, /* any size */
	MYSQL_TARGET_DATE,
	MYSQL_TARGET_DATETIME,
	MYSQL_TARGET_TIMESTAMP,
	MYSQL_TARGET_TIME,
	MYSQL_TARGET_JSON,
	MYSQL_TARGET_UUID,
	MYSQL_TARGET_INET, /* inet4 or inet6 */
};

struct mysql_target_type {
	char *name; /* as DDL writes it: "bigint unsigned" */
	enum mysql_target_base base;
	bool is_unsigned;
	int width; /* MYSQL_TARGET_INT: bytes; INET: 4 or 6 */
	/* CHAR, VARCHAR: characters; TEXT and binary ones: bytes; DECIMAL:
	 * digits; BIT: bits. */
	int64_t length;
	int scale; /* DECIMAL; digits of a fraction of a second */
};
void mysql_target_type_release(struct mysql_target_type *t);

/* The server's abilities. */
struct mysql_target_dialect {
	bool mariadb;
	unsigned long version;
	const char *collation; /* for utf8mb4: by bytes, blanks count */
};

/* InnoDB takes this much of a key, DYNAMIC row format. */
#define MYSQL_TARGET_KEY_BYTES 3072

/* The types that the columns of a new table get; `types` and `mappings` have
 * room for s->n_columns. A key text without a bound gets what the index takes;
 * false: the key's declared bounds are beyond that. */
bool mysql_target_types_wanted(const struct schema *s,
			       const struct mysql_target_dialect *dialect,
			       struct mysql_target_type *types,
			       enum mapping *mappings);
/* From the catalog's words; -1: NULL there. */
void mysql_target_type_read(struct mysql_target_type *out,
			    const char *data_type, const char *column_type,
			    int64_t characters, int64_t precision,
			    int64_t scale, int64_t digits);

/* Does `actual` hold every value of `wanted`? For FIT_GROWS `grown` is the type
 * to alter it to (caller frees), else NULL. */
enum fit mysql_target_type_fit(const struct mysql_target_type *wanted,
			       const struct mysql_target_type *actual,
			       char **grown);

bool mysql_target_type_is_text(
	enum mysql_target_base base); /* character data of any kind */

/* Stored marks are in the source's order: not numbers kept as text. */
bool mysql_target_type_keeps_order(enum type_kind kind,
				   const struct mysql_target_type *actual);

/* How a value is written. */
enum mysql_target_form {
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
enum mysql_target_form
mysql_target_type_form(enum type_kind kind,
		       const struct mysql_target_type *actual);
/* The SQL of a `value` that LOAD DATA has in a variable, or INSERT in a "?". It
 * is the value alone if the server understands it as it is. */
bool mysql_target_type_needs_cast(const struct mysql_target_type *actual,
				  const char *charset);
void mysql_target_type_cast(struct strbuf *sb,
			    const struct mysql_target_type *actual,
			    const char *charset, const char *value);

#endif

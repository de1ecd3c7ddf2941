/*
 * A source's types as BigQuery keeps them: the column's type, how a value is
 * staged, and what a column that is there already can hold.
 */
#ifndef TIDEMARK_DESTINATIONS_BIGQUERY_TYPES_H
#define TIDEMARK_DESTINATIONS_BIGQUERY_TYPES_H

#include <stdbool.h>

#include <jansson.h>

#include "core/base/strbuf.h"
#include "core/data/schema.h"
#include "core/plugin/destination.h"
#include "destinations/common/drift.h"

#define BIGQUERY_TYPE_SIZE 64

/* How a value lies in the stage, and in the file that fills it. */
enum bigquery_carrier {
	CARRIER_BOOL,
	CARRIER_INTEGER,
	CARRIER_FLOAT,
	CARRIER_NUMERIC, /* the column's own type */
	CARRIER_STRING,
	CARRIER_BYTES,
	CARRIER_DATE,
	CARRIER_TIME,
	CARRIER_DATETIME,
	CARRIER_TIMESTAMP,
	CARRIER_JSON, /* text, parsed in the script */
	CARRIER_GEOGRAPHY, /* the same */
	CARRIER_ARRAY, /* JSON text, repeated in the stage */
};

struct bigquery_type {
	char text[BIGQUERY_TYPE_SIZE]; /* "NUMERIC(12,2)" */
	char column[BIGQUERY_TYPE_SIZE]; /* the table's: the same, or wider */
	enum bigquery_carrier carrier;
	enum mapping mapping;
	/* BYTES that are staged as text: an emulator loads what it is given,
	 * undecoded. */
	bool in_base64;
};

/* `engine`: whose native names the source's are. */
void bigquery_type_of(struct bigquery_type *out, const struct type *source,
		      const char *engine);
/* The types of all columns; caller frees. */
struct bigquery_type *bigquery_types_of(const struct schema *s);
/* Does a column of type `actual` hold every value? FIT_GROWS puts the type
 * that would into `grown`. */
enum fit bigquery_type_fit(const struct bigquery_type *wanted,
			   const char *actual, char grown[BIGQUERY_TYPE_SIZE]);
/* The stage's column: {"name", "type", ...}; new reference. */
json_t *bigquery_type_field(const struct bigquery_type *t, const char *name);
/* Append what makes a value of the table's column of the stage's `name`. */
void bigquery_type_value(struct strbuf *sql, const struct bigquery_type *t,
			 const char *name);
/* Append what two values are compared by: some types cannot be. */
void bigquery_type_comparable(struct strbuf *sql, const struct bigquery_type *t,
			      const char *value);
/* Without its digits: "NUMERIC". Caller frees. */
char *bigquery_type_base(const char *text);

#endif

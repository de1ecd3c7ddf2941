/*
 * MySQL's and MariaDB's types, in one table by information_schema's data_type.
 * It says as which kind of value each travels, how the client hands it out, how
 * it is compared, and which function decodes it.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_TYPES_H
#define TIDEMARK_CONNECTORS_MYSQL_TYPES_H

#include "clients/mysql.h"
#include "core/plugin/connector.h"

/* Store one present value at `row` of `v`. DATA error, which names neither
 * column nor key, if the vector cannot hold it. */
typedef int (*mysql_source_decode)(struct vector *v, size_t row,
				   const struct mysql_client_cell *cell,
				   enum zero_dates zero, struct error *err);

/* How a column is put in order and compared with a text. */
enum mysql_source_order {
	ORDER_PLAIN, /* column, CAST(? AS ...) */
	ORDER_TEXT, /* column by its own collation where that is total, or by
		     * its bytes */
	ORDER_LABEL, /* ENUM, SET: by bytes, because by themselves they compare
		      * as numbers but equal texts */
	ORDER_BYTES, /* column, UNHEX(?) */
	ORDER_BITS, /* column + 0 */
	ORDER_NONE, /* no exact order */
};

struct mysql_source_type {
	const char *name; /* data_type; with "unsigned" behind it */
	enum type_kind kind;
	enum mysql_client_form form;
	mysql_source_decode decode;
	enum mysql_source_order order;
	/* Casts a compared text; NULL: no cast, or one that depends on the
	 * column. */
	const char *cast;
};

/* Never NULL: a type that is not in the table is read as text (TYPE_NATIVE). */
const struct mysql_source_type *mysql_source_type_find(const char *data_type,
						       bool is_unsigned);
/* All of them, for tests; the last is the text of the others. */
const struct mysql_source_type *mysql_source_types(size_t *n);
/* The type of an expression's column. */
const struct mysql_source_type *
mysql_source_type_of_field(const struct mysql_client_field *f);
/* Precision and scale, or digits of a second, whichever the kind has. A lying
 * server may send numbers that no column has; they leave the type unlimited. */
void mysql_source_type_set_digits(struct type *out, long precision, long scale,
				  long digits);
/* The same of an expression's column. */
void mysql_source_type_digits(const struct mysql_client_field *f,
			      struct type *out);
/* BIT(64) alone needs all of an unsigned number. */
const struct mysql_source_type *mysql_source_type_bits(int bits);

#endif

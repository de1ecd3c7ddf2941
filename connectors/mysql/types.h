/*
 * MySQL's and MariaDB's types: which kind of value each travels as, how the
 * client hands it out, how it is compared, and which function decodes it. One
 * table, by information_schema's data_type.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_TYPES_H
#define TIDEMARK_CONNECTORS_MYSQL_TYPES_H

#include "clients/mysql.h"
#include "core/plugin/connector.h"

/* Store one present value at `row` of `v`. DATA error, which names neither
 * column nor key, if the vector cannot hold it. */
typedef int (*mysrc_decode)(struct vector *v, size_t row,
			    const struct mydb_cell *cell, enum zero_dates zero,
			    struct error *err);

/* How a column is put in order and compared with a text. */
enum mysrc_order {
	ORDER_PLAIN, /* column, CAST(? AS ...) */
	ORDER_TEXT, /* column by its own collation where that is total, or by
		     * its bytes */
	ORDER_LABEL, /* ENUM, SET: by bytes, since by themselves they compare as
		      * numbers but equal texts */
	ORDER_BYTES, /* column, UNHEX(?) */
	ORDER_BITS, /* column + 0 */
	ORDER_NONE, /* no exact order */
};

struct mysrc_type {
	const char *name; /* data_type; with "unsigned" behind it */
	enum type_kind kind;
	enum mydb_form form;
	mysrc_decode decode;
	enum mysrc_order order;
	/* Of a compared text; NULL: none, or one that depends on the column. */
	const char *cast;
};

/* Never NULL: what is not in the table is read as text (TYPE_NATIVE). */
const struct mysrc_type *mysrc_type_find(const char *data_type,
					 bool is_unsigned);
/* All of them, for tests; the last is the text of the others. */
const struct mysrc_type *mysrc_types(size_t *n);
/* Of an expression's column. */
const struct mysrc_type *mysrc_type_of_field(const struct mydb_field *f);
/* Precision and scale, or digits of a second, whichever the kind has. Numbers
 * that no column has come from a server that lies, and leave it unlimited. */
void mysrc_type_set_digits(struct type *out, long precision, long scale,
			   long digits);
/* The same of an expression's column. */
void mysrc_type_digits(const struct mydb_field *f, struct type *out);
/* BIT(64) alone needs all of an unsigned number. */
const struct mysrc_type *mysrc_type_bits(int bits);

#endif

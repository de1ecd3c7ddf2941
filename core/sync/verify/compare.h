/*
 * The pairs of columns that are compared, and the form in which they are. Equal
 * content gives equal bytes, whatever the two engines call its type. Numbers
 * are compared by their digits (true is 1), instants in µs of UTC, JSON with
 * sorted keys, CHAR without its padding. A type that the destination holds as
 * text is compared by its text.
 *
 * It knows nothing of connections.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_COMPARE_H
#define TIDEMARK_CORE_SYNC_VERIFY_COMPARE_H

#include "core/data/digest_rows.h"

enum compare_side { COMPARE_SOURCE, COMPARE_DESTINATION, COMPARE_SIDES };

enum compare_form {
	COMPARE_SAME, /* same class: as digest_rows.h has it */
	COMPARE_TEXT, /* as value_print() writes it */
	COMPARE_PADDED, /* the same without spaces at the end */
	COMPARE_NUMBER,
	COMPARE_INSTANT,
	COMPARE_JSON,
	COMPARE_NONE /* cannot be compared */
};

enum compare_form compare_form_of(const struct type *a, const struct type *b);

struct compare_column {
	size_t at[COMPARE_SIDES]; /* in the schema of each side */
	enum type_kind kind[COMPARE_SIDES];
	enum compare_form form;
};

/* The key's columns, in its order, come first. Without a key all columns name
 * a row, and several rows may have one name. */
struct compare {
	struct compare_column *columns;
	size_t n, n_key;
	bool keyless;
};

/* Match the columns of `source` with those of `destination` of the same name.
 * SCHEMA, naming the column, if there is no such column or the types do not
 * compare. Release `out` in any case. */
int compare_match(struct compare *out, const struct schema *source,
		  const struct schema *destination, struct error *err);
void compare_release(struct compare *c);

struct compare_hash {
	uint64_t low, high;
};

/* Hash the key, and all columns, of these rows of a batch of that side. `slots`
 * is the caller's, to be used again for the next rows. */
void compare_rows(const struct compare *c, enum compare_side side,
		  const struct batch *b, const size_t *rows, size_t n,
		  struct digest_rows *slots, struct compare_hash *keys,
		  struct compare_hash *all);
/* The text by which the connector of the other side (or of this one) finds a
 * value of the key: column `i` of it. */
void compare_key_text(const struct compare *c, enum compare_side side,
		      const struct batch *b, size_t row, size_t i,
		      enum compare_side finder, struct strbuf *out);

#endif

#include "connectors/mysql/decode.h"
#include "connectors/mysql/source.h"
#include "core/data/value.h"

/* As NULL it would say nothing of where the next page begins. */
static int rows_check_mark(enum type_kind kind, const struct mydb_cell *cell,
			   struct error *err)
{
	if ((kind != TYPE_DATE && kind != TYPE_TIMESTAMP &&
	     kind != TYPE_TIMESTAMPTZ) ||
	    mysrc_is_day(&cell->time))
		return 0;
	return error_set(err, ERROR_DATA,
			 "the date %04u-%02u-%02u in the watermark's column is "
			 "none, and has no place in the order of rows: correct "
			 "such rows, or leave them out (source.where)",
			 cell->time.year, cell->time.month, cell->time.day);
}

static int rows_decode(struct mysrc *c, struct vector *v, size_t row,
		       size_t column, struct error *err)
{
	const struct mydb_cell *cell = &mydb_stream_row(c->db)[column];
	int rc;

	if (cell->null) {
		vector_set_null(v, row);
		return 0;
	}
	rc = (long)column == c->layout.mark
		     ? rows_check_mark(v->kind, cell, err)
		     : 0;
	if (rc)
		return rc;
	return c->layout.columns[column]->how->decode(
		v, row, cell, c->pass.scan->source->zero_dates, err);
}

/* The row's key for a message, even if the trouble came before its columns
 * were decoded. */
static int rows_blame(struct mysrc *c, struct batch *b, size_t column,
		      struct error *err)
{
	const struct mysrc_layout *l = &c->layout;
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		struct error ignored = ERROR_INIT;
		if (l->key[i] != column)
			rows_decode(c, &b->vectors[l->key[i]], b->n_rows,
				    l->key[i], &ignored);
	}
	value_print_key(&key, b, b->n_rows);
	error_prefix(err, "table %s, column \"%s\", key %s",
		     c->pass.scan->source->table, l->columns[column]->name,
		     key.data);
	strbuf_release(&key);
	batch_row_undo(b);
	return -(int)err->code;
}

int mysrc_append(struct mysrc *c, struct batch *b, struct error *err)
{
	const struct mysrc_layout *l = &c->layout;
	struct vector *hidden = &c->pass.mark.hidden;
	size_t row = b->n_rows;

	batch_reserve_row(b);
	for (size_t i = 0; i < l->n_columns; i++) {
		if (rows_decode(c, &b->vectors[i], row, i, err))
			return rows_blame(c, b, i, err);
	}
	if (hidden->validity && rows_decode(c, hidden, 0, l->n_columns, err))
		return rows_blame(c, b, l->n_columns, err);
	for (size_t i = 0; i < l->n_key; i++) {
		if (vector_is_null(&b->vectors[l->key[i]], row)) {
			error_set(err, ERROR_DATA, "NULL in a key column");
			return rows_blame(c, b, l->key[i], err);
		}
	}
	batch_row_done(b);
	c->pass.rows++;
	return 0;
}

#include "connectors/common/paged.h"
#include "core/data/value.h"

/* Show the key, even if the trouble came before its columns were decoded. */
int paged_blame(struct paged_source *s, struct batch *b, size_t column,
		paged_decode decode, struct error *err)
{
	const struct source_layout *l = &s->layout;
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		struct error ignored = ERROR_INIT;
		if (l->key[i] != column)
			decode(s, &b->vectors[l->key[i]], b->n_rows, l->key[i],
			       &ignored);
	}
	value_print_key(&key, b, b->n_rows);
	error_prefix(err, "table %s, column \"%s\", key %s",
		     s->pass.scan->source->table, l->columns[column]->name,
		     key.data);
	strbuf_release(&key);
	batch_row_undo(b);
	return -(int)err->code;
}

int paged_check_row(struct paged_source *s, struct batch *b,
		    paged_decode decode, struct error *err)
{
	const struct source_layout *l = &s->layout;

	for (size_t i = 0; i < l->n_key; i++) {
		if (vector_is_null(&b->vectors[l->key[i]], b->n_rows)) {
			error_set(err, ERROR_DATA, "NULL in a key column");
			return paged_blame(s, b, l->key[i], decode, err);
		}
	}
	return 0;
}

int paged_take_row(struct paged_source *s, struct batch *b, paged_decode decode,
		   struct error *err)
{
	const struct source_layout *l = &s->layout;
	struct vector *hidden = &s->pass.mark.hidden;

	batch_reserve_row(b);
	for (size_t i = 0; i < l->n_columns; i++) {
		if (decode(s, &b->vectors[i], b->n_rows, i, err))
			return paged_blame(s, b, i, decode, err);
	}
	if (hidden->validity && decode(s, hidden, 0, l->n_columns, err))
		return paged_blame(s, b, l->n_columns, decode, err);
	return paged_check_row(s, b, decode, err);
}

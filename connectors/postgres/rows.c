#include <stdlib.h>
#include <string.h>

#include "connectors/postgres/postgres.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

static int rows_decode(const struct source_column *c, struct vector *v,
		       size_t row, const struct pg_field_bytes *f,
		       struct error *err)
{
	return postgres_source_wire(c)->decode(v, row, f->data, f->n, err);
}

/* The row's key for a message, even if the trouble came before its columns
 * were decoded. */
static int rows_blame(struct postgres *c, struct batch *b, size_t column,
		      struct error *err)
{
	const struct source_layout *l = &c->layout;
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		size_t k = l->key[i];
		const struct pg_field_bytes *f = &pg_stream_fields(c->pg)[k];
		struct error ignored = ERROR_INIT;
		if (f->data && k != column)
			rows_decode(l->columns[k], &b->vectors[k], b->n_rows, f,
				    &ignored);
	}
	value_print_key(&key, b, b->n_rows);
	error_prefix(err, "table %s, column \"%s\", key %s",
		     c->pass.scan->source->table, l->columns[column]->name,
		     key.data);
	strbuf_release(&key);
	batch_row_undo(b);
	return -(int)err->code;
}

int postgres_source_rows_stream_failed(const struct postgres *c,
				       const struct batch *b, struct error *err)
{
	struct strbuf key = STRBUF_INIT;

	if (b->n_rows)
		value_print_key(&key, b, b->n_rows - 1);
	if (err->code == ERROR_DATA || err->code == ERROR_SCHEMA)
		error_prefix(err, "table %s%s%s", c->pass.scan->source->table,
			     key.len ? ", in a row after key " : "",
			     key.len ? key.data : "");
	strbuf_release(&key);
	return -(int)err->code;
}

static int rows_append_hidden(struct postgres *c, struct error *err)
{
	const struct source_column *mark = source_mark(&c->layout);
	struct vector *v = &c->pass.mark.hidden;
	const struct pg_field_bytes *f;

	if (!v->validity)
		return 0;
	v->validity[0] = 0;
	f = &pg_stream_fields(c->pg)[c->layout.n_columns];
	return f->data ? rows_decode(mark, v, 0, f, err) : 0;
}

int postgres_source_rows_append(struct postgres *c, struct batch *b,
				struct error *err)
{
	const struct source_layout *l = &c->layout;
	const struct pg_field_bytes *f = pg_stream_fields(c->pg);
	size_t row = b->n_rows;
	int rc;

	batch_reserve_row(b);
	for (size_t i = 0; i < l->n_columns; i++, f++) {
		if (!f->data)
			vector_set_null(&b->vectors[i], row);
		else if (rows_decode(l->columns[i], &b->vectors[i], row, f,
				     err))
			return rows_blame(c, b, i, err);
	}
	rc = rows_append_hidden(c, err);
	if (rc)
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

int postgres_source_rows_failpoints(struct postgres *c, size_t read,
				    struct error *err)
{
	int rc = 0;

	if (c->pass.rows == 1)
		rc = failpoint("first_row", err);
	if (!rc && read == 2)
		rc = failpoint("mid_page", err);
	return rc;
}

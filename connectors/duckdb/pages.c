#include <stdlib.h>
#include <string.h>

#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

static struct duckdb_source *pages_self(struct paged_source *base)
{
	return (struct duckdb_source *)base;
}

static const char *const *pages_params(const struct paged_query *q)
{
	return (const char *const *)q->params;
}

int duckdb_source_query(struct paged_source *base, const struct paged_query *q,
			struct paged_answer *out, struct error *err)
{
	struct duck_result *r = NULL;
	size_t capacity = 0;
	char *sql = xstrfmt("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (%s\n) q",
			    q->sql.data);
	int rc = duck_query(pages_self(base)->db, &r, sql, pages_params(q),
			    (size_t)q->n, err);

	memset(out, 0, sizeof(*out));
	while (!rc && duck_next(r)) {
		size_t n = out->n_columns = duck_columns(r);
		out->cells = xgrow(out->cells, &capacity, (out->n_rows + 1) * n,
				   sizeof(*out->cells));
		for (size_t i = 0; i < n; i++)
			out->cells[out->n_rows * n + i] = duck_str(r, i);
		out->n_rows++;
	}
	duck_result_free(r);
	free(sql);
	return rc;
}

/* Nothing more can be told of DuckDB's plan. */
int duckdb_source_explain(struct paged_source *base,
			  const struct paged_query *q, char **plan,
			  char **index, struct error *err)
{
	(void)base;
	(void)q;
	(void)err;
	*plan = xstrdup("a scan: DuckDB passes by blocks whose least and "
			"greatest values (zone maps) say that no row of them "
			"is wanted, and uses no index");
	*index = NULL;
	return 0;
}

int duckdb_source_page_open(struct paged_source *base,
			    const struct paged_query *q, struct error *err)
{
	struct duckdb_source *s = pages_self(base);
	const struct source_layout *l = &base->layout;
	struct duck_type *types;
	int rc;

	s->n_cells = source_layout_width(l);
	s->cells = xreallocarray(s->cells, s->n_cells, sizeof(*s->cells));
	types = xcalloc(s->n_cells, sizeof(*types));
	for (size_t i = 0; i < s->n_cells; i++) {
		struct type ignored;
		duckdb_source_type_of(l->columns[i]->type.native, &ignored,
				      &types[i]);
		free(ignored.native);
		s->cells[i].type = types[i];
	}
	s->chunk_rows = s->chunk_at = 0;
	rc = duck_scan_open(s->db, &s->page, q->sql.data, pages_params(q),
			    (size_t)q->n, types, s->n_cells, err);
	free(types);
	return rc;
}

void duckdb_source_page_close(struct paged_source *base)
{
	struct duckdb_source *s = pages_self(base);

	duck_scan_close(s->page);
	s->page = NULL;
}

static int pages_next_chunk(struct duckdb_source *s, struct error *err)
{
	int rc = duck_scan_next(s->page, &s->chunk_rows, err);

	s->chunk_at = 0;
	for (size_t i = 0; !rc && s->chunk_rows && i < s->n_cells; i++) {
		s->cells[i].data = duck_scan_data(s->page, i);
		s->cells[i].validity = duck_scan_validity(s->page, i);
	}
	return rc;
}

/* Bytes that a row of the chunk takes in the batch, about. */
static size_t pages_row_bytes(const struct duckdb_source *s,
			      const struct batch *b, size_t row)
{
	size_t bytes = 0;

	for (size_t i = 0; i < b->schema->n_columns; i++) {
		const struct duckdb_source_cells *c = &s->cells[i];
		size_t n = b->vectors[i].width;

		if (!n &&
		    (c->type.kind == DUCK_TEXT || c->type.kind == DUCK_BYTES)) {
			if (!duckdb_source_is_null(c, row))
				duck_cell_text(c->data, row, &n);
			n += sizeof(int32_t);
		} else if (!n) {
			n = c->type.precision + sizeof(int32_t);
		}
		bytes += n;
	}
	return bytes;
}

/* Rows of the chunk until it ends or the batch is full. */
static size_t pages_take(const struct duckdb_source *s, const struct batch *b)
{
	size_t left = s->chunk_rows - s->chunk_at, n = 0;
	size_t bytes = batch_bytes(b);

	if (b->max_rows && left > b->max_rows - b->n_rows)
		left = b->max_rows - b->n_rows;
	if (!b->max_bytes)
		return left;
	while (n < left && (bytes < b->max_bytes || (!n && !b->n_rows)))
		bytes += pages_row_bytes(s, b, s->chunk_at + n++);
	return n;
}

static size_t pages_fill(struct duckdb_source *s, struct vector *v, size_t row,
			 size_t column, size_t from, size_t n,
			 struct error *err)
{
	const struct duckdb_source_type *how =
		s->paged.layout.columns[column]->how;

	return how->fill(v, row, &s->cells[column], from, n, err);
}

/* Row `at` of the chunk is to blame. */
static int pages_blame(struct duckdb_source *s, struct batch *b, size_t column,
		       size_t at, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++)
		pages_fill(s, &b->vectors[l->key[i]], b->n_rows, l->key[i], at,
			   1, NULL);
	value_print_key(&key, b, b->n_rows);
	error_prefix(err, "table %s, column \"%s\", key %s",
		     s->paged.pass.scan->source->table,
		     l->columns[column]->name, key.data);
	strbuf_release(&key);
	return -(int)err->code;
}

static int pages_check_key(struct duckdb_source *s, struct batch *b, size_t n,
			   struct error *err)
{
	const struct source_layout *l = &s->paged.layout;

	for (size_t i = 0; i < l->n_key; i++) {
		for (size_t row = 0; row < n; row++) {
			size_t at = s->chunk_at + row;
			if (!duckdb_source_is_null(&s->cells[l->key[i]], at))
				continue;
			error_set(err, ERROR_DATA, "NULL in a key column");
			return pages_blame(s, b, l->key[i], at, err);
		}
	}
	return 0;
}

static int pages_append(struct duckdb_source *s, struct batch *b, size_t n,
			struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	struct vector *hidden = &s->paged.pass.mark.hidden;
	size_t done;

	batch_reserve_rows(b, n);
	for (size_t i = 0; i < l->n_columns; i++) {
		done = pages_fill(s, &b->vectors[i], b->n_rows, i, s->chunk_at,
				  n, err);
		if (done < n)
			return pages_blame(s, b, i, s->chunk_at + done, err);
	}
	/* The last row's is the position. */
	if (hidden->validity)
		pages_fill(s, hidden, 0, l->n_columns, s->chunk_at + n - 1, 1,
			   err);
	if (pages_check_key(s, b, n, err))
		return -(int)err->code;
	batch_rows_done(b, n);
	s->chunk_at += n;
	s->paged.pass.read += n;
	return 0;
}

int duckdb_source_page_read(struct paged_source *base, struct batch *b,
			    struct error *err)
{
	struct duckdb_source *s = pages_self(base);

	while (!batch_is_full(b)) {
		size_t n;
		int rc = 0;

		if (s->chunk_at == s->chunk_rows)
			rc = pages_next_chunk(s, err);
		if (!rc && !s->chunk_rows)
			return 1;
		n = rc ? 0 : pages_take(s, b);
		if (!rc && n)
			rc = pages_append(s, b, n, err);
		if (rc)
			return rc;
		if (!n)
			break;
	}
	return 0;
}

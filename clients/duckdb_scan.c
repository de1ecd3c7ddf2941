#include <stdlib.h>
#include <string.h>

#include "clients/duckdb_handle.h"
#include "core/base/alloc.h"

struct duck_scan {
	duckdb_prepared_statement statement;
	duckdb_result result;
	duckdb_data_chunk chunk;
};

static bool duck_scan_is(duckdb_result *r, size_t column,
			 const struct duck_type *type)
{
	duckdb_logical_type logical;
	bool same;

	if (duckdb_column_type(r, column) != duck_types[type->kind])
		return false;
	if (type->kind != DUCK_DECIMAL)
		return true;
	logical = duckdb_column_logical_type(r, column);
	same = duckdb_decimal_width(logical) == type->precision &&
	       duckdb_decimal_scale(logical) == type->scale;
	duckdb_destroy_logical_type(&logical);
	return same;
}

/* Values are read by their layout, so their types must be the expected ones. */
static int duck_scan_check(struct duck_scan *s, const struct duck_type *types,
			   size_t n, struct error *err)
{
	if (duckdb_column_count(&s->result) != n)
		return error_set(err, ERROR_BUG,
				 "duckdb: a result of other columns");
	for (size_t i = 0; i < n; i++) {
		if (!duck_scan_is(&s->result, i, &types[i]))
			return error_set(
				err, ERROR_TRANSIENT,
				"duckdb: column %s was altered since it was "
				"looked at",
				duckdb_column_name(&s->result, i));
	}
	return 0;
}

int duck_scan_open(struct duck *db, struct duck_scan **out, const char *sql,
		   const char *const *params, size_t n_params,
		   const struct duck_type *types, size_t n_columns,
		   struct error *err)
{
	struct duck_scan *s = xcalloc(1, sizeof(*s));
	int rc;

	if (duckdb_prepare(db->connection, sql, &s->statement) == DuckDBError) {
		rc = duck_error_text(duckdb_prepare_error(s->statement), err);
		duck_scan_close(s);
		return rc;
	}
	duck_bind(s->statement, params, n_params);
	if (duckdb_execute_prepared_streaming(s->statement, &s->result) ==
	    DuckDBError)
		rc = duck_error_text(duckdb_result_error(&s->result), err);
	else
		rc = duck_scan_check(s, types, n_columns, err);
	if (rc)
		duck_scan_close(s);
	else
		*out = s;
	return rc;
}

int duck_scan_next(struct duck_scan *s, size_t *rows, struct error *err)
{
	const char *text;

	duckdb_destroy_data_chunk(&s->chunk);
	s->chunk = duckdb_fetch_chunk(s->result);
	*rows = s->chunk ? duckdb_data_chunk_get_size(s->chunk) : 0;
	if (*rows)
		return 0;
	/* No chunk is the end only if nothing went wrong. */
	text = duckdb_result_error(&s->result);
	return text && *text ? duck_error_text(text, err) : 0;
}

const void *duck_scan_data(const struct duck_scan *s, size_t column)
{
	return duckdb_vector_get_data(
		duckdb_data_chunk_get_vector(s->chunk, column));
}

const uint64_t *duck_scan_validity(const struct duck_scan *s, size_t column)
{
	return duckdb_vector_get_validity(
		duckdb_data_chunk_get_vector(s->chunk, column));
}

const char *duck_cell_text(const void *data, size_t row, size_t *n)
{
	const duckdb_string_t *cell = (const duckdb_string_t *)data + row;

	*n = cell->value.inlined.length;
	return *n <= sizeof(cell->value.inlined.inlined)
		       ? cell->value.inlined.inlined
		       : cell->value.pointer.ptr;
}

void duck_scan_close(struct duck_scan *s)
{
	if (!s)
		return;
	duckdb_destroy_data_chunk(&s->chunk);
	duckdb_destroy_result(&s->result);
	duckdb_destroy_prepare(&s->statement);
	free(s);
}

#include "clients/duckdb_handle.h"

#include <stdlib.h>
#include <string.h>

#include "clients/duckdb_errors.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

struct duck_result {
	duckdb_result result;
	duckdb_data_chunk chunk;
	idx_t rows; /* the chunk's */
	idx_t row;
	idx_t n_columns;
	void **data; /* for each column of the chunk */
	uint64_t **validity;
};

int duck_error_text(const char *text, struct error *err)
{
	const char *said = text ? text : "no reason given";

	return duck_error_set(err, duck_error_code(said), said);
}

const char *duck_version(void)
{
	return duckdb_library_version();
}

int duck_exec(struct duck *db, const char *sql, struct error *err)
{
	duckdb_result result;
	int rc = 0;

	duck_note(db, sql);
	if (duckdb_query(db->connection, sql, &result) == DuckDBError)
		rc = duck_error_text(duckdb_result_error(&result), err);
	duck_note(db, sql);
	duckdb_destroy_result(&result);
	return rc;
}

int duck_execf(struct duck *db, struct error *err, const char *fmt, ...)
{
	struct strbuf sql = STRBUF_INIT;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	strbuf_vaddf(&sql, fmt, ap);
	va_end(ap);
	rc = duck_exec(db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

void duck_bind(duckdb_prepared_statement st, const char *const *params,
	       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (params[i])
			duckdb_bind_varchar(st, i + 1, params[i]);
		else
			duckdb_bind_null(st, i + 1);
	}
}

/* `result` is to be destroyed whatever comes back. */
static int duck_run(struct duck *db, const char *sql, const char *const *params,
		    size_t n, duckdb_result *result, struct error *err)
{
	duckdb_prepared_statement st = NULL;
	int rc = 0;

	duck_note(db, sql);
	if (duckdb_prepare(db->connection, sql, &st) == DuckDBError) {
		rc = duck_error_text(duckdb_prepare_error(st), err);
		goto out;
	}
	duck_bind(st, params, n);
	if (duckdb_execute_prepared(st, result) == DuckDBError)
		rc = duck_error_text(duckdb_result_error(result), err);
out:
	duck_note(db, sql);
	duckdb_destroy_prepare(&st);
	return rc;
}

int duck_change(struct duck *db, const char *sql, const char *const *params,
		size_t n_params, int64_t *rows, struct error *err)
{
	duckdb_result result;
	int rc;

	memset(&result, 0, sizeof(result));
	rc = duck_run(db, sql, params, n_params, &result, err);
	if (!rc && rows)
		*rows = (int64_t)duckdb_rows_changed(&result);
	duckdb_destroy_result(&result);
	return rc;
}

int duck_query(struct duck *db, struct duck_result **out, const char *sql,
	       const char *const *params, size_t n_params, struct error *err)
{
	struct duck_result *r = xcalloc(1, sizeof(*r));
	int rc = duck_run(db, sql, params, n_params, &r->result, err);

	if (rc) {
		duck_result_free(r);
		return rc;
	}
	r->n_columns = duckdb_column_count(&r->result);
	r->data = xcalloc(r->n_columns, sizeof(*r->data));
	r->validity = xcalloc(r->n_columns, sizeof(*r->validity));
	*out = r;
	return 0;
}

static bool duck_next_chunk(struct duck_result *r)
{
	duckdb_destroy_data_chunk(&r->chunk);
	r->chunk = duckdb_fetch_chunk(r->result);
	r->row = 0;
	r->rows = r->chunk ? duckdb_data_chunk_get_size(r->chunk) : 0;
	for (idx_t i = 0; r->rows && i < r->n_columns; i++) {
		duckdb_vector v = duckdb_data_chunk_get_vector(r->chunk, i);

		r->data[i] = duckdb_vector_get_data(v);
		r->validity[i] = duckdb_vector_get_validity(v);
	}
	return r->rows > 0;
}

bool duck_next(struct duck_result *r)
{
	if (r->row + 1 < r->rows) {
		r->row++;
		return true;
	}
	return duck_next_chunk(r);
}

size_t duck_columns(const struct duck_result *r)
{
	return r->n_columns;
}

bool duck_is_null(const struct duck_result *r, size_t column)
{
	const uint64_t *bits = r->validity[column];

	return bits && !(bits[r->row >> 6] >> (r->row & 63) & 1);
}

int64_t duck_i64(const struct duck_result *r, size_t column)
{
	return ((const int64_t *)r->data[column])[r->row];
}

bool duck_bool(const struct duck_result *r, size_t column)
{
	return !duck_is_null(r, column) &&
	       ((const bool *)r->data[column])[r->row];
}

char *duck_str(const struct duck_result *r, size_t column)
{
	duckdb_string_t *s = (duckdb_string_t *)r->data[column] + r->row;

	if (duck_is_null(r, column))
		return NULL;
	return xstrndup(duckdb_string_t_data(s), duckdb_string_t_length(*s));
}

void duck_result_free(struct duck_result *r)
{
	if (!r)
		return;
	duckdb_destroy_data_chunk(&r->chunk);
	duckdb_destroy_result(&r->result);
	free(r->data);
	free(r->validity);
	free(r);
}

#include <stdlib.h>
#include <string.h>

#include "clients/duckdb_errors.h"
#include "clients/duckdb_handle.h"
#include "core/base/alloc.h"

struct duck_appender {
	duckdb_appender appender;
	duckdb_data_chunk chunk;
	size_t n_columns;
};

const duckdb_type duck_types[DUCK_KINDS] = {
	[DUCK_INT8] = DUCKDB_TYPE_TINYINT,
	[DUCK_UINT8] = DUCKDB_TYPE_UTINYINT,
	[DUCK_UINT16] = DUCKDB_TYPE_USMALLINT,
	[DUCK_UINT32] = DUCKDB_TYPE_UINTEGER,
	[DUCK_HUGEINT] = DUCKDB_TYPE_HUGEINT,
	[DUCK_UHUGEINT] = DUCKDB_TYPE_UHUGEINT,
	[DUCK_TIMESTAMP_S] = DUCKDB_TYPE_TIMESTAMP_S,
	[DUCK_TIMESTAMP_MS] = DUCKDB_TYPE_TIMESTAMP_MS,
	[DUCK_BOOL] = DUCKDB_TYPE_BOOLEAN,
	[DUCK_INT16] = DUCKDB_TYPE_SMALLINT,
	[DUCK_INT32] = DUCKDB_TYPE_INTEGER,
	[DUCK_INT64] = DUCKDB_TYPE_BIGINT,
	[DUCK_UINT64] = DUCKDB_TYPE_UBIGINT,
	[DUCK_FLOAT32] = DUCKDB_TYPE_FLOAT,
	[DUCK_FLOAT64] = DUCKDB_TYPE_DOUBLE,
	[DUCK_DECIMAL] = DUCKDB_TYPE_DECIMAL,
	[DUCK_TEXT] = DUCKDB_TYPE_VARCHAR,
	[DUCK_BYTES] = DUCKDB_TYPE_BLOB,
	[DUCK_DATE] = DUCKDB_TYPE_DATE,
	[DUCK_TIME] = DUCKDB_TYPE_TIME,
	[DUCK_TIMESTAMP] = DUCKDB_TYPE_TIMESTAMP,
	[DUCK_TIMESTAMPTZ] = DUCKDB_TYPE_TIMESTAMP_TZ,
	[DUCK_INTERVAL] = DUCKDB_TYPE_INTERVAL,
	[DUCK_UUID] = DUCKDB_TYPE_UUID,
};

static duckdb_data_chunk duck_chunk_new(const struct duck_type *types, size_t n)
{
	duckdb_logical_type *logical = xcalloc(n, sizeof(duckdb_logical_type));
	duckdb_data_chunk chunk;

	for (size_t i = 0; i < n; i++)
		logical[i] =
			types[i].kind == DUCK_DECIMAL
				? duckdb_create_decimal_type(types[i].precision,
							     types[i].scale)
				: duckdb_create_logical_type(
					  duck_types[types[i].kind]);
	chunk = duckdb_create_data_chunk(logical, n);
	for (size_t i = 0; i < n; i++)
		duckdb_destroy_logical_type(&logical[i]);
	free(logical);
	return chunk;
}

/* An appender gives an error's text without the type in front, and at times
 * does not give the type at all. */
static enum error_code duck_append_class(duckdb_error_data data,
					 const char *text)
{
	duckdb_error_type type = duckdb_error_data_error_type(data);
	enum error_code code = duck_error_type_code((int)type, text);

	if (code == ERROR_UNKNOWN && strstr(text, "constraint"))
		return ERROR_DATA;
	return code;
}

static int duck_appender_failed(struct duck_appender *a, struct error *err)
{
	duckdb_error_data data = duckdb_appender_error_data(a->appender);
	const char *text = duckdb_error_data_message(data);
	int rc = duck_error_set(err, duck_append_class(data, text ? text : ""),
				text ? text : "no reason given");

	duckdb_destroy_error_data(&data);
	return rc;
}

static int duck_appender_columns(struct duck_appender *a,
				 const char *const *names, struct error *err)
{
	for (size_t i = 0; i < a->n_columns; i++)
		if (duckdb_appender_add_column(a->appender, names[i]) ==
		    DuckDBError)
			return duck_appender_failed(a, err);
	return 0;
}

int duck_appender_open(struct duck *db, struct duck_appender **out,
		       const char *catalog, const char *schema,
		       const char *table, const char *const *names,
		       const struct duck_type *types, size_t n_columns,
		       struct error *err)
{
	struct duck_appender *a = xcalloc(1, sizeof(*a));
	int rc;

	a->n_columns = n_columns;
	if (duckdb_appender_create_ext(db->connection, catalog, schema, table,
				       &a->appender) == DuckDBError)
		rc = duck_appender_failed(a, err);
	else
		rc = duck_appender_columns(a, names, err);
	if (rc) {
		duck_appender_drop(a);
		return rc;
	}
	a->chunk = duck_chunk_new(types, n_columns);
	*out = a;
	return 0;
}

size_t duck_chunk_rows(void)
{
	return duckdb_vector_size();
}

void *duck_chunk_data(struct duck_appender *a, size_t column)
{
	return duckdb_vector_get_data(
		duckdb_data_chunk_get_vector(a->chunk, column));
}

uint64_t *duck_chunk_validity(struct duck_appender *a, size_t column)
{
	duckdb_vector v = duckdb_data_chunk_get_vector(a->chunk, column);

	duckdb_vector_ensure_validity_writable(v);
	return duckdb_vector_get_validity(v);
}

void duck_chunk_set_text(void *data, size_t row, const uint8_t *src, size_t n)
{
	duckdb_string_t *s = (duckdb_string_t *)data + row;

	memset(s, 0, sizeof(*s));
	s->value.inlined.length = (uint32_t)n;
	if (n <= sizeof(s->value.inlined.inlined)) {
		memcpy(s->value.inlined.inlined, src, n);
		return;
	}
	memcpy(s->value.pointer.prefix, src, sizeof(s->value.pointer.prefix));
	s->value.pointer.ptr = (char *)src;
}

int duck_chunk_append(struct duck_appender *a, size_t n, struct error *err)
{
	int rc = 0;

	duckdb_data_chunk_set_size(a->chunk, n);
	if (duckdb_append_data_chunk(a->appender, a->chunk) == DuckDBError)
		rc = duck_appender_failed(a, err);
	duckdb_data_chunk_reset(a->chunk);
	return rc;
}

int duck_appender_finish(struct duck_appender *a, struct error *err)
{
	int rc = 0;

	if (duckdb_appender_close(a->appender) == DuckDBError)
		rc = duck_appender_failed(a, err);
	duck_appender_drop(a);
	return rc;
}

void duck_appender_drop(struct duck_appender *a)
{
	if (!a)
		return;
	if (a->appender)
		duckdb_appender_destroy(&a->appender);
	duckdb_destroy_data_chunk(&a->chunk);
	free(a);
}

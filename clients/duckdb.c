#include "clients/duckdb.h"

#include <duckdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* Databases that are open in this process, by path. DuckDB's file lock does
 * not keep a process from opening the same file twice, which would ruin it;
 * through the cache a second opener gets the same database. */
static duckdb_instance_cache duck_instances;
static pthread_once_t duck_instances_once = PTHREAD_ONCE_INIT;

struct duck {
	duckdb_database database;
	duckdb_connection connection;
};

struct duck_result {
	duckdb_result result;
	duckdb_data_chunk chunk;
	idx_t rows; /* of the chunk */
	idx_t row;
	idx_t n_columns;
	void **data; /* of each column of the chunk */
	uint64_t **validity;
};

struct duck_appender {
	duckdb_appender appender;
	duckdb_data_chunk chunk;
	size_t n_columns;
};

struct duck_error_class {
	const char *prefix;
	enum error_code code;
};

/* The first that the text begins with. */
static const struct duck_error_class duck_error_classes[] = {
	{ "IO Error: Could not set lock", ERROR_STATE },
	{ "IO Error", ERROR_ACCESS },
	{ "Out of Memory Error", ERROR_ACCESS },
	{ "Permission Error", ERROR_ACCESS },
	{ "Serialization Error", ERROR_ACCESS },
	{ "FATAL Error", ERROR_ACCESS },
	{ "Conversion Error", ERROR_DATA },
	{ "Constraint Error", ERROR_DATA },
	{ "Out of Range Error", ERROR_DATA },
	{ "Invalid Input Error", ERROR_DATA },
	{ "Mismatch Type Error", ERROR_DATA },
	{ "Catalog Error", ERROR_SCHEMA },
	{ "Binder Error", ERROR_SCHEMA },
	{ "Dependency Error", ERROR_SCHEMA },
	{ "INTERRUPT Error", ERROR_STOPPED },
	{ "Interrupt", ERROR_STOPPED },
	{ "TransactionContext Error: Conflict", ERROR_TRANSIENT },
	{ "TransactionContext Error", ERROR_ACCESS },
};

static enum error_code duck_classify(const char *text)
{
	/* Found at COMMIT, under the name of the transaction. */
	if (strstr(text, "violates primary key constraint") ||
	    strstr(text, "violates unique constraint"))
		return ERROR_DATA;
	for (size_t i = 0; i < ARRAY_SIZE(duck_error_classes); i++) {
		const struct duck_error_class *c = &duck_error_classes[i];

		if (!strncmp(text, c->prefix, strlen(c->prefix)))
			return c->code;
	}
	return ERROR_BUG;
}

static int duck_error_text(const char *text, struct error *err)
{
	const char *said = text ? text : "no reason given";

	return error_set(err, duck_classify(said), "duckdb: %s", said);
}

static void duck_instances_init(void)
{
	duck_instances = duckdb_create_instance_cache();
}

static duckdb_state duck_open_database(struct duck *db, const char *path,
				       duckdb_config config, char **text)
{
	if (!path)
		return duckdb_open_ext(NULL, &db->database, config, text);
	pthread_once(&duck_instances_once, duck_instances_init);
	return duckdb_get_or_create_from_cache(duck_instances, path,
					       &db->database, config, text);
}

const char *duck_version(void)
{
	return duckdb_library_version();
}

static int duck_configure(duckdb_config config,
			  const struct duck_setting *settings, size_t n,
			  struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (duckdb_set_config(config, settings[i].name,
				      settings[i].value) == DuckDBError)
			return error_set(err, ERROR_CONFIG,
					 "duckdb: %s cannot be %s",
					 settings[i].name, settings[i].value);
	return 0;
}

static int duck_open_failed(const char *path, const char *text,
			    struct error *err)
{
	bool setting = text && !strncmp(text, "Parser Error", 12);
	enum error_code code =
		text && !setting ? duck_classify(text) : ERROR_CONFIG;

	/* Settings are parsed only here. */
	if (text && !strncmp(text, "Invalid Input Error", 19))
		code = ERROR_CONFIG;
	return error_set(err, code, "duckdb: cannot open %s: %s",
			 path ? path : "a database in memory",
			 text ? text : "no reason given");
}

int duck_open(struct duck **out, const char *path,
	      const struct duck_setting *settings, size_t n_settings,
	      struct error *err)
{
	struct duck *db = xcalloc(1, sizeof(*db));
	duckdb_config config = NULL;
	char *text = NULL;
	int rc;

	if (duckdb_create_config(&config) == DuckDBError) {
		rc = error_set(err, ERROR_BUG, "duckdb: no configuration");
		goto out;
	}
	rc = duck_configure(config, settings, n_settings, err);
	if (rc)
		goto out;
	if (duck_open_database(db, path, config, &text) == DuckDBError) {
		rc = duck_open_failed(path, text, err);
		goto out;
	}
	if (duckdb_connect(db->database, &db->connection) == DuckDBError)
		rc = error_set(err, ERROR_ACCESS, "duckdb: cannot connect");
out:
	duckdb_free(text);
	duckdb_destroy_config(&config);
	if (rc)
		duck_close(db);
	else
		*out = db;
	return rc;
}

void duck_close(struct duck *db)
{
	if (!db)
		return;
	duckdb_disconnect(&db->connection);
	duckdb_close(&db->database);
	free(db);
}

void duck_interrupt_all(struct duck *db)
{
	duckdb_interrupt(db->connection);
}

int duck_exec(struct duck *db, const char *sql, struct error *err)
{
	duckdb_result result;
	int rc = 0;

	if (duckdb_query(db->connection, sql, &result) == DuckDBError)
		rc = duck_error_text(duckdb_result_error(&result), err);
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

static void duck_bind(duckdb_prepared_statement st, const char *const *params,
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

	if (duckdb_prepare(db->connection, sql, &st) == DuckDBError) {
		rc = duck_error_text(duckdb_prepare_error(st), err);
		goto out;
	}
	duck_bind(st, params, n);
	if (duckdb_execute_prepared(st, result) == DuckDBError)
		rc = duck_error_text(duckdb_result_error(result), err);
out:
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

static const duckdb_type duck_types[DUCK_KINDS] = {
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

/* An appender's text comes without the class in front. */
static enum error_code duck_append_class(duckdb_error_data data,
					 const char *text)
{
	switch (duckdb_error_data_error_type(data)) {
	case DUCKDB_ERROR_IO:
	case DUCKDB_ERROR_OUT_OF_MEMORY:
	case DUCKDB_ERROR_PERMISSION:
	case DUCKDB_ERROR_FATAL:
		return ERROR_ACCESS;
	case DUCKDB_ERROR_CATALOG:
	case DUCKDB_ERROR_BINDER:
		return ERROR_SCHEMA;
	case DUCKDB_ERROR_INTERRUPT:
		return ERROR_STOPPED;
	case DUCKDB_ERROR_CONSTRAINT:
	case DUCKDB_ERROR_CONVERSION:
	case DUCKDB_ERROR_OUT_OF_RANGE:
	case DUCKDB_ERROR_INVALID_INPUT:
		return ERROR_DATA;
	default:
		return strstr(text, "constraint") ? ERROR_DATA
						  : duck_classify(text);
	}
}

static int duck_appender_failed(struct duck_appender *a, struct error *err)
{
	duckdb_error_data data = duckdb_appender_error_data(a->appender);
	const char *text = duckdb_error_data_message(data);
	int rc = error_set(err, duck_append_class(data, text ? text : ""),
			   "duckdb: %s", text ? text : "no reason given");

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

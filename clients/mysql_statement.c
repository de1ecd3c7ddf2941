#include "clients/mysql.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "clients/mysql_session.h"
#include "core/base/alloc.h"

#ifdef MARIADB_PACKAGE_VERSION_ID
typedef my_bool mysql_client_bool;
#else
typedef bool mysql_client_bool;
#endif

/* Bytes of a value of a stream, before its buffer grows. */
#define MYSQL_CLIENT_FIRST_BYTES 256
struct mysql_client_column {
	union {
		int64_t integer;
		float float32;
		double float64;
		MYSQL_TIME time;
	} value;
	mysql_client_bool null, error;
	unsigned long length;
	uint8_t *bytes;
	size_t capacity;
};

int mysql_client_fail(struct mysql_client *db, struct error *err)
{
	return mysql_client_refused(db, mysql_errno(db->conn),
				    mysql_sqlstate(db->conn),
				    mysql_error(db->conn), err);
}

/* If a connection breaks while rows are read, the error is the connection's. */
int mysql_client_stmt_fail(struct mysql_client *db, void *stmt,
			   struct error *err)
{
	if (!mysql_stmt_errno(stmt))
		return mysql_client_fail(db, err);
	return mysql_client_refused(db, mysql_stmt_errno(stmt),
				    mysql_stmt_sqlstate(stmt),
				    mysql_stmt_error(stmt), err);
}

int mysql_client_prepare(struct mysql_client *db, const char *sql,
			 struct error *err)
{
	int rc = mysql_client_ready(db, err);

	if (rc)
		return rc;
	mysql_client_note(db, sql);
	db->stmt = mysql_stmt_init(db->conn);
	if (!db->stmt)
		return mysql_client_fail(db, err);
	if (mysql_stmt_prepare(db->stmt, sql, strlen(sql)) == 0)
		return 0;
	rc = mysql_client_stmt_fail(db, db->stmt, err);
	mysql_client_stream_abort(db);
	return rc;
}

unsigned long mysql_client_parameters(struct mysql_client *db)
{
	return mysql_stmt_param_count(db->stmt);
}

int mysql_client_execute(struct mysql_client *db, int n,
			 const char *const *params, struct error *err)
{
	MYSQL_BIND *binds = xcalloc((size_t)n + 1, sizeof(*binds));
	mysql_client_bool null = 1;
	int rc = 0;

	if (mysql_client_parameters(db) != (unsigned long)n)
		rc = error_set(err, ERROR_CONFIG,
			       "%s: a \"?\" outside of quotes in the user's "
			       "SQL",
			       db->target.where);
	for (int i = 0; !rc && i < n; i++) {
		binds[i].buffer_type = MYSQL_TYPE_STRING;
		binds[i].buffer = (void *)params[i];
		binds[i].buffer_length = params[i] ? strlen(params[i]) : 0;
		binds[i].is_null = params[i] ? NULL : &null;
	}
	if (!rc && n && mysql_stmt_bind_param(db->stmt, binds))
		rc = mysql_client_stmt_fail(db, db->stmt, err);
	/* Clear a detail that an earlier command left there. */
	((MYSQL *)db->conn)->net.last_errno = 0;
	if (!rc && mysql_stmt_execute(db->stmt))
		rc = mysql_client_stmt_fail(db, db->stmt, err);
	free(binds);
	return rc;
}

static void mysql_client_bind(struct mysql_client_column *c,
			      enum mysql_client_form form, MYSQL_BIND *bind)
{
	static const enum enum_field_types types[] = {
		[MYSQL_CLIENT_INTEGER] = MYSQL_TYPE_LONGLONG,
		[MYSQL_CLIENT_UNSIGNED] = MYSQL_TYPE_LONGLONG,
		[MYSQL_CLIENT_FLOAT] = MYSQL_TYPE_FLOAT,
		[MYSQL_CLIENT_DOUBLE] = MYSQL_TYPE_DOUBLE,
		[MYSQL_CLIENT_TIME] = MYSQL_TYPE_DATETIME,
		[MYSQL_CLIENT_BYTES] = MYSQL_TYPE_STRING,
	};

	bind->buffer_type = types[form];
	bind->is_unsigned = form == MYSQL_CLIENT_UNSIGNED;
	bind->is_null = &c->null;
	bind->error = &c->error;
	bind->length = &c->length;
	bind->buffer = &c->value;
	bind->buffer_length = sizeof(c->value);
	if (form != MYSQL_CLIENT_BYTES)
		return;
	if (!c->bytes) {
		c->capacity = MYSQL_CLIENT_FIRST_BYTES;
		c->bytes = xmalloc(c->capacity);
	}
	bind->buffer = c->bytes;
	bind->buffer_length = c->capacity;
}

enum mysql_client_form mysql_client_form_of(const struct mysql_client *db,
					    size_t column)
{
	return db->forms ? db->forms[column] : MYSQL_CLIENT_BYTES;
}

struct mysql_client_field *mysql_client_fields_read(struct mysql_client *db,
						    size_t *n)
{
	MYSQL_RES *meta = mysql_stmt_result_metadata(db->stmt);
	struct mysql_client_field *fields;

	*n = meta ? mysql_num_fields(meta) : 0;
	fields = xcalloc(*n + 1, sizeof(*fields));
	for (size_t i = 0; i < *n; i++) {
		const MYSQL_FIELD *f =
			mysql_fetch_field_direct(meta, (unsigned)i);
		fields[i] = (struct mysql_client_field){
			.name = xstrdup(f->name),
			.type = (int)f->type,
			.is_unsigned = f->flags & UNSIGNED_FLAG,
			.nullable = !(f->flags & NOT_NULL_FLAG),
			.binary = f->charsetnr == MYSQL_CLIENT_BINARY,
			.is_enum = f->flags & ENUM_FLAG,
			.is_set = f->flags & SET_FLAG,
			.length = f->length,
			.decimals = f->decimals,
		};
	}
	if (meta)
		mysql_free_result(meta);
	return fields;
}

/* TIME is bound as itself: as a DATETIME the library would add today. */
int mysql_client_bind_all(struct mysql_client *db, struct error *err)
{
	MYSQL_BIND *binds;
	MYSQL_RES *meta;
	int rc;

	db->fields = mysql_client_fields_read(db, &db->n_columns);
	db->columns = xcalloc(db->n_columns + 1, sizeof(*db->columns));
	db->cells = xcalloc(db->n_columns + 1, sizeof(*db->cells));
	binds = xcalloc(db->n_columns + 1, sizeof(*binds));
	db->binds = binds;
	for (size_t i = 0; i < db->n_columns; i++) {
		mysql_client_bind(&db->columns[i], mysql_client_form_of(db, i),
				  &binds[i]);
		if (mysql_client_form_of(db, i) == MYSQL_CLIENT_TIME)
			binds[i].buffer_type =
				(enum enum_field_types)db->fields[i].type;
	}
	meta = mysql_stmt_result_metadata(db->stmt);
	rc = meta ? mysql_client_check_columns(db, meta, err) : 0;
	if (meta)
		mysql_free_result(meta);
	if (rc)
		return rc;
	if (db->n_columns && mysql_stmt_bind_result(db->stmt, binds))
		return mysql_client_stmt_fail(db, db->stmt, err);
	return 0;
}

static void mysql_client_cell_fill(struct mysql_client_cell *cell,
				   const struct mysql_client_column *c,
				   enum mysql_client_form form)
{
	const MYSQL_TIME *t = &c->value.time;

	cell->null = c->null;
	switch (form) {
	case MYSQL_CLIENT_INTEGER:
	case MYSQL_CLIENT_UNSIGNED:
		cell->integer = c->value.integer;
		break;
	case MYSQL_CLIENT_FLOAT:
		cell->float32 = c->value.float32;
		break;
	case MYSQL_CLIENT_DOUBLE:
		cell->float64 = c->value.float64;
		break;
	case MYSQL_CLIENT_TIME:
		cell->time = (struct mysql_client_time){
			t->year,
			t->month,
			t->day,
			t->hour,
			t->minute,
			t->second,
			(unsigned)t->second_part,
			t->neg != 0,
		};
		break;
	case MYSQL_CLIENT_BYTES:
		cell->bytes = c->bytes;
		cell->n = c->length;
		break;
	}
}

/* The value is longer than its buffer: fetch it again into a larger one. */
static int mysql_client_fetch_rest(struct mysql_client *db, size_t column,
				   struct error *err)
{
	struct mysql_client_column *c = &db->columns[column];
	MYSQL_BIND *binds = db->binds;

	c->bytes = xgrow(c->bytes, &c->capacity, c->length, 1);
	mysql_client_bind(c, MYSQL_CLIENT_BYTES, &binds[column]);
	if (mysql_stmt_fetch_column(db->stmt, &binds[column], (unsigned)column,
				    0))
		return mysql_client_stmt_fail(db, db->stmt, err);
	return 1;
}

static int mysql_client_take_row(struct mysql_client *db, struct error *err)
{
	bool grown = false;
	int rc = 1;

	for (size_t i = 0; rc > 0 && i < db->n_columns; i++) {
		struct mysql_client_column *c = &db->columns[i];
		enum mysql_client_form form = mysql_client_form_of(db, i);
		if (form == MYSQL_CLIENT_BYTES && !c->null &&
		    c->length > c->capacity) {
			rc = mysql_client_fetch_rest(db, i, err);
			grown = true;
		} else if (form != MYSQL_CLIENT_BYTES && !c->null && c->error) {
			rc = error_set(err, ERROR_SCHEMA,
				       "%s: column %zu of the rows changed its "
				       "type while it was read",
				       db->target.where, i + 1);
		}
		if (rc > 0)
			mysql_client_cell_fill(&db->cells[i], c, form);
	}
	if (rc > 0 && grown && mysql_stmt_bind_result(db->stmt, db->binds))
		rc = mysql_client_stmt_fail(db, db->stmt, err);
	return rc;
}

int mysql_client_stream_next(struct mysql_client *db, struct error *err)
{
	int rc;

	if (!db->stmt)
		return 0;
	rc = mysql_stmt_fetch(db->stmt);
	if (rc == 0 || rc == MYSQL_DATA_TRUNCATED) {
		rc = mysql_client_take_row(db, err);
	} else if (rc == MYSQL_NO_DATA && !mysql_stmt_errno(db->stmt) &&
		   !mysql_errno(db->conn)) {
		rc = 0;
	} else {
		rc = mysql_client_stmt_fail(db, db->stmt, err);
	}
	if (rc <= 0)
		mysql_client_stream_abort(db);
	return rc;
}

const struct mysql_client_cell *
mysql_client_stream_row(const struct mysql_client *db)
{
	return db->cells;
}

const struct mysql_client_field *
mysql_client_stream_fields(const struct mysql_client *db)
{
	return db->fields;
}

void mysql_client_stream_abort(struct mysql_client *db)
{
	if (db->stmt)
		mysql_stmt_close(db->stmt);
	for (size_t i = 0; i < db->n_columns; i++)
		free(db->columns[i].bytes);
	mysql_client_fields_free(db->fields, db->n_columns);
	db->fields = NULL;
	free(db->columns);
	free(db->cells);
	free(db->binds);
	db->stmt = db->binds = NULL;
	db->columns = NULL;
	db->cells = NULL;
	db->forms = NULL;
	db->n_columns = 0;
}

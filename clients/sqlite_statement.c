#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "clients/sqlite_handle.h"
#include "core/base/alloc.h"

int sqlite_prepare(struct sqlite *db, struct sqlite_statement **out,
		   const char *sql, struct error *err)
{
	struct sqlite_statement *st;
	sqlite3_stmt *handle = NULL;

	if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
			       &handle, NULL) != SQLITE_OK)
		return sqlite_fail(db, false, err);
	st = xcalloc(1, sizeof(*st));
	st->db = db;
	st->handle = handle;
	*out = st;
	return 0;
}

/* Behind the statement there may be space and comments. */
static int sqlite_check_rest(struct sqlite *db, const char *rest,
			     struct error *err)
{
	sqlite3_stmt *more = NULL;
	int code = sqlite3_prepare_v2(db->handle, rest, -1, &more, NULL);

	sqlite3_finalize(more);
	return code != SQLITE_OK || more
		       ? error_set(err, ERROR_CONFIG,
				   "it is more than one statement")
		       : 0;
}

int sqlite_exec_one(struct sqlite *db, const char *sql, struct error *err)
{
	struct sqlite_statement st = { .db = db };
	const char *rest = "";
	int rc = 0;

	if (sqlite3_prepare_v2(db->handle, sql, -1, &st.handle, &rest) !=
	    SQLITE_OK)
		return sqlite_fail(db, false, err);
	if (!st.handle)
		return error_set(err, ERROR_CONFIG, "it is no statement");
	rc = sqlite_check_rest(db, rest, err);
	do {
		rc = rc < 0 ? rc : sqlite_step(&st, err);
	} while (rc == 1);
	sqlite3_finalize(st.handle);
	return rc;
}

void sqlite_finalize(struct sqlite_statement *st)
{
	if (!st)
		return;
	sqlite3_finalize(st->handle);
	free(st);
}

int sqlite_step(struct sqlite_statement *st, struct error *err)
{
	int code = st->too_big ? SQLITE_TOOBIG : sqlite3_step(st->handle);
	int rc = 0;

	if (code == SQLITE_ROW)
		return 1;
	if (st->too_big)
		rc = sqlite_fail_code(err, st->db->path, code, true,
				      "a value is too big");
	else if (code != SQLITE_DONE)
		rc = sqlite_fail(st->db, true, err);
	sqlite_reset(st);
	return rc;
}

void sqlite_reset(struct sqlite_statement *st)
{
	sqlite3_reset(st->handle);
	st->too_big = false;
}

void sqlite_bind_null_at(struct sqlite_statement *st, int at)
{
	sqlite3_bind_null(st->handle, at);
}

void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value)
{
	sqlite3_bind_int64(st->handle, at, value);
}

void sqlite_bind_f64(struct sqlite_statement *st, int at, double value)
{
	sqlite3_bind_double(st->handle, at, value);
}

void sqlite_bind_str(struct sqlite_statement *st, int at, const char *value,
		     int64_t n)
{
	if (n > INT_MAX || sqlite3_bind_text(st->handle, at, value, (int)n,
					     SQLITE_STATIC) != SQLITE_OK)
		st->too_big = true;
}

void sqlite_bind_bytes(struct sqlite_statement *st, int at, const void *value,
		       size_t n)
{
	/* A NULL pointer would be NULL; no bytes are a value. */
	if (n > INT_MAX ||
	    sqlite3_bind_blob(st->handle, at, n ? value : "", (int)n,
			      SQLITE_STATIC) != SQLITE_OK)
		st->too_big = true;
}

void sqlite_bind_copy(struct sqlite_statement *st, int at, bool text,
		      const void *value, size_t n)
{
	int code = text ? sqlite3_bind_text(st->handle, at, value, (int)n,
					    SQLITE_TRANSIENT)
			: sqlite3_bind_blob(st->handle, at, n ? value : "",
					    (int)n, SQLITE_TRANSIENT);

	if (n > INT_MAX || code != SQLITE_OK)
		st->too_big = true;
}

int sqlite_columns(struct sqlite_statement *st)
{
	return sqlite3_column_count(st->handle);
}

bool sqlite_is_null(struct sqlite_statement *st, int column)
{
	return sqlite3_column_type(st->handle, column) == SQLITE_NULL;
}

int64_t sqlite_i64(struct sqlite_statement *st, int column)
{
	return sqlite3_column_int64(st->handle, column);
}

double sqlite_f64(struct sqlite_statement *st, int column)
{
	return sqlite3_column_double(st->handle, column);
}

const char *sqlite_str(struct sqlite_statement *st, int column)
{
	return (const char *)sqlite3_column_text(st->handle, column);
}

int sqlite_parameters(struct sqlite_statement *st)
{
	return sqlite3_bind_parameter_count(st->handle);
}

const char *sqlite_column_title(struct sqlite_statement *st, int column)
{
	return sqlite3_column_name(st->handle, column);
}

const char *sqlite_declared(struct sqlite_statement *st, int column)
{
	return sqlite3_column_decltype(st->handle, column);
}

void sqlite_origin(struct sqlite_statement *st, int at, const char **table,
		   const char **column)
{
	*table = *column = NULL;
#ifdef TIDEMARK_SQLITE_ORIGINS
	*table = sqlite3_column_table_name(st->handle, at);
	*column = sqlite3_column_origin_name(st->handle, at);
#else
	(void)st;
	(void)at;
#endif
}

enum sqlite_class sqlite_class_of(struct sqlite_statement *st, int column)
{
	switch (sqlite3_column_type(st->handle, column)) {
	case SQLITE_INTEGER:
		return SQLITE_CLASS_INTEGER;
	case SQLITE_FLOAT:
		return SQLITE_CLASS_REAL;
	case SQLITE_TEXT:
		return SQLITE_CLASS_TEXT;
	case SQLITE_BLOB:
		return SQLITE_CLASS_BLOB;
	default:
		return SQLITE_CLASS_NULL;
	}
}

const void *sqlite_bytes(struct sqlite_statement *st, int column, size_t *n)
{
	const void *bytes =
		sqlite3_column_type(st->handle, column) == SQLITE_BLOB
			? sqlite3_column_blob(st->handle, column)
			: (const void *)sqlite3_column_text(st->handle, column);

	/* In this order: the length is of the form that was asked for last. */
	*n = (size_t)sqlite3_column_bytes(st->handle, column);
	return bytes ? bytes : "";
}

int sqlite_read(struct sqlite_statement *st, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = sqlite_step(st, &why);

	if (rc >= 0)
		return rc;
	/* The statement was fit to run: it is a value that it stumbled on. Or a
	 * view that wants more than its file. */
	if (why.code == ERROR_SCHEMA && !strstr(why.message, "no such") &&
	    !strstr(why.message, "unsafe use"))
		why.code = ERROR_DATA;
	if (err && !err->code)
		*err = why;
	return -(int)why.code;
}

const char *sqlite_text(const struct sqlite_statement *st)
{
	return sqlite3_sql(st->handle);
}

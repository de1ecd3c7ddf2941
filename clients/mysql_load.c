#include "clients/mysql_load.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/mysql_local.h"
#include "clients/mysql_session.h"
#include "core/base/alloc.h"

/* "?" in one statement are counted in 16 bits. */
#define INSERT_PARAMETERS 65535
#define INSERT_ROWS	  1000
/* Bulk execution: MariaDB 10.2.6. */
#define ARRAYS_SINCE 100206

/* The first of the warnings that the last command left. */
static int load_warnings(struct mysql_client *db,
			 struct mysql_client_loaded *out, struct error *err)
{
	struct mysql_client_result *r = NULL;
	char *load;
	int rc;

	out->warnings = mysql_warning_count(db->conn);
	if (!out->warnings)
		return 0;
	/* They tell of the LOAD. */
	load = xstrdup(db->sql);
	rc = mysql_client_query(db, &r, "SHOW WARNINGS LIMIT 1", "ttt", 0, NULL,
				err);
	mysql_client_note(db, load);
	free(load);
	if (!rc && mysql_client_rows(r)) {
		char *told;

		out->number = (unsigned)strtoul(mysql_client_value(r, 0, 1),
						NULL, 10);
		told = mysql_client_told(db, out->number, "22000",
					 mysql_client_value(r, 0, 2));
		snprintf(out->message, sizeof(out->message), "%s", told);
		free(told);
	}
	mysql_client_result_free(r);
	return rc;
}

/* Rows that were left out without a warning count as a warning, too. */
static void load_skipped(struct mysql_client *db,
			 struct mysql_client_loaded *out)
{
	const char *info = mysql_info(db->conn);
	const char *skipped = info ? strstr(info, "Skipped: ") : NULL;

	if (skipped && !out->warnings)
		out->warnings = (unsigned)strtoul(skipped + strlen("Skipped: "),
						  NULL, 10);
}

int mysql_client_load(struct mysql_client *db, const char *into,
		      mysql_client_piece next, void *ctx,
		      struct mysql_client_loaded *out, struct error *err)
{
	struct mysql_client_local *l = db->local;
	struct error given_up = ERROR_INIT;
	char *sql;
	int rc = mysql_client_ready(db, err);

	if (rc)
		return rc;
	*out = (struct mysql_client_loaded){ .rows = 0 };
	mysql_client_local_arm(l, next, ctx, &given_up);
	sql = xstrfmt("LOAD DATA LOCAL INFILE '%s' %s", l->token, into);
	mysql_client_note(db, sql);
	rc = mysql_real_query(db->conn, sql, strlen(sql))
		     ? mysql_client_fail(db, err)
		     : 0;
	l->armed = false;
	free(sql);
	if (l->rc < 0 && (!rc || mysql_client_alive(db))) {
		error_clear(err);
		return error_set(err, given_up.code, "%s", given_up.message);
	}
	if (rc)
		return rc;
	out->rows = (int64_t)mysql_affected_rows(db->conn);
	load_skipped(db, out);
	return load_warnings(db, out, err);
}

bool mysql_client_load_forbidden(const struct error *err)
{
	static const unsigned numbers[] = {
		1148, /* MySQL 5.7, MariaDB before 10.5 */
		2068, /* the client library */
		3948, /* MySQL 8 */
		4166, /* MariaDB 10.5 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (mysql_client_failed_with(err, numbers[i]))
			return true;
	return false;
}

int mysql_client_exec_begin(struct mysql_client *db, const char *sql,
			    struct error *err)
{
	int rc = mysql_client_ready(db, err);

	if (!rc && mysql_send_query(db->conn, sql, strlen(sql)))
		rc = mysql_client_fail(db, err);
	return rc;
}

int mysql_client_exec_end(struct mysql_client *db, struct error *err)
{
	if (mysql_read_query_result(db->conn))
		return mysql_client_fail(db, err);
	return 0;
}

int mysql_client_exec_count(struct mysql_client *db, const char *sql, int n,
			    const char *const *params, int64_t *affected,
			    struct error *err)
{
	int rc;

	if (!n) {
		rc = mysql_client_plain(db, sql, NULL, err);
		if (!rc && affected)
			*affected = (int64_t)mysql_affected_rows(db->conn);
		return rc;
	}
	rc = mysql_client_prepare(db, sql, err);
	if (!rc)
		rc = mysql_client_execute(db, n, params, err);
	if (!rc && affected)
		*affected = (int64_t)mysql_stmt_affected_rows(db->stmt);
	mysql_client_stream_abort(db);
	return rc;
}

/* A new row counts once, a changed one twice; the library's text tells them
 * apart. */
int mysql_client_exec_merge(struct mysql_client *db, const char *sql,
			    int64_t *inserted, int64_t *updated,
			    struct error *err)
{
	int rc = mysql_client_plain(db, sql, NULL, err);
	const char *info, *at;

	if (rc)
		return rc;
	info = mysql_info(db->conn);
	at = info ? strstr(info, "Duplicates: ") : NULL;
	if (!at)
		return error_set(err, ERROR_BUG, "%s: counts of a merge: %s",
				 db->target.where, info ? info : "none");
	*updated = strtoll(at + strlen("Duplicates: "), NULL, 10);
	*inserted = (int64_t)mysql_affected_rows(db->conn) - 2 * *updated;
	return 0;
}

#ifdef MARIADB_PACKAGE_VERSION_ID
static bool insert_has_arrays(const struct mysql_client *db)
{
	return db->mariadb && db->version >= ARRAYS_SINCE;
}

/* One column's values, as the library takes them. */
struct insert_column {
	const char **values;
	unsigned long *lengths;
	char *nulls;
};

static void insert_column_fill(struct insert_column *c, MYSQL_BIND *bind,
			       const struct mysql_client_value *values,
			       size_t stride, size_t n_rows)
{
	c->values = xcalloc(n_rows, sizeof(*c->values));
	c->lengths = xcalloc(n_rows, sizeof(*c->lengths));
	c->nulls = xcalloc(n_rows, 1);
	for (size_t row = 0; row < n_rows; row++) {
		const struct mysql_client_value *v = &values[row * stride];

		c->values[row] = v->bytes ? v->bytes : "";
		c->lengths[row] = v->n;
		c->nulls[row] =
			v->bytes ? STMT_INDICATOR_NONE : STMT_INDICATOR_NULL;
	}
	bind->buffer_type =
		values->binary ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
	bind->buffer = (void *)c->values;
	bind->length = c->lengths;
	bind->u.indicator = c->nulls;
}

static int insert_arrays(struct mysql_client *db,
			 const struct mysql_client_value *values,
			 size_t n_columns, size_t n_rows, struct error *err)
{
	MYSQL_BIND *binds = xcalloc(n_columns, sizeof(*binds));
	struct insert_column *columns = xcalloc(n_columns, sizeof(*columns));
	unsigned n = (unsigned)n_rows;
	int rc = 0;

	for (size_t i = 0; i < n_columns; i++)
		insert_column_fill(&columns[i], &binds[i], &values[i],
				   n_columns, n_rows);
	if (mysql_stmt_attr_set(db->insert, STMT_ATTR_ARRAY_SIZE, &n) ||
	    mysql_stmt_bind_param(db->insert, binds) ||
	    mysql_stmt_execute(db->insert))
		rc = mysql_client_stmt_fail(db, db->insert, err);
	for (size_t i = 0; i < n_columns; i++) {
		free(columns[i].values);
		free(columns[i].lengths);
		free(columns[i].nulls);
	}
	free(columns);
	free(binds);
	return rc;
}
#else
static bool insert_has_arrays(const struct mysql_client *db)
{
	(void)db;
	return false;
}

static int insert_arrays(struct mysql_client *db,
			 const struct mysql_client_value *values,
			 size_t n_columns, size_t n_rows, struct error *err)
{
	(void)db;
	(void)values;
	return error_set(err, ERROR_BUG, "%zu x %zu values, and no arrays",
			 n_columns, n_rows);
}
#endif

static int insert_many(struct mysql_client *db,
		       const struct mysql_client_value *values, size_t n,
		       struct error *err)
{
	MYSQL_BIND *binds = xcalloc(n, sizeof(*binds));
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		const struct mysql_client_value *v = &values[i];

		binds[i].buffer_type = !v->bytes   ? MYSQL_TYPE_NULL
				       : v->binary ? MYSQL_TYPE_BLOB
						   : MYSQL_TYPE_STRING;
		binds[i].buffer = (void *)(uintptr_t)v->bytes;
		binds[i].buffer_length = v->n;
	}
	if (mysql_stmt_bind_param(db->insert, binds) ||
	    mysql_stmt_execute(db->insert))
		rc = mysql_client_stmt_fail(db, db->insert, err);
	free(binds);
	return rc;
}

void mysql_client_insert_end(struct mysql_client *db)
{
	if (db->insert)
		mysql_stmt_close(db->insert);
	free(db->insert_sql);
	db->insert = NULL;
	db->insert_sql = NULL;
}

static int insert_prepare(struct mysql_client *db, const char *sql,
			  struct error *err)
{
	int rc = mysql_client_ready(db, err);

	if (!rc)
		mysql_client_note(db, sql);
	if (rc || (db->insert && strcmp(db->insert_sql, sql) == 0))
		return rc;
	mysql_client_insert_end(db);
	db->insert = mysql_stmt_init(db->conn);
	if (!db->insert)
		return mysql_client_fail(db, err);
	db->insert_sql = xstrdup(sql);
	if (!mysql_stmt_prepare(db->insert, sql, strlen(sql)))
		return 0;
	rc = mysql_client_stmt_fail(db, db->insert, err);
	mysql_client_insert_end(db);
	return rc;
}

size_t mysql_client_insert_rows(const struct mysql_client *db, size_t n_columns)
{
	size_t rows = INSERT_PARAMETERS / (n_columns ? n_columns : 1);

	return insert_has_arrays(db) || rows > INSERT_ROWS ? INSERT_ROWS : rows;
}

int mysql_client_insert(struct mysql_client *db, const char *head,
			const char *row,
			const struct mysql_client_value *values,
			size_t n_columns, size_t n_rows,
			struct mysql_client_loaded *out, struct error *err)
{
	bool arrays = insert_has_arrays(db);
	struct strbuf sql = STRBUF_INIT;
	int rc;

	*out = (struct mysql_client_loaded){ .rows = 0 };
	strbuf_addf(&sql, "%s VALUES %s", head, row);
	for (size_t i = 1; !arrays && i < n_rows; i++)
		strbuf_addf(&sql, ", %s", row);
	rc = insert_prepare(db, sql.data, err);
	strbuf_release(&sql);
	if (!rc)
		rc = arrays ? insert_arrays(db, values, n_columns, n_rows, err)
			    : insert_many(db, values, n_columns * n_rows, err);
	if (rc)
		return rc;
	out->rows = (int64_t)mysql_stmt_affected_rows(db->insert);
	return load_warnings(db, out, err);
}

#include "clients/mysql_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/answer.h"
#include "clients/mysql_errno.h"
#include "core/base/alloc.h"
#include "core/base/row_values.h"

#define MYDB_SIGNAL 1644 /* SIGNAL that names no number */

/* After these the connection is gone, whatever the library says. */
static bool mydb_is_lost(unsigned number)
{
	switch (number) {
	case 0: /* the library's own trouble with what came */
	case 1053: /* server shutdown */
	case 1927: /* connection killed */
	case 2006: /* server gone away */
	case 2013: /* lost connection */
	case 2014: /* commands out of sync: an answer that is not the protocol
		    */
	case 2027: /* malformed packet */
	case 2055: /* lost connection, extended */
	case 4031: /* idle session ended */
		return true;
	default:
		return false;
	}
}

void mydb_note(struct mydb *db, const char *sql)
{
	if (db->sql == sql)
		return;
	free(db->sql);
	db->sql = xstrdup(sql);
}

/* The name in an error that tells no column of ours: of a key, a constraint, a
 * column that the statement leaves out. NULL: none. Caller frees. */
static char *mydb_name_given(unsigned number, const char *text)
{
	static const struct {
		unsigned number;
		const char *begin, *before;
	} forms[] = {
		{ 1062, "Duplicate entry '", " for key '" },
		{ 1364, "Field '", "Field '" },
		{ 3819, "Check constraint '", "Check constraint '" },
	};
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *at = text;

		if (forms[i].number != number ||
		    strncmp(text, forms[i].begin, strlen(forms[i].begin)) != 0)
			continue;
		while ((at = strstr(at, forms[i].before)) != NULL)
			name = at += strlen(forms[i].before);
	}
	return name ? xstrndup(name, strcspn(name, "'")) : NULL;
}

/* A trigger may signal any number with any text: only names that were sent, or
 * that the server itself has, are told. */
static char *mydb_cleaned(const struct mydb *db, unsigned number,
			  enum error_code code, const char *text)
{
	static const char *const tails[] = { " for key ",      " for column ",
					     " for function ", " at row ",
					     " for table ",    NULL };
	static const char *const cuts[] = { "partition for value ", NULL };
	char *given = mydb_name_given(number, text);
	const char *names[] = {
		mydb_database(db),
		db->target.server.user,
		"field list",
		"where clause",
		"on clause",
		"having clause",
		"order clause",
		"group statement",
		"PRIMARY",
		"max_allowed_packet",
		"Too many columns",
		"Permission denied",
		"Read-only file system",
		"Foreign key constraint is incorrectly formed",
		"No space left on device",
		given,
		NULL,
	};
	struct row_value_words words = {
		.tails = tails,
		.cuts = cuts,
		.numbers = row_values_told_by(code),
		.statement = db->sql,
		.names = names,
		.strict = row_values_told_by(code),
	};
	struct strbuf out = STRBUF_INIT;

	if (row_values_add(&out, text, &words))
		row_values_note(&out);
	free(given);
	return strbuf_detach(&out);
}

/* The client library's own words, and what is said before any statement. */
static bool mydb_is_session(const struct mydb *db, unsigned number)
{
	return !db->sql || number == 0 || (number >= 2000 && number < 3000);
}

char *mydb_told(const struct mydb *db, unsigned number, const char *state,
		const char *text)
{
	struct strbuf out = STRBUF_INIT;

	if (row_values_shown() || mydb_is_session(db, number))
		return xstrdup(text);
	if (!strcmp(text, "Subquery returns more than 1 row"))
		return xstrdup(text);
	/* The words of a trigger or routine: its author may have put values of
	 * the row into them. */
	if (number != MYDB_SIGNAL && strncmp(state, "45", 2) != 0)
		return mydb_cleaned(db, number, mydb_errno_code(number, state),
				    text);
	strbuf_addstr(&out, "a trigger or routine refused the row");
	row_values_note(&out);
	return strbuf_detach(&out);
}

int mydb_refused(struct mydb *db, unsigned number, const char *state,
		 const char *text, struct error *err)
{
	unsigned meant = mydb_errno_meant(number, text);
	/* Without a number the library did not understand what came. */
	enum error_code code =
		number ? mydb_errno_code(meant, state) : ERROR_TRANSIENT;
	char *told;

	db->lost |= mydb_is_lost(number);
	if (atomic_load(&db->interrupted))
		return error_set(err, ERROR_STOPPED, "%s: interrupted",
				 db->target.where);
	if (err && !err->code)
		snprintf(err->server_code, sizeof(err->server_code), "%u",
			 number);
	/* The library says nothing when memory fails it. */
	told = mydb_told(db, number, state, text);
	error_set(err, code, "%s: %s", db->target.where,
		  *told ? told
			: "the client library gave no reason; was there "
			  "no memory left?");
	free(told);
	if (*mydb_errno_hint(meant))
		error_hint(err, "%s", mydb_errno_hint(meant));
	return -(int)code;
}

bool mydb_failed_with(const struct error *err, unsigned number)
{
	return strtoul(err->server_code, NULL, 10) == number;
}

int mydb_ready(struct mydb *db, struct error *err)
{
	if (atomic_load(&db->interrupted))
		return error_set(err, ERROR_STOPPED, "%s: interrupted",
				 db->target.where);
	if (db->lost)
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the connection was lost",
				 db->target.where);
	if (db->stmt)
		return error_set(err, ERROR_BUG,
				 "%s: a statement inside a stream",
				 db->target.where);
	return 0;
}

void mydb_quote(struct strbuf *sb, const char *text)
{
	strbuf_addch(sb, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			strbuf_addch(sb, *text);
		strbuf_addch(sb, *text);
	}
	strbuf_addch(sb, '\'');
}

void mydb_set_folds(struct mydb *db, bool folds)
{
	db->folds = folds;
}

bool mydb_folds(const struct mydb *db)
{
	return db->folds;
}

bool mydb_is_mariadb(const struct mydb *db)
{
	return db->mariadb;
}

unsigned long mydb_version(const struct mydb *db)
{
	return db->version;
}

unsigned long mydb_session(const struct mydb *db)
{
	return db->id;
}

const char *mydb_database(const struct mydb *db)
{
	return db->target.server.database ? db->target.server.database : "";
}

bool mydb_alive(const struct mydb *db)
{
	return !db->lost;
}

void mydb_fields_free(struct mydb_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(fields[i].name);
	free(fields);
}

struct mydb_result *mydb_result_new(size_t n_columns)
{
	struct mydb_result *r = xcalloc(1, sizeof(*r));

	r->n_columns = n_columns;
	r->names = xcalloc(n_columns + 1, sizeof(*r->names));
	return r;
}

void mydb_result_name(struct mydb_result *r, size_t column, const char *name)
{
	free(r->names[column]);
	r->names[column] = xstrdup(name);
}

void mydb_result_add(struct mydb_result *r, const char *text, size_t n)
{
	size_t at = r->n_values++;

	r->values = xgrow(r->values, &r->capacity, at + 1, sizeof(*r->values));
	r->values[at] = text ? xstrndup(text, n) : NULL;
}

void mydb_result_free(struct mydb_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_values; i++)
		free(r->values[i]);
	for (size_t i = 0; i < r->n_columns; i++)
		free(r->names[i]);
	free(r->names);
	free(r->values);
	free(r);
}

size_t mydb_rows(const struct mydb_result *r)
{
	return r->n_columns ? r->n_values / r->n_columns : 0;
}

size_t mydb_columns(const struct mydb_result *r)
{
	return r->n_columns;
}

const char *mydb_name(const struct mydb_result *r, size_t column)
{
	return r->names[column] ? r->names[column] : "";
}

const char *mydb_value(const struct mydb_result *r, size_t row, size_t column)
{
	if (column >= r->n_columns || row >= mydb_rows(r))
		return NULL;
	return r->values[row * r->n_columns + column];
}

static int mydb_check_forms(const struct mydb *db,
			    const struct mydb_field *fields, size_t got,
			    const enum mydb_form *forms, size_t n,
			    struct error *err)
{
	if (got != n)
		return error_set(err, ERROR_CONFIG,
				 "%s: an expression gives more than one column",
				 db->target.where);
	for (size_t i = 0; i < n; i++) {
		if (!mydb_form_fits(forms[i], fields[i].type))
			return error_set(err, ERROR_SCHEMA,
					 "%s: the table was altered since it "
					 "was looked at: column %zu has "
					 "another type",
					 db->target.where, i + 1);
	}
	return 0;
}

/* As prepared, and as executed: in between the server prepares a statement
 * anew, of its own accord, if its table was altered. */
int mydb_stream_begin(struct mydb *db, const char *sql, int n,
		      const char *const *params, const enum mydb_form *forms,
		      size_t n_columns, struct error *err)
{
	int rc = mydb_prepare(db, sql, err);
	struct mydb_field *fields;
	size_t got = 0;

	if (rc)
		return rc;
	fields = mydb_fields_read(db, &got);
	rc = mydb_check_forms(db, fields, got, forms, n_columns, err);
	mydb_fields_free(fields, got);
	if (!rc)
		rc = mydb_execute(db, n, params, err);
	db->forms = forms;
	if (!rc)
		rc = mydb_bind_all(db, err);
	if (!rc)
		rc = mydb_check_forms(db, db->fields, db->n_columns, forms,
				      n_columns, err);
	if (rc)
		mydb_stream_abort(db);
	return rc;
}

static bool mydb_is_null(const void *result, size_t row, size_t column)
{
	return !mydb_value(result, row, column);
}

static int mydb_take_rows(struct mydb *db, struct mydb_result *out,
			  struct error *err)
{
	int rc;

	while ((rc = mydb_stream_next(db, err)) > 0) {
		for (size_t i = 0; i < db->n_columns; i++)
			mydb_result_add(
				out,
				db->cells[i].null
					? NULL
					: (const char *)db->cells[i].bytes,
				db->cells[i].n);
	}
	return rc;
}

static int mydb_prepared(struct mydb *db, const char *sql, int n,
			 const char *const *params, struct mydb_result **out,
			 struct error *err)
{
	int rc = mydb_prepare(db, sql, err);

	if (!rc)
		rc = mydb_execute(db, n, params, err);
	if (!rc)
		rc = mydb_bind_all(db, err);
	if (!rc) {
		*out = mydb_result_new(db->n_columns);
		rc = mydb_take_rows(db, *out, err);
	}
	mydb_stream_abort(db);
	return rc;
}

int mydb_query(struct mydb *db, struct mydb_result **out, const char *sql,
	       const char *shape, int n, const char *const *params,
	       struct error *err)
{
	struct mydb_result *r = NULL;
	struct answer a = { .is_null = mydb_is_null };
	int rc = n ? mydb_prepared(db, sql, n, params, &r, err)
		   : mydb_plain(db, sql, &r, err);

	if (!rc) {
		a.result = r;
		a.n_rows = mydb_rows(r);
		a.n_columns = mydb_columns(r);
		rc = answer_check(&a, shape, db->target.where, err);
	}
	if (rc)
		mydb_result_free(r);
	else
		*out = r;
	return rc;
}

int mydb_describe(struct mydb *db, const char *sql, struct mydb_field **out,
		  size_t *n, unsigned long *parameters, struct error *err)
{
	int rc = mydb_prepare(db, sql, err);

	if (rc)
		return rc;
	if (parameters)
		*parameters = mydb_parameters(db);
	*out = mydb_fields_read(db, n);
	mydb_stream_abort(db);
	return 0;
}

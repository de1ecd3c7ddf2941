#include "clients/mysql_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/answer.h"
#include "clients/mysql_errno.h"
#include "clients/mysql_wording.h"
#include "core/base/alloc.h"
#include "core/base/row_values.h"
#include "core/base/wording.h"

#define MYSQL_CLIENT_SIGNAL 1644 /* SIGNAL that names no number */
#define MYSQL_CLIENT_NAMES  160 /* as many as mysql_wording.c has, and more */

/* After these the connection is gone, whatever the library says. */
static bool mysql_client_is_lost(unsigned number)
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

void mysql_client_note(struct mysql_client *db, const char *sql)
{
	if (db->sql == sql)
		return;
	free(db->sql);
	db->sql = xstrdup(sql);
}

/* A trigger or a routine may signal any number with any text. A text that is
 * not worded as the server words its own is not told. From a text that is, only
 * names are told that were sent or that the server itself has. */
static char *mysql_client_cleaned(const struct mysql_client *db,
				  unsigned number, const char *state,
				  const char *text)
{
	const char *names[MYSQL_CLIENT_NAMES];
	const struct wording_words words = {
		.known = { .statement = db->sql, .names = names },
		/* A view of a source has no keys to violate. */
		.given = !db->reads,
	};
	struct strbuf out = STRBUF_INIT;
	const char *why = mysql_client_errno_why(number);
	bool left_out = true;
	size_t n = 0;

	names[n++] = mysql_client_database(db);
	if (db->target.server.user)
		names[n++] = db->target.server.user;
	for (size_t i = 0; mysql_client_words[i] && n < ARRAY_SIZE(names) - 1;
	     i++)
		names[n++] = mysql_client_words[i];
	names[n] = NULL;
	if (!wording_add(&out, text, mysql_client_wordings, &words, &left_out))
		strbuf_addf(&out,
			    "error %u (SQLSTATE %s)%s%s, with a text that is "
			    "not the server's own and is left out",
			    number, state, *why ? ": " : "", why);
	if (left_out)
		row_values_note(&out);
	return strbuf_detach(&out);
}

/* The client library's own words, and errors before any statement. */
static bool mysql_client_is_session(const struct mysql_client *db,
				    unsigned number)
{
	return !db->sql || number == 0 || (number >= 2000 && number < 3000);
}

char *mysql_client_told(const struct mysql_client *db, unsigned number,
			const char *state, const char *text)
{
	struct strbuf out = STRBUF_INIT;

	if (row_values_shown() || mysql_client_is_session(db, number))
		return xstrdup(text);
	/* The words of a trigger or routine: its author may have put values of
	 * the row into them. */
	if (number != MYSQL_CLIENT_SIGNAL && strncmp(state, "45", 2) != 0)
		return mysql_client_cleaned(db, number, state, text);
	strbuf_addstr(&out, "a trigger or routine refused the row");
	row_values_note(&out);
	return strbuf_detach(&out);
}

int mysql_client_refused(struct mysql_client *db, unsigned number,
			 const char *state, const char *text, struct error *err)
{
	unsigned meant = mysql_client_errno_meant(number, text);
	/* Without a number the library did not understand what came. */
	enum error_code code = number ? mysql_client_errno_code(meant, state)
				      : ERROR_TRANSIENT;
	char *told;

	db->lost |= mysql_client_is_lost(number);
	db->refused |= code == ERROR_ACCESS;
	if (atomic_load(&db->interrupted))
		return error_set(err, ERROR_STOPPED, "%s: interrupted",
				 db->target.where);
	if (err && !err->code)
		snprintf(err->server_code, sizeof(err->server_code), "%u",
			 number);
	/* The library says nothing when memory fails it. */
	told = mysql_client_told(db, number, state, text);
	error_set(err, code, "%s: %s", db->target.where,
		  *told ? told
			: "the client library gave no reason; was there "
			  "no memory left?");
	free(told);
	if (*mysql_client_errno_hint(meant))
		error_hint(err, "%s", mysql_client_errno_hint(meant));
	return -(int)code;
}

bool mysql_client_failed_with(const struct error *err, unsigned number)
{
	return strtoul(err->server_code, NULL, 10) == number;
}

int mysql_client_ready(struct mysql_client *db, struct error *err)
{
	mysql_client_forget_ahead(db);
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

void mysql_client_quote(struct strbuf *sb, const char *text)
{
	strbuf_addch(sb, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			strbuf_addch(sb, *text);
		strbuf_addch(sb, *text);
	}
	strbuf_addch(sb, '\'');
}

void mysql_client_set_folds(struct mysql_client *db, bool folds)
{
	db->folds = folds;
}

bool mysql_client_folds(const struct mysql_client *db)
{
	return db->folds;
}

bool mysql_client_is_mariadb(const struct mysql_client *db)
{
	return db->mariadb;
}

unsigned long mysql_client_version(const struct mysql_client *db)
{
	return db->version;
}

unsigned long mysql_client_session(const struct mysql_client *db)
{
	return db->id;
}

const char *mysql_client_database(const struct mysql_client *db)
{
	return db->target.server.database ? db->target.server.database : "";
}

bool mysql_client_alive(const struct mysql_client *db)
{
	return !db->lost;
}

int mysql_client_check_charset(struct mysql_client *db, unsigned charset,
			       struct error *err)
{
	if (charset == MYSQL_CLIENT_BINARY)
		return 0;
	if (!db->pinned && !db->charset)
		db->charset = charset;
	if (charset == db->charset)
		return 0;
	db->lost = true;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the session's character set changed in its "
			 "middle (number %u became %u); text would be "
			 "falsified. A proxy or a pooler gives statements to "
			 "other sessions: connect to the server itself",
			 db->target.where, db->charset, charset);
}

void mysql_client_fields_free(struct mysql_client_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(fields[i].name);
	free(fields);
}

struct mysql_client_result *mysql_client_result_new(size_t n_columns)
{
	struct mysql_client_result *r = xcalloc(1, sizeof(*r));

	r->n_columns = n_columns;
	r->names = xcalloc(n_columns + 1, sizeof(*r->names));
	return r;
}

void mysql_client_result_name(struct mysql_client_result *r, size_t column,
			      const char *name)
{
	free(r->names[column]);
	r->names[column] = xstrdup(name);
}

void mysql_client_result_add(struct mysql_client_result *r, const char *text,
			     size_t n)
{
	size_t at = r->n_values++;

	r->values = xgrow(r->values, &r->capacity, at + 1, sizeof(*r->values));
	r->values[at] = text ? xstrndup(text, n) : NULL;
}

void mysql_client_result_free(struct mysql_client_result *r)
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

size_t mysql_client_rows(const struct mysql_client_result *r)
{
	return r->n_columns ? r->n_values / r->n_columns : 0;
}

size_t mysql_client_columns(const struct mysql_client_result *r)
{
	return r->n_columns;
}

const char *mysql_client_name(const struct mysql_client_result *r,
			      size_t column)
{
	return r->names[column] ? r->names[column] : "";
}

const char *mysql_client_value(const struct mysql_client_result *r, size_t row,
			       size_t column)
{
	if (column >= r->n_columns || row >= mysql_client_rows(r))
		return NULL;
	return r->values[row * r->n_columns + column];
}

static int mysql_client_check_forms(const struct mysql_client *db,
				    const struct mysql_client_field *fields,
				    size_t got,
				    const enum mysql_client_form *forms,
				    size_t n, struct error *err)
{
	if (got != n)
		return error_set(err, ERROR_CONFIG,
				 "%s: an expression gives more than one column",
				 db->target.where);
	for (size_t i = 0; i < n; i++) {
		if (!mysql_client_form_fits(forms[i], fields[i].type))
			return error_set(err, ERROR_SCHEMA,
					 "%s: the table was altered since it "
					 "was looked at: column %zu has "
					 "another type",
					 db->target.where, i + 1);
	}
	return 0;
}

/* Check the columns as prepared, and as executed. In between the server
 * prepares a statement anew, of its own accord, if its table was altered. */
int mysql_client_stream_begin(struct mysql_client *db, const char *sql, int n,
			      const char *const *params,
			      const enum mysql_client_form *forms,
			      size_t n_columns, struct error *err)
{
	int rc = mysql_client_prepare(db, sql, err);
	struct mysql_client_field *fields;
	size_t got = 0;

	if (rc)
		return rc;
	fields = mysql_client_fields_read(db, &got);
	rc = mysql_client_check_forms(db, fields, got, forms, n_columns, err);
	mysql_client_fields_free(fields, got);
	if (!rc)
		rc = mysql_client_execute(db, n, params, err);
	db->forms = forms;
	if (!rc)
		rc = mysql_client_bind_all(db, err);
	if (!rc)
		rc = mysql_client_check_forms(db, db->fields, db->n_columns,
					      forms, n_columns, err);
	if (rc)
		mysql_client_stream_abort(db);
	return rc;
}

static bool mysql_client_is_null(const void *result, size_t row, size_t column)
{
	return !mysql_client_value(result, row, column);
}

static int mysql_client_take_rows(struct mysql_client *db,
				  struct mysql_client_result *out,
				  struct error *err)
{
	int rc;

	while ((rc = mysql_client_stream_next(db, err)) > 0) {
		for (size_t i = 0; i < db->n_columns; i++)
			mysql_client_result_add(
				out,
				db->cells[i].null
					? NULL
					: (const char *)db->cells[i].bytes,
				db->cells[i].n);
	}
	return rc;
}

static int mysql_client_prepared(struct mysql_client *db, const char *sql,
				 int n, const char *const *params,
				 struct mysql_client_result **out,
				 struct error *err)
{
	int rc = mysql_client_prepare(db, sql, err);

	if (!rc)
		rc = mysql_client_execute(db, n, params, err);
	if (!rc)
		rc = mysql_client_bind_all(db, err);
	if (!rc) {
		*out = mysql_client_result_new(db->n_columns);
		rc = mysql_client_take_rows(db, *out, err);
	}
	mysql_client_stream_abort(db);
	return rc;
}

int mysql_client_check_answer(struct mysql_client *db,
			      struct mysql_client_result *r, const char *shape,
			      struct error *err)
{
	struct answer a = { .result = r, .is_null = mysql_client_is_null };

	a.n_rows = mysql_client_rows(r);
	a.n_columns = mysql_client_columns(r);
	return answer_check(&a, shape, db->target.where, err);
}

int mysql_client_query(struct mysql_client *db,
		       struct mysql_client_result **out, const char *sql,
		       const char *shape, int n, const char *const *params,
		       struct error *err)
{
	struct mysql_client_question q = { sql, shape, n, params, NULL };
	size_t answered;
	int rc = mysql_client_ask(db, &q, 1, &answered, err);

	if (rc)
		mysql_client_answers_free(&q, 1);
	else
		*out = q.answer;
	return rc;
}

int mysql_client_query_user(struct mysql_client *db,
			    struct mysql_client_result **out, const char *sql,
			    const char *shape, int n, const char *const *params,
			    struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = n ? mysql_client_prepared(db, sql, n, params, &r, err)
		   : mysql_client_plain(db, sql, &r, err);

	if (!rc)
		rc = mysql_client_check_answer(db, r, shape, err);
	if (rc)
		mysql_client_result_free(r);
	else
		*out = r;
	return rc;
}

int mysql_client_describe(struct mysql_client *db, const char *sql,
			  struct mysql_client_field **out, size_t *n,
			  unsigned long *parameters, struct error *err)
{
	int rc = mysql_client_prepare(db, sql, err);

	if (rc)
		return rc;
	if (parameters)
		*parameters = mysql_client_parameters(db);
	*out = mysql_client_fields_read(db, n);
	mysql_client_stream_abort(db);
	return 0;
}

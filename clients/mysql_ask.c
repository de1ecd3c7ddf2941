#include "clients/mysql.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "clients/answer.h"
#include "clients/mysql_session.h"
#include "core/base/alloc.h"

int mysql_client_check_columns(struct mysql_client *db, void *result,
			       struct error *err)
{
	MYSQL_RES *res = result;
	int rc = 0;

	for (unsigned i = 0; !rc && i < mysql_num_fields(res); i++)
		rc = mysql_client_check_charset(
			db, mysql_fetch_field_direct(res, i)->charsetnr, err);
	return rc;
}

/* The next "?" or ";" outside of quotes, or the end. */
static const char *ask_find(const char *at)
{
	while (*at && *at != '?' && *at != ';') {
		char quote = strchr("'\"`", *at) ? *at : '\0';

		at++;
		while (quote && *at && *at != quote)
			at += *at == '\\' && quote != '`' && at[1] ? 2 : 1;
		at += quote && *at;
	}
	return at;
}

/* A doubled quote is two texts side by side, and is read as such. */
int mysql_client_fill(struct mysql_client *db, struct strbuf *out,
		      const char *sql, int n, const char *const *params,
		      struct error *err)
{
	const char *at = ask_find(sql);
	int used = 0;

	for (; *at == '?'; at = ask_find(sql)) {
		strbuf_add(out, sql, (size_t)(at - sql));
		if (used < n && params[used])
			mysql_client_quote(out, params[used]);
		else
			strbuf_addstr(out, "NULL");
		used++;
		sql = at + 1;
	}
	strbuf_addstr(out, sql);
	if (used == n && !*at)
		return 0;
	return error_set(err, ERROR_BUG,
			 "%s: a statement of ours is not one, or has %d "
			 "places for %d values",
			 db->target.where, used, n);
}

static struct mysql_client_result *ask_keep(MYSQL_RES *res)
{
	unsigned n = res ? mysql_num_fields(res) : 0;
	struct mysql_client_result *out = mysql_client_result_new(n);
	MYSQL_ROW row;

	for (unsigned i = 0; i < n; i++)
		mysql_client_result_name(
			out, i, mysql_fetch_field_direct(res, i)->name);
	while (res && (row = mysql_fetch_row(res)) != NULL) {
		unsigned long *lengths = mysql_fetch_lengths(res);
		for (unsigned i = 0; i < n; i++)
			mysql_client_result_add(out, row[i], lengths[i]);
	}
	return out;
}

/* The answer to a statement that the server has taken; `out` may be NULL. */
static int ask_take(struct mysql_client *db, struct mysql_client_result **out,
		    struct error *err)
{
	MYSQL_RES *res = mysql_store_result(db->conn);
	int rc = 0;

	if (!res && mysql_errno(db->conn))
		return mysql_client_fail(db, err);
	if (res)
		rc = mysql_client_check_columns(db, res, err);
	if (!rc && out)
		*out = ask_keep(res);
	if (res)
		mysql_free_result(res);
	return rc;
}

/* The place of its answer among those that are not taken; n_answers: none. */
static size_t ask_place(const struct mysql_client *db, const char *sql)
{
	size_t i = db->n_taken;

	if (db->lost || atomic_load(&db->interrupted))
		return db->n_answers;
	while (i < db->n_answers && strcmp(db->ahead.items[i], sql) != 0)
		i++;
	return i;
}

bool mysql_client_is_ahead(const struct mysql_client *db, const char *sql)
{
	return ask_place(db, sql) < db->n_answers;
}

/* Take the answer, if just that was asked ahead. Answers before it were not
 * needed. */
static bool ask_is_ahead(struct mysql_client *db, const char *sql,
			 struct mysql_client_result **out)
{
	size_t i = ask_place(db, sql);

	if (i == db->n_answers)
		return false;
	for (; db->n_taken < i; db->n_taken++) {
		mysql_client_result_free(db->answers[db->n_taken]);
		db->answers[db->n_taken] = NULL;
	}
	if (out)
		*out = db->answers[i];
	else
		mysql_client_result_free(db->answers[i]);
	db->answers[i] = NULL;
	db->n_taken++;
	return true;
}

static int ask_allow_many(struct mysql_client *db, bool on, struct error *err)
{
	int rc;

	if (db->takes_many == on)
		return 0;
	/* The library would take the reset's answer for that of the option. */
	rc = mysql_client_reset_take(db, err);
	if (rc)
		return rc;
	if (mysql_set_server_option(db->conn,
				    on ? MYSQL_OPTION_MULTI_STATEMENTS_ON
				       : MYSQL_OPTION_MULTI_STATEMENTS_OFF))
		return mysql_client_fail(db, err);
	db->takes_many = on;
	return 0;
}

/* A text may have parts that users have written. The server would take what
 * stands behind a semicolon for another statement. */
int mysql_client_plain(struct mysql_client *db, const char *sql,
		       struct mysql_client_result **out, struct error *err)
{
	int rc;

	if (ask_is_ahead(db, sql, out))
		return 0;
	rc = mysql_client_ready(db, err);
	if (!rc && strchr(sql, ';'))
		rc = ask_allow_many(db, false, err);
	if (rc)
		return rc;
	mysql_client_note(db, sql);
	if (mysql_real_query(db->conn, sql, strlen(sql)) != 0)
		return mysql_client_fail(db, err);
	return ask_take(db, out, err);
}

int mysql_client_exec(struct mysql_client *db, const char *sql,
		      struct error *err)
{
	return mysql_client_plain(db, sql, NULL, err);
}

/* Nobody wants them any more; the session is ready for the next question. */
static void ask_drain(struct mysql_client *db)
{
	while (!db->lost && mysql_next_result(db->conn) == 0) {
		MYSQL_RES *res = mysql_store_result(db->conn);

		if (res)
			mysql_free_result(res);
	}
}

static int ask_next(struct mysql_client *db, struct error *err)
{
	int rc = mysql_next_result(db->conn);

	if (!rc)
		return 0;
	if (rc > 0)
		return mysql_client_fail(db, err);
	db->lost = true;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the server left out an answer", db->target.where);
}

static int ask_answers(struct mysql_client *db, struct mysql_client_question *q,
		       size_t n, size_t *answered, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		mysql_client_note(db, q[i].sql);
		if (i)
			rc = ask_next(db, err);
		if (!rc)
			rc = ask_take(db, &q[i].answer, err);
		if (!rc)
			rc = mysql_client_check_answer(db, q[i].answer,
						       q[i].shape, err);
		*answered = rc ? i : i + 1;
	}
	ask_drain(db);
	return rc;
}

static int ask_text(struct mysql_client *db, struct strbuf *text,
		    const struct mysql_client_question *q, size_t n,
		    struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		if (i)
			strbuf_addstr(text, ";\n");
		rc = mysql_client_fill(db, text, q[i].sql, q[i].n, q[i].params,
				       err);
	}
	return rc;
}

/* Behind a reset whose answer was not read yet: both travel together. */
static int ask_query(struct mysql_client *db, const struct strbuf *text,
		     struct error *err)
{
	int rc = 0;

	if (db->reset != RESET_SENT)
		return mysql_real_query(db->conn, text->data, text->len)
			       ? mysql_client_fail(db, err)
			       : 0;
	if (mysql_send_query(db->conn, text->data, text->len))
		rc = mysql_client_fail(db, err);
	if (!rc)
		rc = mysql_client_reset_take(db, err);
	if (!rc && mysql_read_query_result(db->conn))
		rc = mysql_client_fail(db, err);
	return rc;
}

static int ask_send(struct mysql_client *db, const struct strbuf *text,
		    struct mysql_client_question *q, size_t n, size_t *answered,
		    struct error *err)
{
	int rc = mysql_client_ready(db, err);
	struct mysql_client_owed owed;

	if (!rc && n > 1)
		rc = ask_allow_many(db, true, err);
	if (rc)
		return rc;
	/* An error may tell the names of a statement, and no value. */
	mysql_client_note(db, q[0].sql);
	if (n > 1)
		mysql_client_owed_begin(&owed, db);
	rc = ask_query(db, text, err);
	if (!rc)
		rc = ask_answers(db, q, n, answered, err);
	return n > 1 ? mysql_client_owed_end(&owed, rc, err) : rc;
}

int mysql_client_ask(struct mysql_client *db, struct mysql_client_question *q,
		     size_t n, size_t *answered, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	*answered = 0;
	for (size_t i = 0; i < n; i++)
		q[i].answer = NULL;
	rc = ask_text(db, &text, q, n, err);
	if (!rc && n == 1 && ask_is_ahead(db, text.data, &q[0].answer)) {
		rc = mysql_client_check_answer(db, q[0].answer, q[0].shape,
					       err);
		*answered = !rc;
	} else if (!rc) {
		rc = ask_send(db, &text, q, n, answered, err);
	}
	strbuf_release(&text);
	return rc;
}

void mysql_client_answers_free(struct mysql_client_question *q, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mysql_client_result_free(q[i].answer);
		q[i].answer = NULL;
	}
}

/* A statement that is none of ours fails when it is asked. */
void mysql_client_foresee(struct mysql_client *db, struct strlist *questions,
			  const char *sql, int n, const char *const *params)
{
	struct strbuf text = STRBUF_INIT;
	struct error ignored = ERROR_INIT;

	if (!mysql_client_fill(db, &text, sql, n, params, &ignored))
		strlist_add(questions, text.data);
	strbuf_release(&text);
}

/* `q`: the statements as they are sent. */
void mysql_client_keep_ahead(struct mysql_client *db, struct strlist *questions,
			     struct mysql_client_question *q, size_t answered)
{
	db->ahead = *questions;
	*questions = (struct strlist)STRLIST_INIT;
	db->answers = xcalloc(answered + 1, sizeof(*db->answers));
	for (size_t i = 0; i < answered; i++) {
		db->answers[i] = q[i].answer;
		q[i].answer = NULL;
	}
	db->n_answers = answered;
	db->n_taken = 0;
}

int mysql_client_ask_ahead(struct mysql_client *db, struct strlist *questions,
			   struct error *err)
{
	size_t n = questions->n, answered = 0;
	struct mysql_client_question *q = xcalloc(n + 1, sizeof(*q));
	struct strbuf text = STRBUF_INIT;
	struct error why = ERROR_INIT;
	int rc;

	for (size_t i = 0; i < n; i++) {
		q[i].sql = questions->items[i];
		strbuf_addf(&text, "%s%s", i ? ";\n" : "", q[i].sql);
	}
	rc = n > 1 ? ask_send(db, &text, q, n, &answered, &why) : 0;
	if (rc && !db->lost && rc != -ERROR_STOPPED)
		rc = 0;
	if (rc)
		*err = why;
	else
		mysql_client_keep_ahead(db, questions, q, answered);
	mysql_client_answers_free(q, n);
	strbuf_release(&text);
	strlist_release(questions);
	free(q);
	return rc;
}

void mysql_client_forget_ahead(struct mysql_client *db)
{
	for (size_t i = 0; i < db->n_answers; i++)
		mysql_client_result_free(db->answers[i]);
	free(db->answers);
	db->answers = NULL;
	db->n_answers = db->n_taken = 0;
	strlist_release(&db->ahead);
}

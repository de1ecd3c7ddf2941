#include "clients/pg_message.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_sqlstate.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/row_values.h"

static const char *message_field(const PGresult *result, int field)
{
	const char *text = PQresultErrorField(result, field);

	return text ? text : "";
}

static bool message_begins(const char *text, const char *const *begins)
{
	for (; *begins; begins++)
		if (!strncmp(text, *begins, strlen(*begins)))
			return true;
	return false;
}

/* The words of a function or a trigger, whatever SQLSTATE they carry. It may
 * have put values of the row into them. */
static bool message_is_raised(const PGresult *result)
{
	static const char *const files[] = { "pl_", "plpy", "plperl", "pltcl",
					     NULL };
	static const char *const classes[] = { "27", "2F", "38", "39",
					       "45", "P0", NULL };

	return message_begins(message_field(result, PG_DIAG_SOURCE_FILE),
			      files) ||
	       message_begins(message_field(result, PG_DIAG_SQLSTATE), classes);
}

/* Code that runs during our statement may have made SQL of the row's values.
 * They then stand in the message as names. */
static bool message_is_inside(const PGresult *result)
{
	static const char *const ours[] = {
		"COPY ",     "while ",	"parallel worker",
		"JSON data", "portal ", "unnamed portal",
		NULL
	};
	const char *line = message_field(result, PG_DIAG_CONTEXT);

	if (*message_field(result, PG_DIAG_INTERNAL_QUERY))
		return true;
	while (*line) {
		size_t n = strcspn(line, "\n");

		if (!message_begins(line, ours))
			return true;
		line += n + (line[n] == '\n');
	}
	return false;
}

/* May the server's own words be told, although somebody else's code ran? */
static bool message_is_fixed(const PGresult *result)
{
	static const char *const states[] = { "22", "23", "40",	   "53",
					      "57", "58", "55P03", NULL };

	return message_begins(message_field(result, PG_DIAG_SQLSTATE), states);
}

/* "Key (email)=(ann@x.org) already exists.": tell the columns, and the text
 * behind the values. Other details of a constraint are the row itself. */
static bool message_add_key(struct strbuf *out, const char *detail)
{
	const char *values = strstr(detail, ")=(");
	const char *end = strrchr(detail, ')');

	if (strncmp(detail, "Key (", 5) != 0 || !values)
		return false;
	strbuf_addstr(out, "; detail: ");
	strbuf_add(out, detail, (size_t)(values + 3 - detail));
	strbuf_addf(out, "...%s", end);
	return true;
}

/* Is the message about our statement or the server itself? If it names a place
 * in the statement, the server was still parsing and had not read a row. */
static bool message_is_ours(const PGresult *result)
{
	static const char *const states[] = {
		"08", "25", "40", "53", "57", NULL
	};

	return *message_field(result, PG_DIAG_STATEMENT_POSITION) ||
	       message_begins(message_field(result, PG_DIAG_SQLSTATE), states);
}

/* Texts of values and of functions' arguments: '"x"' may be anything. */
static bool message_add_text(struct strbuf *out, const PGresult *result,
			     const char *text, const char *sql)
{
	static const char *const fixed[] = { "value out of range: ", NULL };
	static const char *const cuts[] = { ": ", NULL };
	const char *state = message_field(result, PG_DIAG_SQLSTATE);
	bool value = !strncmp(state, "22", 2);
	bool name = !strncmp(state, "42", 2);
	const char *names[] = {
		message_field(result, PG_DIAG_SCHEMA_NAME),
		message_field(result, PG_DIAG_TABLE_NAME),
		message_field(result, PG_DIAG_COLUMN_NAME),
		message_field(result, PG_DIAG_CONSTRAINT_NAME),
		message_field(result, PG_DIAG_DATATYPE_NAME),
		"UTF8",
		NULL,
	};
	const struct row_value_words words = {
		.cuts = (value || name) && !message_begins(text, fixed) ? cuts
									: NULL,
		.numbers = value || name,
		.statement = sql,
		.names = names,
		.strict = value,
	};

	return row_values_add(out, text, &words);
}

/* True: something was left out. */
static bool message_add_detail(struct strbuf *out, const PGresult *result,
			       enum error_code code, const char *sql)
{
	/* "A field with precision 5, scale 2 must round to ...": the type. */
	static const char *const types[] = { "A field with precision ", NULL };
	const char *state = message_field(result, PG_DIAG_SQLSTATE);
	const char *detail = message_field(result, PG_DIAG_MESSAGE_DETAIL);

	if (!*detail)
		return false;
	if (!strncmp(state, "23", 2)) {
		message_add_key(out, detail);
		return true;
	}
	if (!strcmp(state, "22003") && message_begins(detail, types)) {
		strbuf_addf(out, "; detail: %s", detail);
		return false;
	}
	if (row_values_told_by(code))
		return true;
	strbuf_addstr(out, "; detail: ");
	return message_add_text(out, result, detail, sql);
}

/* Lines that name functions, and "COPY t, line 3, column c" without the value
 * behind it. */
static bool message_add_context(struct strbuf *out, const PGresult *result)
{
	const char *line = message_field(result, PG_DIAG_CONTEXT);
	static const char *const functions[] = { "PL/pgSQL function ",
						 "SQL function ", NULL };
	const char *before = "; context: ";
	bool left_out = false;

	while (*line) {
		size_t n = strcspn(line, "\n"), kept = 0;

		if (!strncmp(line, "COPY ", 5)) {
			const char *value = memmem(line, n, ": ", 2);
			kept = value ? (size_t)(value - line) : n;
		} else if (message_begins(line, functions)) {
			kept = n;
		}
		if (kept) {
			strbuf_addstr(out, before);
			strbuf_add(out, line, kept);
			before = " ";
		}
		left_out |= kept < n;
		line += n + (line[n] == '\n');
	}
	return left_out;
}

static void message_add_row(struct strbuf *out, const PGresult *result,
			    enum error_code code, const char *sql)
{
	const char *said = message_field(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *hint = message_field(result, PG_DIAG_MESSAGE_HINT);
	bool raised = message_is_raised(result);
	bool left_out = raised || (message_is_inside(result) &&
				   !message_is_fixed(result));

	if (left_out) {
		strbuf_addf(out, "a function or trigger %s",
			    raised ? "refused the row" : "failed");
	} else {
		left_out = message_add_text(out, result, said, sql);
		left_out |= message_add_detail(out, result, code, sql);
		if (*hint)
			strbuf_addf(out, "; hint: %s", hint);
	}
	left_out |= message_add_context(out, result);
	if (left_out)
		row_values_note(out);
}

enum error_code pg_message_code(const PGresult *result)
{
	static const char *const syntax[] = { "42601", "42602", NULL };
	static const char *const ours[] = { "cannot insert multiple commands",
					    NULL };
	const char *state = message_field(result, PG_DIAG_SQLSTATE);

	/* 'x'::tsquery, 'x'::regrole: the message tells no place in our SQL. */
	if (message_begins(state, syntax) &&
	    !*message_field(result, PG_DIAG_STATEMENT_POSITION) &&
	    !message_begins(message_field(result, PG_DIAG_MESSAGE_PRIMARY),
			    ours))
		return ERROR_DATA;
	return pg_sqlstate_code(state);
}

void pg_message_add(struct strbuf *out, const PGresult *result,
		    enum error_code code, const char *sql)
{
	static const struct {
		int field;
		const char *before;
	} parts[] = {
		{ PG_DIAG_MESSAGE_PRIMARY, "" },
		{ PG_DIAG_MESSAGE_DETAIL, "; detail: " },
		{ PG_DIAG_MESSAGE_HINT, "; hint: " },
		{ PG_DIAG_CONTEXT, "; context: " },
	};

	if (!row_values_shown() &&
	    (row_values_told_by(code) || message_is_inside(result) ||
	     !message_is_ours(result))) {
		message_add_row(out, result, code, sql);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *text = PQresultErrorField(result, parts[i].field);
		if (text)
			strbuf_addf(out, "%s%s", parts[i].before, text);
	}
}

/* Nobody knows what a function's notice tells of: DATA. */
void pg_notice(void *ctx, const PGresult *result)
{
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY);
	struct strbuf line = STRBUF_INIT;

	if (log_get_level() > LOG_DEBUG)
		return;
	strbuf_addf(&line, "%s: ", severity ? severity : "NOTICE");
	pg_message_add(&line, result, ERROR_DATA, *(char **)ctx);
	pg_one_line(line.data);
	log_debug("%s", line.data);
	strbuf_release(&line);
}

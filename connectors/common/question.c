#include "connectors/common/question.h"

#include <stdlib.h>
#include <strings.h>

#include "core/base/row_values.h"

static int question_refuse(const struct pressure_question *q, const char *text,
			   struct error *err)
{
	struct strbuf note = STRBUF_INIT;
	int rc;

	if (text && !row_values_shown())
		row_values_note(&note);
	rc = error_set(err, ERROR_CONFIG,
		       "the query%s is to return a number%s, not %s%.40s%s%s",
		       q->truth ? "" : " of the probe",
		       q->truth ? ", true or false" : "", text ? "\"" : "",
		       text ? row_value(text) : "NULL", text ? "\"" : "",
		       note.data ? note.data : "");
	strbuf_release(&note);
	return rc;
}

/* A truth value as the engines write it; NULL: it is none. */
static const char *question_number(const char *text)
{
	if (!strcasecmp(text, "t") || !strcasecmp(text, "true"))
		return "1";
	if (!strcasecmp(text, "f") || !strcasecmp(text, "false"))
		return "0";
	return NULL;
}

int question_take(const struct pressure_question *q, size_t rows,
		  size_t columns, const char *text, double *out,
		  struct error *err)
{
	const char *number = q->truth && text ? question_number(text) : NULL;
	char *end = NULL;

	/* Without a row not every engine tells of columns. */
	if (!rows && q->truth) {
		*out = 0;
		return 0;
	}
	if (rows != 1 || columns != 1)
		return error_set(err, ERROR_CONFIG,
				 "the query%s is to return one row of one "
				 "column, not %zu of %zu",
				 q->truth ? "" : " of the probe", rows,
				 columns);
	*out = 0;
	if (q->truth && !text)
		return 0;
	text = number ? number : text;
	if (text)
		*out = strtod(text, &end);
	return end == text || *end ? question_refuse(q, text, err) : 0;
}

int question_ask(struct paged_source *s, const struct pressure_question *q,
		 struct pressure *out, struct error *err)
{
	struct paged_answer a = { 0 };
	struct paged_query query;
	int rc;

	if (!q->query)
		return 0;
	paged_query_init(&query);
	strbuf_addstr(&query.sql, q->query);
	rc = paged_ask(s, &query, NULL, &a, err);
	if (!rc)
		rc = question_take(q, a.n_rows, a.n_columns,
				   a.n_rows ? a.cells[0] : NULL, &out->number,
				   err);
	paged_answer_release(&a);
	paged_query_release(&query);
	return rc;
}

#include "connectors/common/question.h"

#include <stdlib.h>

int question_take(size_t rows, size_t columns, const char *text, double *out,
		  struct error *err)
{
	char *end = NULL;

	if (rows != 1 || columns != 1)
		return error_set(err, ERROR_CONFIG,
				 "the query of the probe is to return one row "
				 "of one column, not %zu of %zu",
				 rows, columns);
	if (text)
		*out = strtod(text, &end);
	if (end == text || *end)
		return error_set(err, ERROR_CONFIG,
				 "the query of the probe is to return a "
				 "number, not %s%.40s%s",
				 text ? "\"" : "", text ? text : "NULL",
				 text ? "\"" : "");
	return 0;
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
		rc = question_take(a.n_rows, a.n_columns,
				   a.n_rows ? a.cells[0] : NULL, &out->number,
				   err);
	paged_answer_release(&a);
	paged_query_release(&query);
	return rc;
}

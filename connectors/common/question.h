/*
 * The user's own question to a server before more is read (pace.probe), or
 * before a run begins (source.pre_check). Its answer is one row of one value.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_QUESTION_H
#define TIDEMARK_CONNECTORS_COMMON_QUESTION_H

#include "connectors/common/paged.h"

/* `text`: the first value, NULL for NULL. CONFIG if this is no number. */
int question_take(const struct pressure_question *q, size_t rows,
		  size_t columns, const char *text, double *out,
		  struct error *err);
/* Ask by the dialect's query. Without a question nothing is done. */
int question_ask(struct paged_source *s, const struct pressure_question *q,
		 struct pressure *out, struct error *err);

#endif

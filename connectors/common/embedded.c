#include "connectors/common/embedded.h"

#include "connectors/common/question.h"

/* A page that stays open costs nobody else anything. Beginning another one may
 * mean sorting the table once more. */
int embedded_pause(struct connector *c, struct error *err)
{
	(void)c;
	(void)err;
	return 0;
}

int embedded_pressure(struct connector *c, const struct pressure_question *q,
		      struct pressure *out, struct error *err)
{
	if (q->active || q->lag)
		return error_set(err, ERROR_CONFIG,
				 "a %s database is a file, and has neither "
				 "sessions nor replicas",
				 c->ops->name);
	return question_ask((struct paged_source *)c, q, out, err);
}

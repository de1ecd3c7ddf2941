#include "connectors/common/embedded.h"

/* A page that stays open costs nobody else anything, and beginning another one
 * may mean sorting the table once more. */
int embedded_pause(struct connector *c, struct error *err)
{
	(void)c;
	(void)err;
	return 0;
}

int embedded_pressure(struct connector *c, unsigned what, struct pressure *out,
		      struct error *err)
{
	(void)what;
	(void)out;
	return error_set(err, ERROR_CONFIG,
			 "a %s database is a file, and has neither sessions "
			 "nor replicas",
			 c->ops->name);
}

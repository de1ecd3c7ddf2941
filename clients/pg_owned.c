#include "clients/pg_owned.h"

#include <string.h>

const char *pg_owned_heir(const char *fault)
{
	const char *found = NULL, *at = fault;

	while ((at = strstr(at, PG_OWNED_NOT_TO))) {
		at += strlen(PG_OWNED_NOT_TO);
		found = at;
	}
	return strstr(fault, "belongs to role ") ? found : NULL;
}

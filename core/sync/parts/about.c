#include "core/sync/parts/about.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool about_goes_on(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* As a name of its own: public.orders_id_seq does not name public.orders. */
static bool about_names(const char *text, const char *table)
{
	size_t n = strlen(table);

	for (const char *at = strstr(text, table); at;
	     at = strstr(at + 1, table)) {
		if ((at == text || !about_goes_on(at[-1])) &&
		    !about_goes_on(at[n]))
			return true;
	}
	return false;
}

void about_table(struct error *err, const char *table)
{
	bool refusal = err->code == ERROR_CONFIG || err->code == ERROR_SCHEMA ||
		       err->code == ERROR_DATA;

	if (refusal && table && *table && !about_names(err->message, table))
		error_prefix(err, "table %s", table);
}

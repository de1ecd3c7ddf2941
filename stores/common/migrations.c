#include "stores/common/migrations.h"

#include <string.h>

int migrations_check_applied(const struct migrations *known, int previous,
			     int number, const char *name, const char *checksum,
			     const char *where, struct error *err)
{
	const struct migration *m;

	if (number > known->n)
		return error_set(err, ERROR_CONFIG,
				 "state store %s has migration %d (%s), this "
				 "tidemark knows them up to %d: use the newer "
				 "tidemark that applied it, or another state "
				 "store",
				 where, number, name, known->n);
	if (number != previous + 1)
		return error_set(err, ERROR_CONFIG,
				 "state store %s has migration %d (%s) but not "
				 "%d: restore it from a backup, or use another "
				 "state store",
				 where, number, name, previous + 1);
	m = &known->items[number - 1];
	if (strcmp(m->checksum, checksum) == 0)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "state store %s: migration %d was applied as %s with "
			 "checksum %.12s, but this tidemark's %s has %.12s: "
			 "use the tidemark that applied it, or another state "
			 "store",
			 where, number, name, checksum, m->name, m->checksum);
}

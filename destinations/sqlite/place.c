#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static int place_check(const struct table_name *name, const char *text,
		       struct error *err)
{
	if (name->catalog || (name->schema && strcasecmp(name->schema, "main")))
		return error_set(err, ERROR_CONFIG,
				 "table %s: an SQLite file has the one schema "
				 "main" ERROR_FIX
				 ": write main.%s, or just the table's name",
				 text, name->name);
	if (!strncasecmp(name->name, "sqlite_", 7) || name_is_own(name->name))
		return error_set(err, ERROR_CONFIG,
				 "table %s: names that begin with sqlite_ or "
				 "_tidemark_ are taken" ERROR_FIX
				 "; choose another",
				 text);
	return 0;
}

int sqlite_target_place_set(struct place *out, const struct target *target,
			    struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, target->table, err);

	if (!rc)
		rc = place_check(&name, target->table, err);
	if (!rc) {
		place_fill(out, target, "main", name.name, "main.", '"');
		out->copy = place_name("temp.", out->base, '"');
	}
	table_name_release(&name);
	return rc;
}

#include "core/plugin/store.h"

#include <string.h>

#include "core/base/alloc.h"

bool store_has_table(const char *name)
{
	static const char *const tables[] = {
		STORE_MIGRATIONS_TABLE,
		"runs",
		"attempts",
		"batches",
		"watermarks",
		"leases",
		"dead_letters",
		"paces",
		"chunks",
		"choices",
		"controls",
		"control_events",
		"notices",
		"hooks",
		"hook_runs",
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (!strcmp(tables[i], name))
			return true;
	return false;
}

int store_damaged(int rc, const char *cure, struct error *err)
{
	if (rc != -ERROR_SCHEMA || !err)
		return rc;
	err->code = ERROR_ACCESS;
	return error_hint(err,
			  "a table of the state store was dropped or changed, "
			  "%s. A new one is made; no mark is lost: the next "
			  "run goes on from the one at the destination",
			  cure);
}

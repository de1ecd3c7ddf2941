#include "core/data/table_identity.h"
#include "destinations/sqlite/internal.h"

int sqlite_target_identity(struct destination *base,
			   const struct target *target, json_t **out,
			   struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct place place = { .table = NULL };
	int rc = sqlite_target_place_set(&place, target, err);

	if (!rc) {
		*out = json_pack("{s:s, s:s}", "engine", "sqlite", "table",
				 place.readable);
		table_identity_add_file(*out, d->path);
	}
	place_release(&place);
	return rc;
}

#include "destinations/mysql/owned.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

int mysql_target_owned_refuse(const char *fault, const struct place *place,
			      struct error *err)
{
	return mark_keeper_check(place->watermark, NULL, fault, MARK_HARM_CODE,
				 err);
}

int mysql_target_owned_check(struct mysql_client *db, const struct place *place,
			     struct error *err)
{
	const char *params[] = { OWNED_MARK_PARAMS(place) };
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, "SELECT " OWNED_MARK_FAULT, "1?",
				    ARRAY_SIZE(params), params, err);

	if (!rc)
		rc = mysql_target_owned_refuse(mysql_client_value(r, 0, 0),
					       place, err);
	mysql_client_result_free(r);
	return rc;
}

/* A view that asks for the rights of whoever reads it: verify does. Any other
 * has the rights of its own definer alone. */
void mysql_target_owned_look(bool invoker, const struct target *target,
			     struct problems *out)
{
	if (!invoker || target->mode != LOAD_APPEND)
		return;
	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "unsafe-view",
		     "drop the view: the next run makes it again",
		     "table %s: the view of that name has SQL SECURITY "
		     "INVOKER, so code of somebody else could run with the "
		     "rights of this user",
		     target->table);
}

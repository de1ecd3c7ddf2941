#include "destinations/common/soft_delete.h"

#include <string.h>
#include <strings.h>

static bool soft_delete_begins(const char *type, const char *word)
{
	return !strncasecmp(type, word, strlen(word));
}

enum soft_delete soft_delete_of(const struct target *target, const char *type)
{
	if (!target->soft_delete || !type)
		return SOFT_DELETE_NONE;
	if (soft_delete_begins(type, "timestamp") ||
	    soft_delete_begins(type, "datetime"))
		return SOFT_DELETE_TIME;
	return soft_delete_begins(type, "bool") ||
			       !strcasecmp(type, "tinyint(1)")
		       ? SOFT_DELETE_FLAG
		       : SOFT_DELETE_NONE;
}

const char *soft_delete_is(enum soft_delete kind)
{
	return kind == SOFT_DELETE_TIME ? " IS NOT NULL" : " IS TRUE";
}

const char *soft_delete_is_not(enum soft_delete kind)
{
	return kind == SOFT_DELETE_TIME ? " IS NULL" : " IS NOT TRUE";
}

const char *soft_delete_clears(enum soft_delete kind)
{
	return kind == SOFT_DELETE_TIME ? " = NULL" : " = FALSE";
}

int soft_delete_check(const struct target *target, enum soft_delete kind,
		      const char *example, struct error *err)
{
	if (!target->soft_delete || kind != SOFT_DELETE_NONE)
		return 0;
	return error_set(err, ERROR_SCHEMA,
			 "table %s has no column \"%s\" of a timestamp's or "
			 "a boolean's type, which soft_delete names: add it, "
			 "as in ALTER TABLE ... ADD COLUMN %s %s",
			 target->table, target->soft_delete,
			 target->soft_delete, example);
}

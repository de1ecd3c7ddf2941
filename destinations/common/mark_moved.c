#include "destinations/common/mark_moved.h"

#include <stdlib.h>

#include "core/base/alloc.h"

const char *mark_moved_column(const struct target *target)
{
	long mark = target->schema->mark;

	if (mark < 0 || target->refresh || target->mode == LOAD_APPEND)
		return NULL;
	return target->schema->columns[mark].name;
}

void mark_moved_report(const struct target *target, const char *what,
		       struct problems *out)
{
	const char *column = mark_moved_column(target);
	char *fix = xstrfmt("leave \"%s\" out of it", column);

	problems_add(out, SEVERITY_WARNING, ERROR_NONE, "mark-moved-at-target",
		     fix,
		     "table %s: %s may move the mark column \"%s\" there: a "
		     "row that looks newer there than at the source is left "
		     "as it is",
		     target->table, what, column);
	free(fix);
}

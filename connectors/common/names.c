#include "connectors/common/names.h"

#include <string.h>

#include "core/base/nearest.h"
#include "core/data/table_name.h"

const char *const changed_names[] = {
	"updated_at",	"modified_at",	 "changed_at",
	"updated_on",	"modified_on",	 "updated",
	"modified",	"last_modified", "last_updated",
	"updated_date", "modified_date", "last_update",
	"lastmodified", "updatedat",	 "modifiedat",
	"update_time",	"date_modified", "mtime",
	NULL,
};

const char *const made_names[] = {
	"created_at", "inserted_at", "created_on",  "occurred_at", "logged_at",
	"created",    "event_time",  "recorded_at", NULL,
};

static void table_write_part(struct strbuf *sb, const char *part)
{
	if (!*part || strpbrk(part, ".\" \t\r\n"))
		sql_quote_name(sb, part, '"');
	else
		strbuf_addstr(sb, part);
}

void table_write(struct strbuf *sb, const char *schema, const char *name)
{
	table_write_part(sb, schema);
	strbuf_addch(sb, '.');
	table_write_part(sb, name);
}

int column_missing(const char *const *names, size_t n, const char *what,
		   const char *name, const char *table, struct error *err)
{
	const char *near = nearest_name(name, names, n);

	error_set(err, ERROR_SCHEMA, "%s: table %s has no column \"%s\"", what,
		  table, name);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	return -ERROR_SCHEMA;
}

#include "connectors/common/names.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/data/table_name.h"

/* Columns that are listed when none is near. */
#define NAMES_SHOWN 20

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

void table_write(struct strbuf *sb, const char *schema, const char *name)
{
	table_name_write_part(sb, schema);
	strbuf_addch(sb, '.');
	table_name_write_part(sb, name);
}

void table_list_add(struct table_list *list, const char *schema,
		    const char *name, const char *kind, const char *rows)
{
	struct strbuf sb = STRBUF_INIT;
	struct table_info *t;

	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	t = &list->items[list->n++];
	table_write(&sb, schema, name);
	t->name = strbuf_detach(&sb);
	t->kind = xstrdup(kind);
	t->row_estimate = rows ? strtoll(rows, NULL, 10) : -1;
}

int table_missing(const char *table, const char *schema, const char *name,
		  const struct strlist *near, struct error *err)
{
	char *wanted = xstrfmt("%s.%s", schema, name);
	struct strlist names = STRLIST_INIT;
	const char *meant = NULL;

	for (size_t i = 0; i + 1 < near->n; i += 2) {
		struct strbuf sb = STRBUF_INIT;
		table_write(&sb, near->items[i], near->items[i + 1]);
		strlist_add(&names, sb.data);
		if (!meant && !strcmp(near->items[i + 1], name))
			meant = names.items[i / 2];
		strbuf_release(&sb);
	}
	if (!meant)
		meant = nearest_name(wanted, (const char *const *)names.items,
				     names.n);
	error_set(err, ERROR_SCHEMA, "there is no table %s", table);
	if (meant)
		error_hint(err, "(did you mean %s?)", meant);
	else
		error_hint(err, "name one that is there and that this user "
				"may read");
	strlist_release(&names);
	free(wanted);
	return -ERROR_SCHEMA;
}

int column_missing(const char *const *names, size_t n, const char *what,
		   const char *name, const char *table, struct error *err)
{
	const char *near = nearest_name(name, names, n);
	struct strbuf all = STRBUF_INIT;

	error_set(err, ERROR_SCHEMA, "%s: table %s has no column \"%s\"", what,
		  table, name);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	for (size_t i = 0; !near && i < n && i < NAMES_SHOWN; i++)
		strbuf_addf(&all, "%s\"%s\"", i ? ", " : "", names[i]);
	if (all.len)
		error_hint(err, "it has %s%s", all.data,
			   n > NAMES_SHOWN ? ", ..." : "");
	strbuf_release(&all);
	return -ERROR_SCHEMA;
}

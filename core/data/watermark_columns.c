#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/watermark.h"

/* Names that are not UTF-8 are left out: JSON cannot hold them. */
static json_t *columns_of(const struct schema *s)
{
	json_t *columns = json_object();

	for (size_t i = 0; i < s->n_columns; i++)
		json_object_set_new(columns, s->columns[i].name,
				    json_integer(s->columns[i].number));
	return columns;
}

void watermark_set_columns(struct watermark *w, const struct schema *s,
			   const struct strlist *gone)
{
	json_decref(w->columns);
	w->columns = columns_of(s);
	for (size_t i = 0; i < gone->n; i++)
		json_object_set_new(w->columns, gone->items[i], json_null());
}

void watermark_gone_columns(const struct watermark *w, const struct schema *s,
			    struct strlist *out)
{
	const char *name;
	json_t *number;

	if (!w->columns)
		return;
	json_object_foreach(w->columns, name, number)
	{
		if (schema_find(s, name) < 0)
			strlist_add(out, name);
	}
}

bool watermark_knows_gone(const struct watermark *w, const char *column)
{
	return json_is_null(json_object_get(w->columns, column));
}

char *watermark_new_column(const struct watermark *w, const struct schema *s)
{
	json_t *now = columns_of(s), *number;
	const char *name;
	char *found = NULL;

	json_object_foreach(now, name, number)
	{
		if (!found && w->columns &&
		    !json_equal(json_object_get(w->columns, name), number))
			found = xstrdup(name);
	}
	json_decref(now);
	return found;
}

void watermark_forget(struct watermark *w)
{
	struct watermark empty;
	const char *delivered = watermark_delivered(w);

	watermark_init(&empty);
	empty.strategy = w->strategy;
	empty.column = xstrdup(w->column);
	if (delivered && strategy_has_column(w->strategy))
		empty.pending = json_pack("{s:s}", "delivered", delivered);
	watermark_release(w);
	*w = empty;
}

#include "core/base/strlist.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void strlist_add(struct strlist *list, const char *item)
{
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = xstrdup(item);
}

void strlist_copy(struct strlist *dst, const struct strlist *src)
{
	*dst = (struct strlist)STRLIST_INIT;
	for (size_t i = 0; i < src->n; i++)
		strlist_add(dst, src->items[i]);
}

bool strlist_has(const struct strlist *list, const char *item)
{
	return strlist_index(list, item) >= 0;
}

long strlist_index(const struct strlist *list, const char *item)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i], item))
			return (long)i;
	return -1;
}

void strlist_release(struct strlist *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct strlist)STRLIST_INIT;
}

#include "core/plugin/connector.h"

#include <stdlib.h>
#include <string.h>

static const char *const guarantee_names[] = {
	[GUARANTEE_EXACT] = "exact",
	[GUARANTEE_LAG] = "lag",
	[GUARANTEE_NONE] = "none",
};

const char *guarantee_name(enum guarantee g)
{
	return guarantee_names[g];
}

void settled_init(struct settled *s)
{
	memset(s, 0, sizeof(*s));
	s->guarantee = GUARANTEE_NONE;
	s->lag_us = -1;
}

void settled_release(struct settled *s)
{
	if (!s)
		return;
	free(s->value);
	json_decref(s->pending);
	free(s->reason);
	json_decref(s->held_by);
	free(s->hidden);
	json_decref(s->parts);
	settled_init(s);
}

void pressure_release(struct pressure *p)
{
	free(p->replica);
	memset(p, 0, sizeof(*p));
}

void table_list_release(struct table_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].name);
		free(list->items[i].kind);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

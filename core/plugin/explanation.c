#include "core/plugin/explanation.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void explanation_add(struct explanation *e, const char *purpose,
		     const char *sql, const char *index, const char *plan)
{
	e->items = xgrow(e->items, &e->capacity, e->n + 1, sizeof(*e->items));
	e->items[e->n++] = (struct explained){
		.purpose = xstrdup(purpose),
		.sql = xstrdup(sql),
		.index = xstrdup(index),
		.plan = xstrdup(plan),
	};
}

void explanation_release(struct explanation *e)
{
	for (size_t i = 0; i < e->n; i++) {
		free(e->items[i].purpose);
		free(e->items[i].sql);
		free(e->items[i].index);
		free(e->items[i].plan);
	}
	free(e->items);
	memset(e, 0, sizeof(*e));
}

#include "core/plugin/store.h"

#include <stdlib.h>
#include <string.h>

void attempt_init(struct attempt *a)
{
	memset(a, 0, sizeof(*a));
}

void attempt_release(struct attempt *a)
{
	if (!a)
		return;
	free(a->attempt_id);
	free(a->run_id);
	free(a->pipeline);
	free(a->tenant);
	free(a->state);
	free(a->outcome);
	free(a->host);
	free(a->watermark_before);
	free(a->watermark_after);
	free(a->guarantee);
	free(a->guarantee_reason);
	free(a->error_code);
	free(a->error_message);
	attempt_init(a);
}

void attempt_list_release(struct attempt_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++)
		attempt_release(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

#include "core/plugin/store.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

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
	free(a->paused);
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

void run_list_release(struct run_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct run_record *r = &list->items[i];

		free(r->run_id);
		free(r->pipeline);
		free(r->tenant);
		free(r->window_from);
		free(r->window_to);
		free(r->state);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void batch_list_release(struct batch_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct batch_record *b = &list->items[i];

		free(b->attempt_id);
		free(b->batch_id);
		free(b->pipeline);
		free(b->window_from);
		free(b->watermark);
		free(b->error_code);
		free(b->error_message);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static void dead_letter_release(struct dead_letter *l)
{
	free(l->id);
	free(l->pipeline);
	free(l->run_id);
	free(l->attempt_id);
	free(l->batch_id);
	free(l->key);
	free(l->key_digest);
	free(l->row);
	free(l->row_digest);
	free(l->category);
	free(l->error_code);
	free(l->server_code);
	free(l->error_message);
	free(l->checkpoint);
}

void dead_letter_list_release(struct dead_letter_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		dead_letter_release(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void lease_init(struct lease *l)
{
	memset(l, 0, sizeof(*l));
}

void lease_release(struct lease *l)
{
	if (!l)
		return;
	free(l->name);
	free(l->holder);
	free(l->host);
	free(l->process);
	free(l->session);
	lease_init(l);
}

bool store_has_table(const char *name)
{
	static const char *const tables[] = {
		STORE_MIGRATIONS_TABLE,
		"runs",
		"attempts",
		"batches",
		"watermarks",
		"leases",
		"dead_letters",
		"paces",
		"chunks",
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (!strcmp(tables[i], name))
			return true;
	return false;
}

void chunk_release(struct chunk *c)
{
	free(c->chunk_id);
	free(c->backfill_id);
	free(c->pipeline);
	free(c->config);
	free(c->column);
	free(c->window_from);
	free(c->window_to);
	free(c->range_from);
	free(c->range_to);
	free(c->state);
	free(c->holder);
	free(c->checksum);
	free(c->error_code);
	free(c->error_message);
	free(c->paused);
	memset(c, 0, sizeof(*c));
}

void chunk_list_release(struct chunk_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		chunk_release(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

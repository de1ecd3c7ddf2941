#include "clients/pg_named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* Texts that name a table come once a table. So a session may see thousands,
 * and the oldest that came only once makes room. */
#define NAMED_MOST 64

struct named_text {
	char *sql;
	bool ready, never;
	unsigned times;
	unsigned number; /* its name has it, and no name is given twice */
};

struct pg_named {
	struct named_text items[NAMED_MOST];
	size_t n, next;
	unsigned last;
};

struct pg_named *pg_named_new(void)
{
	return xcalloc(1, sizeof(struct pg_named));
}

void pg_named_free(struct pg_named *named)
{
	for (size_t i = 0; named && i < named->n; i++)
		free(named->items[i].sql);
	free(named);
}

static struct named_text *named_find(struct pg_named *named, const char *sql)
{
	for (size_t i = 0; i < named->n; i++) {
		if (!strcmp(named->items[i].sql, sql))
			return &named->items[i];
	}
	return NULL;
}

/* NULL: all places are taken by texts that came twice. */
static struct named_text *named_room(struct pg_named *named)
{
	if (named->n < NAMED_MOST)
		return &named->items[named->n++];
	for (size_t i = 0; i < NAMED_MOST; i++) {
		struct named_text *t =
			&named->items[named->next++ % NAMED_MOST];
		if (t->times < 2)
			return t;
	}
	return NULL;
}

static void named_add(struct pg_named *named, const char *sql)
{
	struct named_text *t = named_room(named);

	if (!t)
		return;
	free(t->sql);
	*t = (struct named_text){ .sql = xstrdup(sql), .times = 1 };
	t->number = ++named->last;
}

enum pg_named_step pg_named_step(struct pg_named *named, const char *sql,
				 char *name)
{
	struct named_text *t = named_find(named, sql);

	if (!t)
		named_add(named, sql);
	if (!t || t->never)
		return PG_NAMED_NOT;
	t->times++;
	snprintf(name, PG_NAMED_SIZE, "t%u", t->number);
	if (t->ready)
		return PG_NAMED_EXECUTE;
	t->ready = true;
	return PG_NAMED_PREPARE;
}

void pg_named_not_yet(struct pg_named *named, const char *sql)
{
	struct named_text *t = named_find(named, sql);

	if (t)
		t->ready = false;
}

void pg_named_forget(struct pg_named *named, const char *sql)
{
	struct named_text *t = named_find(named, sql);

	if (t)
		t->never = true;
}

void pg_named_lost(struct pg_named *named)
{
	for (size_t i = 0; i < named->n; i++) {
		named->items[i].ready = false;
		named->items[i].number = ++named->last;
	}
}

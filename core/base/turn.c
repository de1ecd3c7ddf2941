#include "core/base/turn.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

struct turn {
	char *name;
	bool taken;
	size_t users; /* one has it, the others wait */
	pthread_cond_t free;
	struct turn *next;
};

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static struct turn *turns;

static struct turn *turn_find(const char *name)
{
	struct turn *t = turns;

	while (t && strcmp(t->name, name) != 0)
		t = t->next;
	if (t)
		return t;
	t = xcalloc(1, sizeof(*t));
	t->name = xstrdup(name);
	pthread_cond_init(&t->free, NULL);
	t->next = turns;
	turns = t;
	return t;
}

struct turn *turn_take(const char *name)
{
	struct turn *t;

	pthread_mutex_lock(&turn_lock);
	t = turn_find(name);
	t->users++;
	while (t->taken)
		pthread_cond_wait(&t->free, &turn_lock);
	t->taken = true;
	pthread_mutex_unlock(&turn_lock);
	return t;
}

static void turn_free(struct turn *t)
{
	struct turn **at = &turns;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_cond_destroy(&t->free);
	free(t->name);
	free(t);
}

void turn_end(struct turn *t)
{
	pthread_mutex_lock(&turn_lock);
	t->taken = false;
	if (--t->users)
		pthread_cond_signal(&t->free);
	else
		turn_free(t);
	pthread_mutex_unlock(&turn_lock);
}

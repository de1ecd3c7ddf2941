#include "core/base/turn.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

struct turn {
	char *name;
	uint64_t asked, ended; /* so many turns, in the order of asking */
	pthread_cond_t moved;
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
	pthread_cond_init(&t->moved, NULL);
	t->next = turns;
	turns = t;
	return t;
}

struct turn *turn_take(const char *name)
{
	struct turn *t;
	uint64_t mine;

	pthread_mutex_lock(&turn_lock);
	t = turn_find(name);
	mine = t->asked++;
	while (t->ended != mine)
		pthread_cond_wait(&t->moved, &turn_lock);
	pthread_mutex_unlock(&turn_lock);
	return t;
}

static void turn_free(struct turn *t)
{
	struct turn **at = &turns;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_cond_destroy(&t->moved);
	free(t->name);
	free(t);
}

void turn_end(struct turn *t)
{
	pthread_mutex_lock(&turn_lock);
	if (++t->ended != t->asked)
		pthread_cond_broadcast(&t->moved);
	else
		turn_free(t);
	pthread_mutex_unlock(&turn_lock);
}

#include "core/serve/generation.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/store/session.h"
#include "core/store/shared.h"
#include "core/sync/parts/state.h"

struct generation *generation_new(void)
{
	struct generation *g = xcalloc(1, sizeof(*g));

	atomic_store(&g->users, 1);
	return g;
}

struct generation *generation_join(struct generation *g)
{
	if (g)
		atomic_fetch_add(&g->users, 1);
	return g;
}

void generation_leave(struct generation *g)
{
	if (!g || atomic_fetch_sub(&g->users, 1) > 1)
		return;
	reach_free(g->reach);
	store_close(g->store);
	free((void *)g->pipelines);
	settings_release(&g->s);
	free(g);
}

int generation_store(struct generation *g, struct error *err)
{
	struct store *store = NULL;
	int rc = g->store ? 0 : state_open(&g->s, &store, err);

	if (!rc && store)
		g->store = store_share(store);
	return rc;
}

#include "core/sync/parts/state.h"

#include <unistd.h>

#include "core/base/engine.h"
#include "core/base/trust.h"
#include "core/store/schema.h"
#include "core/store/session.h"

int state_open(const struct settings *s, struct store **out, struct error *err)
{
	struct store *store = NULL;
	int applied, version;
	int rc = store_open(&store, s->state, err);

	if (!rc)
		rc = store_migrate(store, &applied, &version, err);
	if (rc) {
		store_close(store);
		error_prefix(err, "state %s", s->state->url.shown);
		return rc;
	}
	*out = store;
	return 0;
}

/* A SQLite file would be made by being opened. */
int state_look(const struct connection *state, struct store **out,
	       struct error *err)
{
	const struct url *url = &state->url;
	const struct store_ops *ops;
	struct store *store = NULL;
	int version = 0;
	int rc = store_find(&ops, state, err);

	*out = NULL;
	if (!rc && engine_has(url->engine, ENGINE_FILE) &&
	    access(url->path, F_OK) != 0)
		/* A file would be made there: judge the place. */
		rc = trust_check(url->path, TRUST_STATE, "the state store",
				 err);
	else if (!rc)
		rc = ops->open(&store, state, err);
	if (!rc && store)
		rc = store_version(store, &version, err);
	if (!rc && version > 0)
		*out = store;
	else
		store_close(store);
	if (rc)
		error_prefix(err, "state %s", url->shown);
	return rc;
}

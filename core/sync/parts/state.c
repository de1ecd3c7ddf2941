#include "core/sync/parts/state.h"

#include <unistd.h>

#include "core/base/trust.h"
#include "core/plugin/registry.h"

int state_open(const struct settings *s, struct store **out, struct error *err)
{
	const struct store_ops *ops;
	struct store *store = NULL;
	int applied, version;
	int rc = registry_store(s->state->url.engine, &ops, err);

	if (!rc)
		rc = registry_check_options(&s->state->url, ops->options, err);
	if (!rc)
		rc = ops->open(&store, s->state, err);
	if (!rc)
		rc = ops->migrate(store, &applied, &version, err);
	if (rc) {
		if (store)
			ops->close(store);
		return error_prefix(err, "state %s", s->state->url.shown);
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
	int rc = registry_store(url->engine, &ops, err);

	*out = NULL;
	if (!rc)
		rc = registry_check_options(url, ops->options, err);
	if (!rc && *url->path && access(url->path, F_OK) != 0)
		/* A file would be made there: judge the place. */
		rc = trust_check(url->path, TRUST_STATE, "the state store",
				 err);
	else if (!rc)
		rc = ops->open(&store, state, err);
	if (!rc && store)
		rc = ops->version(store, &version, err);
	if (!rc && version > 0)
		*out = store;
	else if (store)
		ops->close(store);
	return rc ? error_prefix(err, "state %s", url->shown) : 0;
}

#include "core/sync/report/grants.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plugin/registry.h"

const char *grants_role_name(enum grants_role role)
{
	static const char *const names[] = { "source", "replica", "destination",
					     "state" };

	return names[role];
}

static struct grants_part *list_add(struct grants_list *list,
				    enum grants_role role,
				    const struct connection *conn)
{
	struct grants_part *part;

	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	part = &list->items[list->n++];
	memset(part, 0, sizeof(*part));
	part->role = role;
	part->connection = conn;
	return part;
}

static int list_source(const struct pipeline_settings *p,
		       struct grants_list *list, struct error *err)
{
	const struct pace_limits *limits = &p->pace.limits;
	const struct pressure_question asked = {
		.active = limits->max_active > 0,
		.lag = limits->replica_lag_us > 0 && !p->pace.n_replicas
	};
	struct grants_part *part = list_add(list, GRANTS_SOURCE, p->source);
	const struct connector_ops *ops;
	struct source_spec spec;
	struct watermark_spec mark;
	int rc = registry_connector(p->source->url.engine, &ops, err);

	settings_source_spec(p, &spec);
	settings_watermark_spec(p, &mark);
	part->has_users = !rc && ops->grants;
	if (part->has_users)
		/* Nobody knows which tables a query reads. */
		rc = ops->grants(p->source, p->query ? NULL : &spec,
				 p->query ? NULL : &mark, &asked, &part->grants,
				 err);
	return rc;
}

static int list_replicas(const struct pipeline_settings *p,
			 struct grants_list *list, struct error *err)
{
	const struct pressure_question asked = { .lag = true };
	int rc = 0;

	for (size_t i = 0; !rc && i < p->pace.n_replicas; i++) {
		const struct connection *conn = p->pace.replicas[i];
		struct grants_part *part = list_add(list, GRANTS_REPLICA, conn);
		const struct connector_ops *ops;

		rc = registry_connector(conn->url.engine, &ops, err);
		part->has_users = !rc && ops->grants;
		if (part->has_users)
			rc = ops->grants(conn, NULL, NULL, &asked,
					 &part->grants, err);
	}
	return rc;
}

static int list_destination(const struct pipeline_settings *p,
			    struct grants_list *list, struct error *err)
{
	struct grants_part *part =
		list_add(list, GRANTS_DESTINATION, p->destination);
	const struct destination_ops *ops;
	int rc = registry_destination(p->destination->url.engine, &ops, err);

	part->has_users = !rc && ops->grants;
	if (part->has_users)
		rc = ops->grants(p->destination, p->destination_table, p->mode,
				 &part->grants, err);
	return rc;
}

static int list_state(const struct connection *state, struct grants_list *list,
		      struct error *err)
{
	struct grants_part *part = list_add(list, GRANTS_STATE, state);
	const struct store_ops *ops;
	int rc = registry_store(state->url.engine, &ops, err);

	part->has_users = !rc && ops->grants;
	return part->has_users ? ops->grants(state, &part->grants, err) : rc;
}

int grants_list_find(const struct pipeline_settings *p,
		     const struct connection *state, struct grants_list *out,
		     struct error *err)
{
	int rc = list_source(p, out, err);

	if (!rc)
		rc = list_replicas(p, out, err);
	if (!rc)
		rc = list_destination(p, out, err);
	return !rc && state ? list_state(state, out, err) : rc;
}

void grants_list_release(struct grants_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		grants_release(&list->items[i].grants);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

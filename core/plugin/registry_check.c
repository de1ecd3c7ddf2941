#include "core/plugin/registry_check.h"

#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"

typedef void (*registry_function)(void);

struct registry_slot {
	const char *name;
	size_t offset;
};

#define SLOT(type, member)                                                     \
	{                                                                      \
#member, offsetof(struct type, member)                         \
	}
/* Slots follow one another up to the end of the table. So if somebody adds a
 * slot to a contract and forgets it here, this does not compile. */
#define SLOTS_COMPLETE(type, first, slots)                                     \
	_Static_assert(offsetof(struct type, first) +                          \
				       ARRAY_SIZE(slots) *                     \
					       sizeof(registry_function) ==    \
			       sizeof(struct type),                            \
		       "a slot of struct " #type " is not checked")

static const struct registry_slot connector_slots[] = {
	SLOT(connector_ops, open),     SLOT(connector_ops, tables),
	SLOT(connector_ops, describe), SLOT(connector_ops, inspect),
	SLOT(connector_ops, suggest),  SLOT(connector_ops, identity),
	SLOT(connector_ops, settle),   SLOT(connector_ops, cut),
	SLOT(connector_ops, scan),     SLOT(connector_ops, explain),
	SLOT(connector_ops, next),     SLOT(connector_ops, pause),
	SLOT(connector_ops, pressure), SLOT(connector_ops, interrupt),
	SLOT(connector_ops, close),
};
SLOTS_COMPLETE(connector_ops, open, connector_slots);

static const struct registry_slot destination_slots[] = {
	SLOT(destination_ops, open),	  SLOT(destination_ops, inspect),
	SLOT(destination_ops, prepare),	  SLOT(destination_ops, recover),
	SLOT(destination_ops, load),	  SLOT(destination_ops, preview),
	SLOT(destination_ops, explain),	  SLOT(destination_ops, remove),
	SLOT(destination_ops, finish),	  SLOT(destination_ops, set_watermark),
	SLOT(destination_ops, forget),	  SLOT(destination_ops, session),
	SLOT(destination_ops, interrupt), SLOT(destination_ops, close),
	SLOT(destination_ops, others),	  SLOT(destination_ops, raise),
	SLOT(destination_ops, identity),
};
SLOTS_COMPLETE(destination_ops, open, destination_slots);

static const struct registry_slot store_slots[] = {
	SLOT(store_ops, open),	 SLOT(store_ops, begin),
	SLOT(store_ops, commit), SLOT(store_ops, rollback),
	SLOT(store_ops, script), SLOT(store_ops, run),
	SLOT(store_ops, close),
};
SLOTS_COMPLETE(store_ops, open, store_slots);

/* An ops table of any kind; NULL ops are a role that is not played. */
struct registry_table {
	const char *role;
	const void *ops;
	const char *name;
	const struct url_option *options;
	const struct registry_slot *slots;
	size_t n_slots;
};

static const char *registry_empty_slot(const struct registry_table *table)
{
	if (!table->name)
		return "name";
	if (!table->options)
		return "options";
	for (size_t i = 0; i < table->n_slots; i++) {
		registry_function function;
		memcpy(&function,
		       (const char *)table->ops + table->slots[i].offset,
		       sizeof(function));
		if (!function)
			return table->slots[i].name;
	}
	return NULL;
}

static int registry_check_table(const struct registry_table *table,
				const char *engine, const char *where,
				struct error *err)
{
	const char *empty;

	if (!table->ops)
		return 0;
	empty = registry_empty_slot(table);
	if (!empty)
		return 0;
	return error_set(err, ERROR_BUG,
			 "engine %s (%s): slot \"%s\" of its %s is empty",
			 engine, where, empty, table->role);
}

static int registry_check_dialect(const struct store_ops *s, const char *engine,
				  const char *where, struct error *err)
{
	const struct store_dialect *d = s ? s->dialect : NULL;

	if (!s || (d && d->tables_sql && d->barred_sql && d->now_sql &&
		   d->for_update && d->skip_locked && d->lock_chunks_sql &&
		   d->migrations))
		return 0;
	return error_set(err, ERROR_BUG,
			 "engine %s (%s): the dialect of its store is missing, "
			 "or a field of it",
			 engine, where);
}

static int registry_check_header(const struct plugin *plugin,
				 const char *engine, const char *where,
				 struct error *err)
{
	if (plugin->abi != PLUGIN_ABI)
		return error_set(err, ERROR_CONFIG,
				 "engine %s (%s) was built for plug-in ABI "
				 "%u, this tidemark has %u; build it anew",
				 engine, where, plugin->abi,
				 (unsigned)PLUGIN_ABI);
	if (plugin->size < sizeof(struct plugin))
		return error_set(err, ERROR_CONFIG,
				 "engine %s (%s): its plug-in record has %u "
				 "bytes, this tidemark needs %zu; build it "
				 "anew",
				 engine, where, plugin->size,
				 sizeof(struct plugin));
	if (!plugin->name || strcmp(plugin->name, engine) != 0)
		return error_set(err, ERROR_CONFIG,
				 "engine %s (%s) calls itself \"%s\"", engine,
				 where, plugin->name ? plugin->name : "");
	return 0;
}

int registry_check(const struct plugin *plugin, const char *engine,
		   const char *where, struct error *err)
{
	const struct connector_ops *c;
	const struct destination_ops *d;
	const struct store_ops *s;
	int rc = registry_check_header(plugin, engine, where, err);

	/* Nothing behind abi and size is read before they are known good. */
	if (rc)
		return rc;
	c = plugin->connector;
	d = plugin->destination;
	s = plugin->store;
	const struct registry_table tables[] = {
		{ "connector", c, c ? c->name : NULL, c ? c->options : NULL,
		  connector_slots, ARRAY_SIZE(connector_slots) },
		{ "destination", d, d ? d->name : NULL, d ? d->options : NULL,
		  destination_slots, ARRAY_SIZE(destination_slots) },
		{ "store", s, s ? s->name : NULL, s ? s->options : NULL,
		  store_slots, ARRAY_SIZE(store_slots) },
	};
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !rc; i++)
		rc = registry_check_table(&tables[i], engine, where, err);
	return rc ? rc : registry_check_dialect(s, engine, where, err);
}

static int registry_compare_engine(const struct plugin *plugin,
				   struct error *err)
{
	const struct engine *e = plugin->engine;

	if (!e && engine_named(plugin->name))
		return 0;
	if (!e)
		return error_set(err, ERROR_CONFIG,
				 "it brings no facts of its engine (.engine)");
	if (e->name && strcmp(e->name, plugin->name) != 0)
		return error_set(err, ERROR_CONFIG,
				 "its facts are those of \"%s\"", e->name);
	return engine_add(e, err);
}

int registry_check_engine(const struct plugin *plugin, const char *file,
			  struct error *err)
{
	int rc = registry_compare_engine(plugin, err);

	if (rc)
		error_prefix(err, "engine %s (%s)", plugin->name, file);
	return rc;
}

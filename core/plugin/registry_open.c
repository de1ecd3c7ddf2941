#include "core/plugin/registry.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/base/strbuf.h"

static bool registry_is_builtin(const char *engine)
{
	for (size_t i = 0; plugin_builtin && plugin_builtin[i]; i++)
		if (!strcmp(plugin_builtin[i]->name, engine))
			return true;
	return false;
}

static void registry_declared(const struct url_option *options,
			      struct strlist *names)
{
	for (; options && options->name; options++)
		strlist_add(names, options->name);
}

static int registry_unknown_option(const char *engine, const char *name,
				   const struct strlist *known,
				   struct error *err)
{
	const char *near =
		nearest_name(name, (const char *const *)known->items, known->n);
	struct strbuf list = STRBUF_INIT;

	for (size_t i = 0; i < known->n; i++)
		strbuf_addf(&list, "%s%s",
			    i ? ", " : "allowed: ", known->items[i]);
	error_set(err, ERROR_CONFIG, "%s: unknown option %.40s in the URL; %s",
		  engine, name, known->n ? list.data : "it has none");
	if (near)
		error_hint(err, "(did you mean %s?)", near);
	strbuf_release(&list);
	return -ERROR_CONFIG;
}

/* A word that nobody reads is taken for one that works. */
int registry_check_options(const struct url *url,
			   const struct url_option *options, struct error *err)
{
	const char *at = url->text ? url_query(url) : NULL;
	struct strlist known = STRLIST_INIT;
	int rc = 0;

	/* Servers that are built in look at theirs themselves. */
	if (registry_is_builtin(url->engine) && !(url->path && *url->path))
		return 0;
	registry_declared(options, &known);
	while (!rc && at && *at && at[1]) {
		char *name = xstrndup(at + 1, strcspn(at + 1, "=&"));

		if (*name && !strlist_has(&known, name))
			rc = registry_unknown_option(url->engine, name, &known,
						     err);
		free(name);
		at = strchr(at + 1, '&');
	}
	strlist_release(&known);
	return rc;
}

int registry_open_connector(const struct connection *conn,
			    struct connector **out, struct error *err)
{
	const struct connector_ops *ops;
	int rc = registry_connector(conn->url.engine, &ops, err);

	if (!rc)
		rc = registry_check_options(&conn->url, ops->options, err);
	return rc ? rc : ops->open(out, conn, err);
}

int registry_open_destination(const struct connection *conn,
			      struct destination **out, struct error *err)
{
	const struct destination_ops *ops;
	int rc = registry_destination(conn->url.engine, &ops, err);

	if (!rc)
		rc = registry_check_options(&conn->url, ops->options, err);
	return rc ? rc : ops->open(out, conn, err);
}

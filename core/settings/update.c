#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/data/table_name.h"
#include "core/settings/input.h"

/* Where a name without a schema is; caller frees. */
static char *update_schema(const struct connection *c,
			   const struct table_name *name)
{
	const struct engine *e = engine_named(c->url.engine);
	struct url_server server = { .port = 0 };
	char *database = NULL;

	if (name->schema)
		return xstrdup(name->schema);
	if (e && e->schema)
		return xstrdup(e->schema);
	if (!url_server_parse(&server, &c->url, NULL))
		database = xstrdup(server.database);
	url_server_release(&server);
	return database ? database : xstrdup("");
}

/* Source and destination are one table. */
static bool update_is_in_place(const struct pipeline_settings *p)
{
	const struct connection *from = p->source, *to = p->destination;
	struct table_name x = { 0 }, y = { 0 };
	bool same = from == to || !strcmp(from->url.text, to->url.text);
	char *in_x = NULL, *in_y = NULL;

	if (same && !table_name_parse(&x, p->source_table, NULL) &&
	    !table_name_parse(&y, p->destination_table, NULL)) {
		in_x = update_schema(from, &x);
		in_y = update_schema(to, &y);
		same = !strcmp(x.name, y.name) && !strcmp(in_x, in_y);
	}
	free(in_x);
	free(in_y);
	table_name_release(&x);
	table_name_release(&y);
	return same;
}

int settings_check_update(struct option_context *ctx,
			  const struct config_node *node,
			  struct pipeline_settings *p)
{
	bool named = p->mark_column && strlist_has(&p->columns, p->mark_column);

	p->in_place = update_is_in_place(p);
	if (p->mode != LOAD_UPDATE)
		return 0;
	if (p->verify)
		return settings_fail(ctx, node, "verify",
				     "mode update fills columns of rows that "
				     "others write: there is nothing to "
				     "compare them with; set it to off");
	if (p->n_expressions && !p->columns.n)
		return settings_fail(ctx, node, "source.columns",
				     "mode update writes what is named here "
				     "and under expressions: name at least the "
				     "key and the mark's column, which are "
				     "only compared");
	if (p->in_place && p->strategy != STRATEGY_TIMESTAMP)
		return settings_fail(ctx, node, "watermark.strategy",
				     "source and destination are the same "
				     "table: only by a timestamp that each "
				     "change moves can mode update tell that a "
				     "row was changed since it was read");
	if (p->mark_column && p->columns.n && !named)
		return settings_fail(ctx, node, "source.columns",
				     "mode update compares the mark's column "
				     "\"%s\" (and does not write it): name it "
				     "here, too",
				     p->mark_column);
	return 0;
}

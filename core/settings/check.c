#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/nearest.h"
#include "core/base/trust.h"
#include "core/base/units.h"
#include "core/data/table_name.h"
#include "core/settings/input.h"

static bool settings_is_file(const struct connection *c)
{
	return engine_has(c->url.engine, ENGINE_FILE);
}

int settings_check_connection(struct option_context *ctx,
			      const struct config_node *node,
			      const struct connection *c)
{
	bool has_password = c->password && *c->password;
	struct strbuf why = STRBUF_INIT;
	int rc = 0;

	if (settings_is_file(c) && has_password)
		return settings_fail(ctx, node, "password",
				     "%s is a file and takes no password",
				     c->url.shown);
	if (settings_is_file(c) && config_node_find(node, "tls"))
		return settings_fail(ctx, node, "tls",
				     "%s is a file and takes no TLS",
				     c->url.shown);
	if (has_password && url_has_password(c->url.text))
		return settings_fail(ctx, node, "password",
				     "the URL holds a password too; leave one "
				     "of them out");
	if (!c->tls_cert != !c->tls_key)
		return settings_fail(ctx, node, "tls",
				     "cert and key go together");
	if (c->tls_key && !trust_path(c->tls_key, TRUST_SECRET, &why)) {
		rc = settings_fail(ctx, node, "tls.key", "%s", why.data);
		strbuf_release(&why);
	}
	return rc;
}

static int settings_no_connection(struct option_context *ctx,
				  const struct settings *s,
				  const struct config_node *node,
				  const char *path, const char *name)
{
	const char **names = xcalloc(s->n_connections, sizeof(*names));
	struct strbuf all = STRBUF_INIT;
	const char *near;
	int rc;

	for (size_t i = 0; i < s->n_connections; i++) {
		names[i] = s->connections[i]->name;
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	near = nearest_name(name, names, s->n_connections);
	rc = settings_fail(ctx, node, path,
			   "no connection \"%.80s\";%s%s%s there are: %s", name,
			   near ? " did you mean \"" : "", near ? near : "",
			   near ? "\"?" : "", all.data);
	strbuf_release(&all);
	free(names);
	return rc;
}

int settings_resolve(struct option_context *ctx, const struct settings *s,
		     const struct config_node *node, const char *path,
		     const char *name, const struct connection **out)
{
	for (size_t i = 0; i < s->n_connections; i++)
		if (!strcmp(s->connections[i]->name, name)) {
			*out = s->connections[i];
			return 0;
		}
	return settings_no_connection(ctx, s, node, path, name);
}

static int settings_check_table(struct option_context *ctx,
				const struct config_node *node,
				const char *path, const char *text)
{
	struct error why = ERROR_INIT;
	struct table_name name;

	if (table_name_parse(&name, text, &why))
		return settings_fail(ctx, node, path, "%s", why.message);
	table_name_release(&name);
	return 0;
}

static bool settings_inherited(const struct config_node *node, const char *path)
{
	const struct config_node *found = config_node_find(node, path);

	return found && found->inherited;
}

static int settings_check_column(struct option_context *ctx,
				 const struct config_node *node,
				 struct pipeline_settings *p)
{
	static const char path[] = "watermark.column";
	bool has_column = strategy_has_column(p->strategy);

	if (!has_column && settings_inherited(node, path)) {
		free(p->mark_column);
		p->mark_column = NULL;
	}
	if (!has_column && p->mark_column)
		return settings_fail(ctx, node, path,
				     "strategy %s takes no column",
				     strategy_name(p->strategy));
	if (has_column && (!p->mark_column || !*p->mark_column))
		return settings_fail(ctx, node, path,
				     "strategy %s needs the name of its "
				     "column; write column: %s",
				     strategy_name(p->strategy),
				     p->strategy == STRATEGY_TIMESTAMP
					     ? "updated_at"
					     : "id");
	return 0;
}

/* The strategy decides what a lag is: time, ids, or nothing. */
static int settings_check_lag(struct option_context *ctx,
			      const struct config_node *node,
			      struct pipeline_input *in)
{
	static const char path[] = "watermark.lag";
	struct pipeline_settings *p = &in->p;
	int64_t us = -1, count = -1;

	units_parse_duration(in->lag, &us);
	units_parse_count(in->lag, &count);
	if (us == 0 || count == 0)
		return 0;
	if (p->strategy == STRATEGY_TIMESTAMP && us > 0) {
		p->lag_us = us;
		return 0;
	}
	if (p->strategy == STRATEGY_SEQUENCE && count > 0) {
		p->lag_count = count;
		return 0;
	}
	if (settings_inherited(node, path) && (us > 0 || count > 0))
		return 0;
	if (!strategy_has_column(p->strategy))
		return settings_fail(ctx, node, path,
				     "strategy %s takes no lag",
				     strategy_name(p->strategy));
	if (p->strategy == STRATEGY_SEQUENCE)
		return settings_fail(ctx, node, path,
				     "a sequence's lag is a count such as "
				     "1000, found \"%.80s\"",
				     in->lag);
	return settings_fail(ctx, node, path,
			     "a timestamp's lag is a duration such as 30s or "
			     "10m, found \"%.80s\"",
			     in->lag);
}

/* "+05:30" */
static bool settings_is_offset(const char *text)
{
	return (*text == '+' || *text == '-') && strlen(text) == 6 &&
	       isdigit((unsigned char)text[1]) &&
	       isdigit((unsigned char)text[2]) && text[3] == ':' &&
	       isdigit((unsigned char)text[4]) &&
	       isdigit((unsigned char)text[5]) &&
	       (text[1] == '0' || (text[1] == '1' && text[2] < '6')) &&
	       text[4] < '6';
}

/* "Europe/Rome"; whether there is such a zone is for the server to say. */
static bool settings_is_zone(const char *text)
{
	size_t n = strlen(text);

	return isalpha((unsigned char)*text) && n < 64 && text[n - 1] != '/' &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789_+-/") == n;
}

static int settings_check_time_zone(struct option_context *ctx,
				    const struct config_node *node,
				    struct pipeline_settings *p)
{
	static const char path[] = "watermark.time_zone";

	if (!settings_is_offset(p->time_zone) &&
	    !settings_is_zone(p->time_zone))
		return settings_fail(ctx, node, path,
				     "expected auto, UTC, an offset such as "
				     "+05:30 or a zone such as Europe/Rome, "
				     "found \"%.80s\"",
				     p->time_zone);
	if (p->strategy == STRATEGY_TIMESTAMP || !strcmp(p->time_zone, "auto"))
		return 0;
	if (!settings_inherited(node, path))
		return settings_fail(ctx, node, path,
				     "only strategy timestamp has a time zone");
	free(p->time_zone);
	p->time_zone = xstrdup("auto");
	return 0;
}

static int settings_check_strategy(struct option_context *ctx,
				   const struct config_node *node,
				   const struct pipeline_settings *p)
{
	const char *engine = p->source->url.engine;

	if (p->strategy != STRATEGY_XMIN || engine_has(engine, ENGINE_XMIN))
		return 0;
	return settings_fail(ctx, node, "watermark.strategy",
			     "xmin is PostgreSQL's own row version and a %s "
			     "source has none; use timestamp with a column "
			     "that every change sets, or sequence for rows "
			     "that are only added",
			     engine);
}

static int settings_check_watermark(struct option_context *ctx,
				    const struct config_node *node,
				    struct pipeline_input *in)
{
	int rc;

	if (!config_node_find(node, "watermark"))
		in->p.strategy = STRATEGY_NONE;
	rc = settings_check_strategy(ctx, node, &in->p);
	if (!rc && in->p.strategy == STRATEGY_NONE)
		rc = settings_check_markless(ctx, node, &in->p);
	if (!rc)
		rc = settings_check_column(ctx, node, &in->p);
	if (!rc)
		rc = settings_check_lag(ctx, node, in);
	if (!rc)
		rc = settings_check_time_zone(ctx, node, &in->p);
	if (!rc && in->p.mode == LOAD_APPEND &&
	    !config_node_find(node, "watermark.tail"))
		in->p.tail = TAIL_HOLD;
	return rc;
}

static int settings_check_zero_dates(struct option_context *ctx,
				     const struct config_node *node,
				     const struct pipeline_settings *p)
{
	static const char path[] = "source.zero_dates";

	if (p->zero_dates == ZERO_DATES_ERROR ||
	    settings_inherited(node, path) ||
	    engine_has(p->source->url.engine, ENGINE_ZERO_DATES))
		return 0;
	return settings_fail(ctx, node, path,
			     "only MySQL and MariaDB have zero dates, and this "
			     "source is %s",
			     p->source->url.engine);
}

/* Neither a raw table nor a table that is built anew every time keeps it. */
static int settings_check_soft_delete(struct option_context *ctx,
				      const struct config_node *node,
				      const struct pipeline_settings *p)
{
	static const char path[] = "soft_delete";
	const char *column = p->soft_delete;

	if (!column || !*column)
		return 0;
	if (p->mode == LOAD_UPDATE)
		return settings_fail(ctx, node, path,
				     "load mode update writes the named "
				     "columns alone, and deletes nothing");
	if (p->mode == LOAD_APPEND || p->mode == LOAD_REPLACE)
		return settings_fail(ctx, node, path,
				     "rows of load mode %s cannot be marked; "
				     "leave it out, and they are deleted",
				     load_mode_name(p->mode));
	if (strlist_has(&p->key, column) || strlist_has(&p->columns, column) ||
	    (p->mark_column && !strcmp(p->mark_column, column)))
		return settings_fail(ctx, node, path,
				     "\"%.80s\" is a column of the source",
				     column);
	return 0;
}

static bool settings_computes(const struct pipeline_settings *p,
			      const char *column)
{
	for (size_t i = 0; i < p->n_expressions; i++)
		if (!strcasecmp(p->expressions[i].name, column))
			return true;
	return false;
}

static int settings_check_loaded_at(struct option_context *ctx,
				    const struct config_node *node,
				    const struct pipeline_settings *p)
{
	static const char path[] = "load.loaded_at";
	const char *column = p->loaded_at;

	if (!column || !*column)
		return 0;
	if (p->mode == LOAD_UPDATE)
		return settings_fail(ctx, node, path,
				     "load mode update writes the named "
				     "columns alone, of rows that others "
				     "load; leave it out");
	if (name_is_own(column))
		return settings_fail(ctx, node, path,
				     "names that begin with _tidemark_ are "
				     "taken; choose another");
	if (strlist_has(&p->key, column) || strlist_has(&p->columns, column) ||
	    settings_computes(p, column) ||
	    (p->mark_column && !strcmp(p->mark_column, column)))
		return settings_fail(ctx, node, path,
				     "\"%.80s\" is a column of the source; "
				     "choose another name",
				     column);
	if (p->soft_delete && !strcasecmp(p->soft_delete, column))
		return settings_fail(ctx, node, path,
				     "\"%.80s\" is the column of soft_delete; "
				     "choose another name",
				     column);
	return 0;
}

/* A table, or a query that gets a name for messages. */
static int settings_check_query(struct option_context *ctx,
				const struct config_node *node,
				struct pipeline_settings *p)
{
	static const char path[] = "source.query";

	if (!p->query)
		return 0;
	if (p->source_table)
		return settings_fail(ctx, node, path,
				     "stands in place of a table; leave out "
				     "source.table");
	if (!p->query[strspn(p->query, " \t\r\n")])
		return settings_fail(ctx, node, path, "must not be empty");
	if (p->strategy == STRATEGY_XMIN)
		return settings_fail(ctx, node, path,
				     "the rows of a query have no xmin; use "
				     "timestamp or sequence, or load: {mode: "
				     "replace}");
	if (p->mode == LOAD_UPDATE)
		return settings_fail(ctx, node, path,
				     "load mode update reads a table");
	p->source_table = xstrfmt("query of %s", p->name);
	return 0;
}

static int settings_check_hook(struct option_context *ctx,
			       const struct config_node *node, const char *path,
			       const struct strlist *statements)
{
	for (size_t i = 0; i < statements->n; i++)
		if (!statements->items[i][strspn(statements->items[i],
						 " \t\r\n;")])
			return settings_fail(ctx, node, path,
					     "statement %zu is empty", i + 1);
	return 0;
}

int settings_check_pipeline(struct option_context *ctx,
			    const struct settings *s,
			    const struct config_node *node,
			    struct pipeline_input *in)
{
	struct pipeline_settings *p = &in->p;
	int rc = settings_resolve(ctx, s, node, "source.connection",
				  in->source_name, &p->source);

	if (!rc)
		rc = settings_resolve(ctx, s, node, "destination.connection",
				      in->destination_name, &p->destination);
	if (!rc)
		rc = settings_check_query(ctx, node, p);
	if (!rc && !p->query)
		rc = settings_check_table(ctx, node, "source.table",
					  p->source_table);
	if (!rc)
		rc = settings_check_table(ctx, node, "destination.table",
					  p->destination_table);
	if (!rc && p->where && !*p->where)
		rc = settings_fail(ctx, node, "source.where",
				   "must not be empty");
	if (!rc && p->pre_check && !*p->pre_check)
		rc = settings_fail(ctx, node, "source.pre_check",
				   "must not be empty");
	if (!rc)
		rc = settings_check_zero_dates(ctx, node, p);
	if (!rc)
		rc = settings_check_watermark(ctx, node, in);
	if (!rc)
		rc = settings_check_update(ctx, node, p);
	if (!rc)
		rc = settings_check_naming(ctx, node, p);
	if (!rc)
		rc = settings_check_gate(ctx, node, &p->gate);
	if (!rc)
		rc = settings_check_soft_delete(ctx, node, p);
	if (!rc)
		rc = settings_check_loaded_at(ctx, node, p);
	if (!rc)
		rc = settings_check_hook(ctx, node, "load.before",
					 &p->hooks.before);
	if (!rc)
		rc = settings_check_hook(ctx, node, "load.after",
					 &p->hooks.after);
	settings_default_bad_rows(in);
	if (!rc)
		rc = settings_check_pace(ctx, s, node, in);
	if (!rc)
		rc = settings_check_sessions(ctx, node, p);
	if (!rc)
		rc = settings_check_schedule(ctx, node, in);
	if (!rc && p->retry.backoff_us > p->retry.max_backoff_us)
		rc = settings_fail(ctx, node, "retry.backoff",
				   "is longer than retry.max_backoff");
	return rc;
}

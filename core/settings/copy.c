#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/expand.h"
#include "core/data/table_name.h"
#include "core/settings/input.h"

/* `copy` writes the file that the user did not write, as a tree. So it means
 * and refuses the same; places are the names of the flags. */

static struct config_place copy_place(const char *label)
{
	return (struct config_place){ .label = label };
}

static struct config_node *copy_map(const char *label)
{
	return config_node_new(CONFIG_MAP, copy_place(label));
}

static void copy_add_map(struct config_node *parent, const char *key,
			 struct config_node *map)
{
	config_node_add(parent, key, map->at, map);
}

static void copy_add(struct config_node *map, const char *key,
		     const char *label, const char *text)
{
	struct config_place at = copy_place(label);

	if (text)
		config_node_add(map, key, at, config_node_scalar(text, at));
}

/* Variables expand here too: '${PASSWORD}' in a URL keeps the password out of
 * the list of processes. */
static int copy_add_url(struct config_node *map, const char *key,
			const char *label, const char *url, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc = 0;

	if (!url)
		return 0;
	rc = expand_text(&text, url, err);
	if (rc)
		error_prefix(err, "%s", label);
	else
		copy_add(map, key, label, text.data);
	strbuf_release(&text);
	return rc;
}

static int copy_engine(const char *url, char **out, char **shown,
		       struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	struct url parsed = { 0 };
	int rc = expand_text(&text, url, err);

	if (!rc)
		rc = url_parse(&parsed, text.data, err);
	if (!rc) {
		*out = xstrdup(parsed.engine);
		*shown = xstrdup(parsed.shown);
	}
	url_release(&parsed);
	strbuf_release(&text);
	return rc;
}

/* A schema of the source's name means something in PostgreSQL, a database of
 * it between MySQL servers. Elsewhere the URL says where the table goes. */
static bool copy_keeps_schema(const char *from, const char *engine)
{
	return engine_has(engine, ENGINE_ANY_SCHEMA) ||
	       (engine_has(engine, ENGINE_OWN_SCHEMA) && !strcmp(engine, from));
}

static int copy_target(const char *table, const char *from, const char *engine,
		       char **out, struct error *err)
{
	struct table_name name;
	struct strbuf text = STRBUF_INIT;
	int rc;

	if (copy_keeps_schema(from, engine)) {
		*out = xstrdup(table);
		return 0;
	}
	rc = table_name_parse(&name, table, err);
	if (rc) {
		error_prefix(err, "--table");
		return rc;
	}
	table_name_write_part(&text, name.name);
	table_name_release(&name);
	*out = strbuf_detach(&text);
	return 0;
}

static void copy_add_plain(struct strbuf *sb, const char *text)
{
	for (; *text; text++)
		strbuf_addch(sb, isalnum((unsigned char)*text)
					 ? (char)tolower((unsigned char)*text)
					 : '_');
}

/* The names of tables are cut; the hash tells cut ones apart. */
static char *copy_name(const struct copy_arguments *args, const char *engine,
		       const char *to, const char *source, const char *dest)
{
	struct strbuf identity = STRBUF_INIT, name = STRBUF_INIT;
	char *from_part = xstrndup(args->table, 60);
	char *to_part = xstrndup(to, 60);
	size_t strategy = strcspn(args->watermark, ":");

	strbuf_addf(&identity, "%s\n%s\n%s\n%s\n%.*s", source, dest,
		    args->table, to, (int)strategy, args->watermark);
	copy_add_plain(&name, from_part);
	strbuf_addf(&name, "_to_%s_", engine);
	copy_add_plain(&name, to_part);
	strbuf_addf(&name, "_%08x",
		    (unsigned)XXH3_64bits(identity.data, identity.len));
	strbuf_release(&identity);
	free(from_part);
	free(to_part);
	return strbuf_detach(&name);
}

static struct config_node *copy_key(const char *text)
{
	struct config_place at = copy_place("--key");
	struct config_node *list = config_node_new(CONFIG_LIST, at);
	char *copy = xstrdup(text), *rest = copy, *item;

	while ((item = strsep(&rest, ",")))
		config_node_add(list, NULL, at, config_node_scalar(item, at));
	free(copy);
	return list;
}

static struct config_node *copy_watermark(const struct copy_arguments *args)
{
	struct config_node *mark = copy_map("--watermark");
	const char *colon = strchr(args->watermark, ':');
	size_t n = strcspn(args->watermark, ":");
	char *strategy = xstrndup(args->watermark, n);

	copy_add(mark, "strategy", "--watermark", strategy);
	copy_add(mark, "column", "--watermark", colon ? colon + 1 : NULL);
	copy_add(mark, "lag", "--lag", args->lag);
	free(strategy);
	return mark;
}

static struct config_node *copy_end(const char *connection, const char *label,
				    const char *table)
{
	struct config_node *end = copy_map(label);

	copy_add(end, "connection", label, connection);
	copy_add(end, "table", label, table);
	return end;
}

static struct config_node *copy_pipeline(const struct copy_arguments *args,
					 const char *to)
{
	struct config_node *p = copy_map("copy"), *load = copy_map("--mode");
	struct config_node *source = copy_end("source", "--table", args->table);

	copy_add(source, "zero_dates", "--zero-dates", args->zero_dates);
	copy_add_map(p, "source", source);
	copy_add_map(p, "destination", copy_end("destination", "--to", to));
	copy_add_map(p, "watermark", copy_watermark(args));
	copy_add(load, "mode", "--mode", args->mode);
	copy_add_map(p, "load", load);
	if (args->key)
		copy_add_map(p, "key", copy_key(args->key));
	return p;
}

static int copy_connections(const struct copy_arguments *args,
			    struct config_node *root, struct error *err)
{
	struct config_node *connections = copy_map("copy");
	int rc = copy_add_url(connections, "source", "SOURCE_URL",
			      args->source_url, err);

	if (!rc)
		rc = copy_add_url(connections, "destination", "DESTINATION_URL",
				  args->destination_url, err);
	if (!rc)
		rc = copy_add_url(root, "state", "--state", args->state, err);
	copy_add_map(root, "connections", connections);
	return rc;
}

static int copy_check(const struct copy_arguments *args, struct error *err)
{
	if (!args->source_url || !args->destination_url)
		return error_set(err, ERROR_CONFIG,
				 "copy takes SOURCE_URL and DESTINATION_URL");
	if (!args->table || !*args->table)
		return error_set(err, ERROR_CONFIG,
				 "--table is missing; write --table "
				 "schema.table");
	if (!args->watermark || !*args->watermark)
		return error_set(err, ERROR_CONFIG,
				 "--watermark is missing; write --watermark "
				 "timestamp:COLUMN, xmin or sequence:COLUMN");
	return 0;
}

static int copy_pipelines(const struct copy_arguments *args,
			  struct config_node *root, struct error *err)
{
	char *engine = NULL, *source = NULL, *shown = NULL, *to = NULL;
	char *from_engine = NULL, *name;
	struct config_node *pipelines;
	int rc = copy_engine(args->source_url, &from_engine, &source, err);

	if (rc)
		error_prefix(err, "SOURCE_URL");
	if (!rc &&
	    (rc = copy_engine(args->destination_url, &engine, &shown, err)))
		error_prefix(err, "DESTINATION_URL");
	if (!rc && args->to)
		to = xstrdup(args->to);
	else if (!rc)
		rc = copy_target(args->table, from_engine, engine, &to, err);
	if (rc)
		goto out;
	name = args->name ? xstrdup(args->name)
			  : copy_name(args, engine, to, source, shown);
	pipelines = copy_map("copy");
	copy_add_map(root, "pipelines", pipelines);
	copy_add_map(pipelines, name, copy_pipeline(args, to));
	free(name);
out:
	free(from_engine);
	free(engine);
	free(source);
	free(shown);
	free(to);
	return rc;
}

int settings_from_copy(struct settings *out, const struct copy_arguments *args,
		       struct error *err)
{
	struct config_file file = { .name = xstrdup("") };
	int rc = copy_check(args, err);

	file.root = copy_map("copy");
	if (!rc)
		rc = copy_connections(args, file.root, err);
	if (!rc)
		rc = copy_pipelines(args, file.root, err);
	if (!rc)
		rc = settings_parse(out, &file, err);
	if (!rc)
		settings_set_origin(out, "copy");
	if (!rc)
		out->pipelines[0].call = xstrdup(args->call);
	config_file_release(&file);
	return rc;
}

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/urls.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/new_file.h"
#include "core/sync/report/amend.h"

/* Never over a file that is there. */
static int init_save(const char *path, const char *text, struct error *err)
{
	if (!new_file_write(path, text, strlen(text)))
		return 0;
	if (errno == EEXIST)
		return error_set(err, ERROR_CONFIG,
				 "%s exists and is not overwritten; name "
				 "another file with -o, or print with --stdout",
				 path);
	return error_set(err, ERROR_CONFIG, "cannot write %s: %s", path,
			 strerror(errno));
}

static json_t *init_names(const struct strlist *names)
{
	json_t *list = json_array();

	for (size_t i = 0; i < names->n; i++)
		json_array_append_new(list, json_string(names->items[i]));
	return list;
}

/* The names of what was added: nobody sees in the file which they are. */
static void init_tell_added(const char *path, const struct proposal *p)
{
	if (!p->pipelines.n)
		output_line("%s: nothing to add; it is left as it is", path);
	for (size_t i = 0; i < p->pipelines.n; i++)
		output_line("%s: added %s", path, p->pipelines.items[i]);
	if (p->pipelines.n)
		output_line("%s: %zu pipeline%s added; next: tidemark check",
			    path, p->pipelines.n,
			    p->pipelines.n == 1 ? "" : "s");
}

static void init_tell(const struct arguments *args, const char *path,
		      const struct proposal *p, bool added)
{
	for (size_t i = 0; i < p->skipped.n; i++)
		log_warn("left out: %s", p->skipped.items[i]);
	for (size_t i = 0; i < p->variables.n; i++)
		log_warn("the password of the URL is not written: set %s "
			 "before \"tidemark check\"",
			 p->variables.items[i]);
	if (!path)
		return;
	if (arguments_has(args, "json"))
		output_json(json_pack("{s:s, s:o, s:o, s:o}", "file", path,
				      "pipelines", init_names(&p->pipelines),
				      "skipped", init_names(&p->skipped),
				      "variables", init_names(&p->variables)),
			    false);
	else if (added)
		init_tell_added(path, p);
	else
		output_line("wrote %s: %zu pipeline%s; next: tidemark check",
			    path, p->pipelines.n,
			    p->pipelines.n == 1 ? "" : "s");
}

/* For editors; one that is there stays. */
static void init_save_schema(const char *config)
{
	const char *slash = strrchr(config, '/');
	char *path = xstrfmt("%.*s" PROPOSE_SCHEMA,
			     slash ? (int)(slash - config) + 1 : 0, config);
	json_t *schema = settings_json_schema();
	char *text = json_dumps(schema, JSON_INDENT(2));

	if (text && new_file_write(path, text, strlen(text)) && errno != EEXIST)
		log_warn("cannot write %s: %s", path, strerror(errno));
	free(text);
	json_decref(schema);
	free(path);
}

static int init_add(const struct arguments *args, const char *path,
		    const struct wish *wish, struct proposal *p,
		    struct error *err)
{
	const struct strlist *ends = &args->operands;
	int code;

	if (arguments_has(args, "stdout"))
		return error_set(err, ERROR_CONFIG,
				 "--add changes a config, and --stdout prints "
				 "one; leave out one of them");
	if (ends->n == 1)
		return error_set(err, ERROR_CONFIG,
				 "init --add takes SOURCE and DESTINATION, or "
				 "neither (see tidemark help init)");
	if (ends->n)
		urls_warn(ends->items[0], ends->items[1], NULL);
	code = amend(path, ends->n ? ends->items[0] : NULL,
		     ends->n ? ends->items[1] : NULL, wish, p, err);
	if (!code)
		init_tell(args, path, p, true);
	return code;
}

static int init_new(const struct arguments *args, const char *path,
		    const struct wish *wish, struct proposal *p,
		    struct error *err)
{
	const struct strlist *ends = &args->operands;
	int code;

	if (ends->n != 2)
		return error_set(err, ERROR_CONFIG,
				 "init needs SOURCE_URL and DESTINATION_URL "
				 "(see tidemark help init)");
	if (arguments_has(args, "stdout"))
		path = NULL;
	urls_warn(ends->items[0], ends->items[1], NULL);
	code = propose(ends->items[0], ends->items[1], wish, p, err);
	if (!code && path)
		code = init_save(path, p->yaml.data, err);
	else if (!code)
		output_text(p->yaml.data);
	if (!code && path)
		init_save_schema(path);
	if (!code)
		init_tell(args, path, p, false);
	return code;
}

static int init_run(const struct arguments *args, struct error *err)
{
	const char *path = arguments_text(args, "output");
	struct wish wish = { .schemas = STRLIST_INIT };
	struct proposal p;
	int code;

	if (!path)
		path = arguments_text(args, "config");
	if (!path)
		path = "tidemark.yaml";
	arguments_list(args, "schema", &wish.schemas);
	arguments_list(args, "table", &wish.tables);
	arguments_list(args, "exclude", &wish.exclude);
	proposal_init(&p);
	if (arguments_has(args, "add"))
		code = init_add(args, path, &wish, &p, err);
	else
		code = init_new(args, path, &wish, &p, err);
	proposal_release(&p);
	wish_release(&wish);
	return code;
}

static const struct flag init_flags[] = {
	{ "output", 'o', FLAG_TEXT, "FILE",
	  "write this file (default: tidemark.yaml)" },
	{ "stdout", 0, FLAG_SWITCH, NULL, "print it instead" },
	{ "schema", 0, FLAG_LIST, "SCHEMA",
	  "only tables of this schema; may be given several times" },
	{ "table", 0, FLAG_LIST, "PATTERN",
	  "only these tables, as in sales.order_*; the same" },
	{ "exclude", 0, FLAG_LIST, "PATTERN",
	  "none of these tables; the same" },
	{ "add", 0, FLAG_SWITCH, NULL,
	  "add the tables that the config does not have, and change nothing "
	  "else in it" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_init = {
	.name = "init",
	.operands = "SOURCE_URL DESTINATION_URL | --add [SOURCE DESTINATION]",
	.max_operands = 2,
	.summary = "look at the source and write a commented tidemark.yaml",
	.details = "One pipeline a table, with strategy and key chosen and the "
		   "choice explained.\n"
		   "Passwords are not written; a variable takes their place. "
		   "tidemark.schema.json\n"
		   "beside it is for editors.\n"
		   "\n"
		   "--add looks again, and adds what the config does not have. "
		   "SOURCE and\n"
		   "DESTINATION are names of its connections, or their URLs. "
		   "Without them they are\n"
		   "those that init has called so.",
	.example = "tidemark init 'postgresql://app:${SHOP_PASSWORD}@db/shop' "
		   "duckdb:shop.duckdb",
	.flags = init_flags,
	.run = init_run,
};

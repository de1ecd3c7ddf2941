#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/urls.h"
#include "core/base/log.h"
#include "core/base/new_file.h"
#include "core/sync/report/propose.h"

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

static void init_tell(const struct arguments *args, const char *path,
		      const struct proposal *p)
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
	else
		output_line("wrote %s: %zu pipeline%s; next: tidemark check",
			    path, p->pipelines.n,
			    p->pipelines.n == 1 ? "" : "s");
}

static int init_run(const struct arguments *args, struct error *err)
{
	const char *path = arguments_text(args, "output");
	struct proposal p;
	int code;

	if (!path)
		path = arguments_text(args, "config");
	if (!path)
		path = "tidemark.yaml";
	if (arguments_has(args, "stdout"))
		path = NULL;
	urls_warn(args->operands.items[0], args->operands.items[1], NULL);
	proposal_init(&p);
	code = propose(args->operands.items[0], args->operands.items[1], &p,
		       err);
	if (!code && path)
		code = init_save(path, p.yaml.data, err);
	else if (!code)
		output_text(p.yaml.data);
	if (!code)
		init_tell(args, path, &p);
	proposal_release(&p);
	return code;
}

static const struct flag init_flags[] = {
	{ "output", 'o', FLAG_TEXT, "FILE",
	  "write this file (default: tidemark.yaml)" },
	{ "stdout", 0, FLAG_SWITCH, NULL, "print it instead" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_init = {
	.name = "init",
	.operands = "SOURCE_URL DESTINATION_URL",
	.min_operands = 2,
	.max_operands = 2,
	.summary = "look at the source and write a commented tidemark.yaml",
	.details = "One pipeline a table, with strategy and key chosen and the "
		   "choice explained.\nPasswords are not written; a variable "
		   "takes their place.",
	.example = "tidemark init 'postgresql://app:${SHOP_PASSWORD}@db/shop' "
		   "duckdb:shop.duckdb",
	.flags = init_flags,
	.run = init_run,
};

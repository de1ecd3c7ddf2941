#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/utf8.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/others.h"
#include "core/sync/report/expand.h"

/* `alone`: one pipeline was asked for by name; its bare mark is printed, as
 * `set` takes it. */
static void watermark_print(const struct pipeline_settings *p,
			    const struct mark *mark, bool alone)
{
	struct strbuf text = STRBUF_INIT;

	utf8_add_json(&text, mark->watermark ? mark->watermark : "null");
	if (alone)
		output_line("%s", text.data);
	else
		output_line("%s: %s", p->name, text.data);
	strbuf_release(&text);
}

static int watermark_show_one(const struct settings *s,
			      const struct pipeline_settings *p, bool alone,
			      json_t *list, struct error *err)
{
	struct mark mark;
	int code;

	mark_init(&mark);
	code = marks_get(s, p, &mark, err);
	if (code) {
		error_prefix(err, "%s", p->name);
	} else {
		if (mark.unreachable.code)
			log_warn("%s: the destination cannot be asked, this is "
				 "the state store's mirror: %s",
				 p->name, mark.unreachable.message);
		if (list)
			json_array_append_new(
				list, json_pack("{s:s, s:o, s:s}", "pipeline",
						p->name, "watermark",
						json_text_value(mark.watermark),
						"from", mark.from));
		else
			watermark_print(p, &mark, alone);
	}
	mark_release(&mark);
	return code;
}

/* Each pipeline is shown whatever happens to the others. */
static int watermark_show(const struct arguments *args,
			  const struct settings *s, struct error *err)
{
	const struct pipeline_settings *const *pipelines;
	size_t n;
	json_t *list = arguments_has(args, "json") ? json_array() : NULL;
	int code = config_select(args, 1, s, &pipelines, &n, err);

	if (code)
		goto out;
	for (size_t i = 0; i < n; i++) {
		struct error why = ERROR_INIT;
		int failed = watermark_show_one(
			s, pipelines[i], args->operands.n == 2, list, &why);

		if (failed && code)
			log_error("%s", why.message);
		else if (failed) {
			*err = why;
			code = failed;
		}
	}
	free((void *)pipelines);
	if (list)
		output_json(json_pack("{s:O}", "pipelines", list), false);
out:
	json_decref(list);
	return code;
}

static int watermark_put(const struct arguments *args, const struct settings *s,
			 const struct pipeline_settings *p,
			 const char *watermark, struct error *err)
{
	int code = marks_put(s, p, watermark, err);

	if (code) {
		error_prefix(err, "%s", p->name);
		return code;
	}
	if (arguments_has(args, "json"))
		output_json(json_pack("{s:[{s:s, s:o, s:s}]}", "pipelines",
				      "pipeline", p->name, "watermark",
				      json_text_value(watermark), "from",
				      "destination"),
			    false);
	else if (watermark)
		output_line("%s: mark set to %s", p->name, watermark);
	else
		output_line("%s: mark reset; the next run reads everything "
			    "again",
			    p->name);
	return 0;
}

static int watermark_set(const struct arguments *args, const struct settings *s,
			 struct error *err)
{
	const struct pipeline_settings *p;
	char *watermark = NULL;
	int code;

	if (args->operands.n != 3)
		return error_set(err, ERROR_CONFIG,
				 "watermark set needs PIPELINE and JSON (see "
				 "tidemark help watermark)");
	p = settings_pipeline(s, args->operands.items[1], err);
	if (!p)
		return -(int)err->code;
	code = marks_parse(p, args->operands.items[2], &watermark, err);
	if (!code)
		code = marks_drop_open(p, &watermark, err);
	if (!code)
		code = watermark_put(args, s, p, watermark, err);
	free(watermark);
	return code;
}

static int watermark_reset(const struct arguments *args,
			   const struct settings *s, struct error *err)
{
	const struct pipeline_settings *p;
	int code;

	if (args->operands.n != 2)
		return error_set(err, ERROR_CONFIG,
				 "watermark reset needs one PIPELINE (see "
				 "tidemark help watermark)");
	p = settings_pipeline(s, args->operands.items[1], err);
	if (!p)
		return -(int)err->code;
	code = watermark_put(args, s, p, NULL, err);
	return code || !p->wildcard ? code : expand_forget(s, p, err);
}

static int watermark_forget_other(const struct arguments *args,
				  const struct settings *s, struct error *err)
{
	const struct pipeline_settings *p;
	const char *name;
	int code;

	if (args->operands.n != 3)
		return error_set(err, ERROR_CONFIG,
				 "watermark forget needs PIPELINE and the NAME "
				 "of another one that has loaded its table "
				 "(see tidemark help watermark)");
	p = settings_pipeline(s, args->operands.items[1], err);
	if (!p)
		return -(int)err->code;
	name = args->operands.items[2];
	code = others_forget(p, name, err);
	if (code)
		return code;
	if (arguments_has(args, "json"))
		output_json(json_pack("{s:[{s:s, s:s}]}", "pipelines",
				      "pipeline", p->name, "forgotten", name),
			    false);
	else
		output_line("%s: the mark that \"%s\" had at %s is forgotten",
			    p->name, name, p->destination_table);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const struct arguments *args, const struct settings *s,
		   struct error *err);
} watermark_actions[] = {
	{ "show", watermark_show },
	{ "set", watermark_set },
	{ "reset", watermark_reset },
	{ "forget", watermark_forget_other },
};

static int watermark_unknown(const char *word, struct error *err)
{
	const char *names[ARRAY_SIZE(watermark_actions)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = watermark_actions[i].name;
	near = nearest_name(word, names, ARRAY_SIZE(names));
	error_set(
		err, ERROR_CONFIG,
		"watermark does not know \"%s\"; it takes show, set, reset or "
		"forget",
		word);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	return -(int)err->code;
}

static int watermark_run(const struct arguments *args, struct error *err)
{
	const char *word = args->operands.n ? args->operands.items[0] : "show";
	struct arguments now;
	struct settings s;
	size_t i = 0;
	int code;

	while (i < ARRAY_SIZE(watermark_actions) &&
	       strcmp(watermark_actions[i].name, word) != 0)
		i++;
	if (i == ARRAY_SIZE(watermark_actions))
		return watermark_unknown(word, err);
	code = copied_load(args, false, &now, &s, err);
	if (code)
		return code;
	code = watermark_actions[i].run(&now, &s, err);
	copied_release(&now, &s);
	return code;
}

static const struct flag watermark_flags[] = {
	COPIED_FLAGS,
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_watermark = {
	.name = "watermark",
	.operands = "[show [PIPELINE...] | set PIPELINE JSON | reset PIPELINE "
		    "| forget PIPELINE NAME], a copy as SOURCE_URL "
		    "DESTINATION_URL --table T",
	.max_operands = OPERANDS_ANY,
	.summary = "show or change how far a pipeline has come",
	.details = "set takes the text that show prints. After reset the next "
		   "run reads everything\n"
		   "again; rows that have not changed are not written. forget "
		   "removes the mark that\n"
		   "NAME has left at the table of PIPELINE. NAME is an earlier "
		   "name of it, or a\n"
		   "pipeline that exists no more. Until then verify --deletes "
		   "apply takes rows of\n"
		   "that table for NAME's own, and deletes none.",
	.example = "tidemark watermark set orders "
		   "\"$(tidemark watermark show orders)\"",
	.flags = watermark_flags,
	.run = watermark_run,
};

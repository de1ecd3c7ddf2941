#include <inttypes.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verify_print.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"
#include "core/sync/tasks/repair.h"

/* A share of the target's rows. */
#define MAX_DELETES "1%"

enum deletes { DELETES_LEAVE, DELETES_REPORT, DELETES_APPLY };

/* Settings that all pipelines of a call share. */
struct verify_call {
	const struct arguments *args;
	bool repair;
	enum deletes deletes;
	struct verify_part part;
	struct row_limit most;
	const struct settings *s;
	struct store *store; /* NULL: there is none yet */
	bool mends; /* and writes to it */
	json_t *list; /* NULL: no JSON */
	struct verify_report report;
};

static void verify_announce(const struct verify_call *call,
			    const struct verify_result *found)
{
	const struct pipeline_settings *p = found->pipeline;
	const int64_t *n = found->found.of;

	if (call->repair && n[DIFFERENCE_MISSING] + n[DIFFERENCE_DIFFERENT])
		log_info("%" PRId64 " missing and %" PRId64
			 " different rows of %s are read from %s again and "
			 "replace what is stored",
			 n[DIFFERENCE_MISSING], n[DIFFERENCE_DIFFERENT],
			 p->destination_table, p->source_table);
	if (call->deletes == DELETES_APPLY && n[DIFFERENCE_EXTRA])
		log_info("%" PRId64 " extra rows of %s, which %s has no "
			 "longer, are deleted",
			 n[DIFFERENCE_EXTRA], p->destination_table,
			 p->source_table);
}

/* Without a terminal nobody is there to ask, and the flag has said it. */
static bool verify_ask(void *ctx, const struct verify_result *found)
{
	const struct verify_call *call = ctx;

	progress_pipeline_end(found->pipeline);
	verify_announce(call, found);
	if (arguments_has(call->args, "yes") || !ask_is_possible())
		return true;
	if (ask_yes("Go on?"))
		return true;
	log_warn("nothing is done");
	return false;
}

static int verify_mend(const struct verify_call *call,
		       const struct pipeline_settings *p,
		       struct verify_result *r, struct error *err)
{
	const struct arguments *args = call->args;
	const struct repair_terms terms = {
		.part = call->part,
		.look_progress = progress_verify,
		.run_progress = progress_update,
		.values = arguments_has(args, "show-values"),
		.load = call->repair,
		.report = call->deletes == DELETES_REPORT,
		.remove = call->deletes == DELETES_APPLY,
		.most = call->most,
		.most_said = arguments_has(args, "max-deletes"),
		.lease = { .state = call->s->state,
			   .lease_us = call->s->state_lease_us,
			   .wait_us = arguments_number(args, "wait") },
		.store = call->store,
		.ask = verify_ask,
		.ctx = (void *)call,
	};

	return repair_pipeline(p, &terms, r, err);
}

static int verify_look(const struct verify_call *call,
		       const struct pipeline_settings *p,
		       struct verify_result *r, struct error *err)
{
	const struct verify_terms terms = {
		.part = call->part,
		.progress = progress_verify,
		.values = arguments_has(call->args, "show-values"),
		.extra_only = call->deletes == DELETES_REPORT,
		.looked_at = call->store,
	};

	return verify_pipeline(p, &terms, r, err);
}

/* One pipeline; what went wrong is logged, and the first of all kept. */
static void verify_one(struct verify_call *call,
		       const struct pipeline_settings *p, int *code)
{
	struct verify_result r;
	struct error err = ERROR_INIT;
	int rc;

	log_set_pipeline(p->name);
	rc = call->mends ? verify_mend(call, p, &r, &err)
			 : verify_look(call, p, &r, &err);
	progress_pipeline_end(p);
	if (rc) {
		if (*err.server_code)
			log_error("%s [%s]", err.message, err.server_code);
		else
			log_error("%s", err.message);
		*code = *code ? *code : rc;
	}
	log_set_pipeline("");
	if (call->list)
		json_array_append_new(call->list, verify_result_json(&r));
	else
		verify_report_print(&call->report, &r);
	verify_result_release(&r);
}

static int verify_each(struct verify_call *call,
		       const struct pipeline_settings *const *pipelines,
		       size_t n, struct error *err)
{
	int code = 0;

	call->report = (struct verify_report){
		.n = n,
		.values = arguments_has(call->args, "show-values"),
		.quiet = arguments_has(call->args, "quiet"),
	};
	for (size_t i = 0; i < n && !stop_requested(); i++)
		verify_one(call, pipelines[i], &code);
	if (call->list)
		output_json(json_pack("{s:o}", "pipelines", call->list), false);
	else if (!stop_requested())
		verify_report_sum(&call->report);
	if (!code && stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	return code;
}

static int verify_deletes(struct verify_call *call, struct error *err)
{
	const char *deletes = arguments_text(call->args, "deletes");
	const char *most = arguments_text(call->args, "max-deletes");

	if (deletes && !strcmp(deletes, "report"))
		call->deletes = DELETES_REPORT;
	else if (deletes && !strcmp(deletes, "apply"))
		call->deletes = DELETES_APPLY;
	else if (deletes)
		return error_set(err, ERROR_CONFIG,
				 "--deletes takes report or apply, not \"%s\"",
				 deletes);
	if (most && call->deletes != DELETES_APPLY)
		return error_set(err, ERROR_CONFIG,
				 "--max-deletes goes with --deletes apply");
	if (row_limit_parse(&call->most, most ? most : MAX_DELETES))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "--max-deletes takes a number of rows or a share of "
			 "the target's, as 100 or 0.5%%, not \"%s\"",
			 most);
}

/* More rows than are looked at may be extra, and the guard is a share of all:
 * deleting takes a look at the whole. */
static int verify_parse_part(struct verify_call *call, struct error *err)
{
	const char *sample = arguments_text(call->args, "sample");

	call->part.since = arguments_text(call->args, "since");
	if (sample && !verify_part_sample(&call->part, sample))
		return error_set(err, ERROR_CONFIG,
				 "--sample takes a share of the keys, more "
				 "than 0%% and at most 100%%, as 1%% or "
				 "0.5%%, not \"%s\"",
				 sample);
	if (verify_part_is_whole(&call->part) || call->deletes != DELETES_APPLY)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "--deletes apply looks at all rows, so --since and "
			 "--sample do not go with it; --deletes report does");
}

/* A look writes nothing: of the store it wants no more than the pace that is
 * set there, and does without it. */
static int verify_open_store(struct verify_call *call, struct error *err)
{
	struct error why = ERROR_INIT;

	call->mends = call->repair || call->deletes == DELETES_APPLY;
	if (call->mends)
		return state_open(call->s, &call->store, err);
	if (state_look(call->s->state, &call->store, &why))
		log_warn("what \"tidemark pace\" may have set is not known: "
			 "%s",
			 why.message);
	return 0;
}

static int verify_all(const struct arguments *args, const struct settings *s,
		      const struct pipeline_settings *const *pipelines,
		      size_t n, struct error *err)
{
	struct verify_call call = { .args = args,
				    .repair = arguments_has(args, "repair"),
				    .s = s };
	int code = verify_deletes(&call, err);

	if (!code)
		code = verify_parse_part(&call, err);
	if (!code)
		code = verify_open_store(&call, err);
	if (code)
		return code;
	if (arguments_has(args, "json"))
		call.list = json_array();
	progress_begin(arguments_has(args, "quiet"));
	code = verify_each(&call, pipelines, n, err);
	progress_end();
	store_close(call.store);
	return code;
}

static int verify_run(const struct arguments *args, struct error *err)
{
	return copied_use(args, verify_all, err);
}

static const struct flag verify_flags[] = {
	{ "show-values", 0, FLAG_SWITCH, NULL,
	  "print the rows that differ, not just their keys" },
	{ "repair", 0, FLAG_SWITCH, NULL,
	  "load missing and different rows again, then look again" },
	{ "yes", 0, FLAG_SWITCH, NULL,
	  "do it without asking (without a terminal nobody is asked)" },
	{ "wait", 0, FLAG_DURATION, "DURATION",
	  "for a run of the pipeline to end (else exit 6 at once)" },
	{ "deletes", 0, FLAG_TEXT, "report|apply",
	  "name the keys that the source has no longer, or delete them" },
	{ "max-deletes", 0, FLAG_TEXT, "N|P%",
	  "delete nothing if it would be more (default " MAX_DELETES
	  " of the target)" },
	{ "since", 0, FLAG_TEXT, "V",
	  "look only at rows whose mark is V or later, at either side" },
	{ "sample", 0, FLAG_TEXT, "P%",
	  "look only at a random share of the keys, as 1% or 0.5%" },
	COPIED_FLAGS,
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_verify = {
	.name = "verify",
	.operands = "[PIPELINE... | SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary = "compare source and destination, name the keys that differ",
	.details = "Reads both tables whole, counts their rows and sums up "
		   "their contents. Names the\n"
		   "keys that are missing at the destination, extra there, or "
		   "different: at most 100\n"
		   "of them, with their number. Writers and runs may go on: a "
		   "row past the mark is\n"
		   "not a difference yet, and is counted as unsettled.\n"
		   "\n"
		   "Exit 7 if there are differences. Exit 7 also if rows "
		   "differ and no mark tells\n"
		   "why, or if all rows are unsettled, so that none could be "
		   "compared. Columns that\n"
		   "the source has no longer are named (kept): they have old "
		   "values, which are not\n"
		   "compared. Writes nothing, unless told to (below).\n"
		   "\n"
		   "With several pipelines the equal ones have a line each, "
		   "and a sum comes last. -q\n"
		   "prints the others alone.\n"
		   "\n"
		   "--repair reads just the missing and different rows from "
		   "the source again and\n"
		   "loads them, under the lease of the pipeline. Its mark "
		   "stays where it is. The\n"
		   "rows replace the stored ones, even those to which a hand "
		   "has given a newer mark.\n"
		   "Then it looks again, and ends with 0 only if both sides "
		   "are equal. Extra rows\n"
		   "are left.\n"
		   "\n"
		   "--deletes apply removes extra rows, which the source has "
		   "no longer. Each is\n"
		   "looked for there once more before it goes. Nothing is "
		   "removed, and the command\n"
		   "ends with exit 5, in these cases:\n"
		   "\n"
		   "- There are more extra rows than --max-deletes.\n"
		   "- All rows are extra, because the source is empty.\n"
		   "- Row level security may hide rows of the source.\n"
		   "- No run has left a mark.\n"
		   "\n"
		   "In mode append all versions of the key in TABLE_raw go. "
		   "With soft_delete in the\n"
		   "config rows are marked, not deleted. --deletes report only "
		   "names extra rows.\n"
		   "Rows that another pipeline brings into the same table are "
		   "extra to this one.\n"
		   "While that pipeline has a mark there, nothing is deleted "
		   "(exit 2; tidemark help\n"
		   "watermark: forget).\n"
		   "\n"
		   "--since and --sample are quick looks, and say nothing of "
		   "the other rows. --since\n"
		   "looks at the rows that have a mark of V or later at one of "
		   "the sides. It uses an\n"
		   "index on the mark where there is one. V is written as "
		   "2026-01-31 or 2026-01-31\n"
		   "12:00:00, or is a number (strategy sequence). Rows without "
		   "a mark are not looked\n"
		   "at, and xmin has no such values (exit 2). --sample reads "
		   "the keys of both sides,\n"
		   "takes a random share of them, other ones each time, and "
		   "compares their rows.\n"
		   "\n"
		   "After \"tidemark copy\" there is no config file: give the "
		   "same URLs, --table, --to\n"
		   "and --watermark instead of a pipeline's name.",
	.example = "tidemark verify orders --show-values",
	.flags = verify_flags,
	.run = verify_run,
};

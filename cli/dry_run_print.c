#include "cli/dry_run_print.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/output.h"
#include "core/base/json_text.h"
#include "core/base/strbuf.h"

static const char *dry_run_verdict(const struct run_result *r)
{
	switch (r->outcome) {
	case OUTCOME_CAUGHT_UP:
		if (r->dry.aside)
			return "the rows since then";
		return "a run would catch up";
	case OUTCOME_STOPPED:
		if (!r->error.code && r->dry.limit &&
		    r->rows_read >= r->dry.limit)
			return "--limit was reached, there may be more";
		return r->error.code ? "stopped"
				     : "a run would stop with more to read";
	case OUTCOME_WAITING:
		return "a run would wait";
	default:
		return "a run would fail";
	}
}

static void dry_run_add_counts(struct strbuf *sb, const struct run_result *r)
{
	strbuf_addf(sb,
		    ": %" PRId64 " rows read (%" PRId64 " inserted, %" PRId64
		    " updated, %" PRId64 " unchanged",
		    r->rows_read, r->rows_inserted, r->rows_updated,
		    r->rows_unchanged);
	if (r->rows_dead_lettered)
		strbuf_addf(sb, ", %" PRId64 " dead letters",
			    r->rows_dead_lettered);
	strbuf_addf(sb, ") in %" PRId64 " batch%s", r->batches,
		    r->batches == 1 ? "" : "es");
}

static void dry_run_print_verdict(const struct run_result *r)
{
	char *before = output_watermark(r->watermark_before);
	char *after = output_watermark(r->watermark_after);
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s: dry run, nothing was written: %s",
		    r->pipeline->name, dry_run_verdict(r));
	if (r->error.code)
		strbuf_addf(&sb, ": %s%s", r->error.message,
			    r->batches ? "; before that" : "");
	if (!r->error.code || r->batches)
		dry_run_add_counts(&sb, r);
	if (!r->error.code && !r->dry.aside)
		strbuf_addf(&sb, "; mark from %s to %s; guarantee %s", before,
			    after, guarantee_name(r->guarantee));
	output_line("%s", sb.data);
	strbuf_release(&sb);
	free(before);
	free(after);
}

static void dry_run_print_json(const char *name, const char *what,
			       const json_t *json)
{
	char *text = json ? json_text_dump(json, JSON_COMPACT) : NULL;

	if (text)
		output_line("%s: %s: %s", name, what, text);
	free(text);
}

static void dry_run_print_plan(const char *name, const struct explanation *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct explained *x = &plan->items[i];

		output_line("%s: %s, %s%s: %s", name, x->purpose,
			    x->index ? "by index " : "no index",
			    x->index ? x->index : "", x->sql);
	}
}

void dry_run_print(const struct run_result *r)
{
	const char *name = r->pipeline->name;

	dry_run_print_verdict(r);
	dry_run_print_json(name, "the mark is held by", r->held_by);
	dry_run_print_json(name, "it is being run now by", r->dry.lease);
	if (r->dry.breaker)
		output_line("%s: a run now would be refused: %s", name,
			    r->dry.breaker);
	for (size_t i = 0; i < r->dry.ddl.n; i++)
		output_line("%s: a run would first do: %s", name,
			    r->dry.ddl.items[i]);
	dry_run_print_plan(name, &r->dry.plan);
}

#include "core/sync/report/check.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/stop.h"
#include "core/plugin/naming.h"
#include "core/plugin/registry.h"
#include "core/store/session.h"
#include "core/sync/gate/gate.h"
#include "core/sync/pace/probe.h"
#include "core/sync/parts/about.h"
#include "core/sync/parts/changing.h"
#include "core/sync/parts/kept.h"
#include "core/sync/parts/keyless.h"
#include "core/sync/parts/others.h"
#include "core/sync/parts/shape.h"
#include "core/sync/parts/stamp.h"
#include "core/sync/parts/state.h"
#include "core/sync/parts/stopper.h"
#include "core/sync/run/target_check.h"

/* The state of one look. */
struct look {
	const struct pipeline_settings *p;
	const struct connection *state; /* or NULL */
	struct check_result *out;
	struct connector *source;
	struct destination *destination;
	struct stopper stopper; /* for the present question */
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	struct schema written; /* the target's */
	bool described;
	struct target target;
	struct strlist extra; /* columns that only the target has */
	struct watermark from;
	json_t *identity;
};

/* An error met on the way becomes a problem: "source-unreachable",
 * "destination-access" and the like. */
static void look_failed(struct look *l, const char *where, struct error *err)
{
	char *fix = error_fix(err);
	char *code = xstrfmt("%s-%s", where,
			     err->code == ERROR_TRANSIENT
				     ? "unreachable"
				     : error_code_name(err->code));

	/* The server's own words seldom name the right. */
	if (err->code == ERROR_ACCESS && *err->server_code && l->p->line &&
	    !strstr(fix, "GRANT "))
		error_hint(err,
			   "see that user and password are right; tidemark "
			   "grants %s prints the rights that the user takes",
			   l->p->word);
	problems_add_error(&l->out->problems, code, err);
	free(fix);
	free(code);
	error_clear(err);
}

/* The same, of one of the tables. */
static void look_refused(struct look *l, const char *where, const char *table,
			 struct error *err)
{
	about_table(err, table);
	look_failed(l, where, err);
}

static void look_take_problems(struct look *l, const struct problems *found)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct problem *p = &found->items[i];

		problems_add(&l->out->problems, p->severity, p->error, p->code,
			     p->fix, "%s", p->message);
	}
}

/* Things that the config alone tells. */
static void look_at_config(struct look *l)
{
	const struct pipeline_settings *p = l->p;
	struct problems *list = &l->out->problems;

	changing_inspect(p, list);
	if (!p->settle)
		problems_add(list, SEVERITY_WARNING, ERROR_NONE, "settle-off",
			     "watermark.settle: auto",
			     "settle is off: rows of transactions that commit "
			     "late can be missed");
	if (p->mode == LOAD_APPEND && p->tail == TAIL_DELIVER)
		problems_add(list, SEVERITY_INFO, ERROR_NONE, "append-tail",
			     "watermark.tail: hold",
			     "append with tail: deliver may keep more than one "
			     "raw row of a version; the view shows one");
}

static void look_at_columns(struct look *l)
{
	struct check_result *out = l->out;
	struct error err = ERROR_INIT;

	out->n_columns = l->schema.n_columns;
	out->columns = xcalloc(out->n_columns + 1, sizeof(*out->columns));
	for (size_t i = 0; i < out->n_columns; i++) {
		const struct column *c = &l->schema.columns[i];

		out->columns[i].name = xstrdup(c->name);
		out->columns[i].source_name = xstrdup(c->source);
		out->columns[i].source_type =
			xstrdup(c->type.native ? c->type.native
					       : type_kind_name(c->type.kind));
	}
	if (keyless_check(l->p, &l->schema, &err))
		problems_add_error(&out->problems, "rows-twice", &err);
	if (!l->schema.n_key && l->p->mode != LOAD_REPLACE &&
	    l->p->mode != LOAD_APPEND)
		problems_add(&out->problems, SEVERITY_ERROR, ERROR_SCHEMA,
			     "no-key", "key: [COLUMN, ...]",
			     "table %s has no key; %s needs one",
			     l->p->source_table, load_mode_name(l->p->mode));
}

static void look_at_gate(struct look *l)
{
	gate_free(gate_new(l->p, &l->schema, &l->out->problems));
}

static bool look_has_failed(const struct look *l)
{
	for (size_t i = 0; i < l->out->problems.n; i++)
		if (l->out->problems.items[i].severity == SEVERITY_ERROR)
			return true;
	return false;
}

/* Functions of the user's own, which no list has. */
static void look_at_expressions(struct look *l)
{
	struct error err = ERROR_INIT;

	if (look_has_failed(l) || !changing_try(l->p, &err))
		return;
	if (err.code == ERROR_CONFIG)
		problems_add(&l->out->problems, SEVERITY_ERROR, err.code,
			     "expression-changes",
			     "leave it out under source.expressions; for the "
			     "time of loading: load.loaded_at",
			     "%s", err.message);
	else
		look_refused(l, "source", l->p->source_table, &err);
}

/* NULL: it is loaded whole. */
static const struct watermark_spec *look_mark(const struct look *l)
{
	return l->p->strategy == STRATEGY_NONE ? NULL : &l->mark;
}

static void look_at_source(struct look *l)
{
	const struct connector_ops *ops;
	struct error err = ERROR_INIT;
	int rc = registry_open_connector(l->p->source, &l->source, &err);

	if (rc) {
		look_failed(l, "source", &err);
		return;
	}
	ops = l->source->ops;
	stopper_start(&l->stopper, l->source);
	if (source_describe(l->source, &l->spec, look_mark(l), &l->schema,
			    &err)) {
		look_refused(l, "source", l->p->source_table, &err);
		return;
	}
	l->described = true;
	schema_release(&l->written);
	if (stamp_schema(l->p, &l->schema, &l->written, &err))
		look_refused(l, "source", l->p->source_table, &err);
	look_at_columns(l);
	look_at_gate(l);
	if (ops->inspect(l->source, &l->spec, look_mark(l), &l->schema,
			 &l->out->problems, &err))
		look_refused(l, "source", l->p->source_table, &err);
	if (ops->identity(l->source, &l->spec, &l->identity, &err))
		look_refused(l, "source", l->p->source_table, &err);
	look_at_expressions(l);
}

static void look_at_mapping(struct look *l)
{
	struct inspection found;
	struct error err = ERROR_INIT;
	struct check_result *out = l->out;

	inspection_init(&found);
	if (l->destination->ops->inspect(l->destination, &l->target, &found,
					 &err))
		look_refused(l, "destination", l->p->destination_table, &err);
	look_take_problems(l, &found.problems);
	strlist_copy(&out->ddl, &found.ddl);
	strlist_copy(&l->extra, &found.extra);
	for (size_t i = 0; i < out->n_columns && i < found.n_columns; i++) {
		out->columns[i].destination_type =
			xstrdup(found.columns[i].destination_type);
		out->columns[i].mapping = found.columns[i].mapping;
	}
	inspection_release(&found);
}

static void look_refuse_mark(struct look *l, const struct watermark *seen)
{
	const char *call = settings_call(l->p);
	char *fix = xstrfmt("tidemark watermark reset %s, or tidemark %s "
			    "--full-refresh %s",
			    call, settings_run(l->p), call);

	problems_add(&l->out->problems, SEVERITY_ERROR, ERROR_SCHEMA,
		     "mark-of-other-strategy", fix,
		     "the stored mark of %s belongs to strategy %s, column "
		     "\"%s\"; the config says %s, column \"%s\"",
		     l->p->source_table, strategy_name(seen->strategy),
		     seen->column ? seen->column : "",
		     strategy_name(l->p->strategy),
		     l->p->mark_column ? l->p->mark_column : "");
	free(fix);
}

/* A column that comes (again): what a run does about it. */
static void look_at_new_column(struct look *l, struct watermark *seen)
{
	char *column = watermark_new_column(seen, &l->schema);
	bool stop = l->p->drift.on_new_column == DRIFT_STOP;

	if (!column)
		return;
	problems_add(&l->out->problems, stop ? SEVERITY_ERROR : SEVERITY_INFO,
		     stop ? ERROR_SCHEMA : ERROR_NONE, "column-again",
		     stop ? "schema: { on_new_column: add }"
			  : "nothing is to be done; or leave the column out "
			    "under source.columns",
		     "column \"%s\" of %s is new, or was dropped or left out "
		     "for a while: %s",
		     column, l->p->source_table,
		     stop ? "on_new_column is stop"
			  : "the next run reads every row again");
	watermark_forget(seen);
	free(column);
}

/* The stored mark: is it this pipeline's, and of this very source? */
static void look_at_mark(struct look *l, const char *text)
{
	struct watermark seen;
	struct error err = ERROR_INIT;
	const char *column = l->p->mark_column ? l->p->mark_column : "";
	bool other;
	int rc;

	watermark_init(&seen);
	rc = watermark_from_text(&seen, text, &err);
	other = !rc && (seen.strategy != l->p->strategy ||
			strcmp(seen.column ? seen.column : "", column) != 0);
	if (!rc && !other && seen.identity && l->identity)
		rc = watermark_check_identity(&seen, l->identity,
					      settings_run(l->p),
					      settings_call(l->p), &err);
	if (rc) {
		look_refused(l, "mark", l->p->source_table, &err);
	} else if (other) {
		look_refuse_mark(l, &seen);
	} else {
		/* A new column may make it a mark of nothing. */
		json_t *shape = json_incref(seen.shape);

		kept_inspect(l->p, &seen, &l->schema, &l->extra,
			     &l->out->problems);
		look_at_new_column(l, &seen);
		if (shape_inspect(l->p, &l->schema, shape, &l->out->problems))
			watermark_forget(&seen);
		json_decref(shape);
		watermark_release(&l->from);
		watermark_copy(&l->from, &seen);
	}
	watermark_release(&seen);
}

static void look_at_others(struct look *l)
{
	struct error err = ERROR_INIT;

	if (others_inspect(l->destination, l->p, &l->target, &l->out->problems,
			   &err))
		look_failed(l, "destination", &err);
}

/* Find the problems for which a run would refuse. */
static void look_at_target(struct look *l, const struct checkpoint *at)
{
	const struct target_question q = { .p = l->p,
					   .destination = l->destination,
					   .target = &l->target,
					   .source = l->identity,
					   .at = at };
	struct error err = ERROR_INIT;

	if (target_check_inspect(&q, &l->out->problems, &err))
		look_failed(l, "destination", &err);
}

static void look_at_destination(struct look *l)
{
	struct checkpoint checkpoint;
	struct error err = ERROR_INIT;

	if (registry_open_destination(l->p->destination, &l->destination,
				      &err)) {
		look_failed(l, "destination", &err);
		return;
	}
	if (!l->described)
		return;
	stopper_add(&l->stopper, l->destination);
	look_at_mapping(l);
	checkpoint_init(&checkpoint);
	if (l->destination->ops->recover(l->destination, &l->target,
					 &checkpoint, &err))
		look_failed(l, "destination", &err);
	else if (checkpoint.watermark && !l->target.refresh)
		look_at_mark(l, checkpoint.watermark);
	if (!err.code)
		look_at_target(l, &checkpoint);
	checkpoint_release(&checkpoint);
	if (!err.code)
		look_at_others(l);
}

static void look_at_guarantee(struct look *l)
{
	struct settled settled;
	struct error err = ERROR_INIT;
	struct check_result *out = l->out;

	if (!l->described)
		return;
	settled_init(&settled);
	if (l->source->ops->settle(l->source, &l->spec, &l->schema,
				   look_mark(l), look_mark(l) ? &l->from : NULL,
				   &settled, &err)) {
		look_refused(l, "mark", l->p->source_table, &err);
	} else {
		changing_settled(l->p, &settled);
		out->settled = true;
		out->guarantee = settled.guarantee;
		out->guarantee_reason = xstrdup(settled.reason);
		out->held_by = json_incref(settled.held_by);
	}
	settled_release(&settled);
}

static void look_at_state(struct look *l)
{
	struct store *store = NULL;
	struct error err = ERROR_INIT;

	if (l->state && state_look(l->state, &store, &err))
		look_failed(l, "state", &err);
	store_close(store);
}

/* A probe that cannot be asked holds a run until it can be. */
static void look_at_hold(struct look *l, const struct probe_answer *answer)
{
	char *fix = xstrfmt(answer->failed
				    ? "mend what it says, or take pace.%s out "
				      "of the config"
				    : "nothing is to be done: a run waits for "
				      "it; a higher pace.%s holds less",
			    answer->by);

	if (answer->failed)
		problems_add(&l->out->problems, SEVERITY_ERROR, ERROR_ACCESS,
			     "pace-unknown", fix, "pace.%s holds every run: %s",
			     answer->by, answer->reason);
	else
		problems_add(&l->out->problems, SEVERITY_INFO, ERROR_NONE,
			     "pace-held", fix,
			     "pace.%s would hold a run just now: %s",
			     answer->by, answer->reason);
	free(fix);
}

static void look_at_pace(struct look *l)
{
	struct probe_answer answer = { NULL, NULL, false };
	struct error err = ERROR_INIT;
	struct probes probes;

	probes_init(&probes, l->p, &l->p->pace.limits);
	if (probes_ask(&probes, &answer, &err))
		look_failed(l, "pace", &err);
	else if (answer.by)
		look_at_hold(l, &answer);
	probe_answer_release(&answer);
	probes_release(&probes);
}

static void look_init(struct look *l)
{
	const struct pipeline_settings *p = l->p;

	settings_source_spec(p, &l->spec);
	settings_watermark_spec(p, &l->mark);
	schema_init(&l->schema);
	schema_init(&l->written);
	watermark_init(&l->from);
	l->from.strategy = p->strategy;
	l->from.column = xstrdup(p->mark_column);
	l->target.pipeline = p->name;
	l->target.run = settings_run(p);
	l->target.call = settings_call(p);
	l->target.table = p->destination_table;
	l->target.mode = p->mode;
	l->target.drift = p->drift;
	l->target.schema = &l->written;
	l->target.refresh = p->mode == LOAD_REPLACE;
}

static void look_release(struct look *l)
{
	stopper_end(&l->stopper);
	if (l->destination)
		l->destination->ops->close(l->destination);
	if (l->source)
		l->source->ops->close(l->source);
	json_decref(l->identity);
	strlist_release(&l->extra);
	watermark_release(&l->from);
	schema_release(&l->schema);
	schema_release(&l->written);
}

void check_pipeline(const struct pipeline_settings *p,
		    const struct connection *state, struct check_result *out)
{
	static void (*const looks[])(struct look *) = {
		look_at_source, look_at_destination, look_at_guarantee,
		look_at_pace, look_at_state
	};
	struct look l = { .p = p, .state = state, .out = out };

	memset(out, 0, sizeof(*out));
	out->pipeline = p;
	if (p->fault) {
		problems_add_error(&out->problems, "wildcard", p->fault);
		return;
	}
	look_init(&l);
	look_at_config(&l);
	for (size_t i = 0; i < ARRAY_SIZE(looks) && !stop_requested(); i++)
		looks[i](&l);
	look_release(&l);
}

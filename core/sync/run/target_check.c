#include "core/sync/run/target_check.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/file_id.h"
#include "core/base/log.h"
#include "core/base/shell.h"
#include "core/data/table_identity.h"
#include "core/data/watermark.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/others.h"
#include "core/sync/run/run.h"

/* A mark that cannot be read, or does not say, accuses nobody; and what a chunk
 * asks of its own pipeline is said by chunk.c. NULL: the same source table. */
static json_t *target_foreign(const struct target_question *q, const char *name,
			      const char *mark)
{
	struct error ignored = ERROR_INIT;
	json_t *theirs = NULL;
	struct watermark w;

	if (!strcmp(name, q->p->name) || others_is_chunk(name, q->p->name))
		return NULL;
	watermark_init(&w);
	if (!watermark_from_text(&w, mark, &ignored) && !w.update &&
	    w.identity && !table_identity_same(w.identity, q->source))
		theirs = json_incref(w.identity);
	watermark_release(&w);
	return theirs;
}

static int target_refuse(const struct target_question *q, const char *name,
			 const json_t *theirs, struct error *err)
{
	struct strbuf from = STRBUF_INIT, own = STRBUF_INIT;
	struct strbuf word = STRBUF_INIT;
	const struct pipeline_settings *p = q->p;

	table_identity_print(&from, theirs);
	table_identity_print(&own, q->source);
	shell_add_word(&word, name);
	error_set(err, ERROR_SCHEMA,
		  "pipeline %s: table %s at %s has rows of another source "
		  "table: pipeline \"%s\" loads it from %s, and %s reads %s. "
		  "Rows of the two that have one key would replace each "
		  "other. Give each a table of its own. If \"%s\" is no "
		  "pipeline any more, drop the table, or: tidemark watermark "
		  "forget %s %s",
		  p->name, p->destination_table, p->destination->url.shown,
		  name, from.data, p->name, own.data, name, settings_call(p),
		  word.data);
	strbuf_release(&word);
	strbuf_release(&from);
	strbuf_release(&own);
	return -ERROR_SCHEMA;
}

/* SCHEMA, naming both tables. */
static int target_check_others(const struct target_question *q,
			       struct error *err)
{
	const struct strlist *others = &q->at->others;
	int rc = 0;

	if (q->p->mode == LOAD_UPDATE || !q->source || q->at->missing)
		return 0;
	for (size_t i = 0; !rc && i + 1 < others->n; i += 2) {
		json_t *theirs = target_foreign(q, others->items[i],
						others->items[i + 1]);

		if (theirs)
			rc = target_refuse(q, others->items[i], theirs, err);
		json_decref(theirs);
	}
	return rc;
}

/* Marks of the table that was there before. */
static int target_forget_missing(const struct target_question *q,
				 struct error *err)
{
	const struct strlist *others = &q->at->others;
	int rc = 0;

	for (size_t i = 0; !rc && i + 1 < others->n; i += 2) {
		json_t *theirs = target_foreign(q, others->items[i],
						others->items[i + 1]);

		if (theirs)
			rc = others_drop(q->destination, q->target,
					 others->items[i], err);
		json_decref(theirs);
	}
	return rc;
}

/* Are they one place at which tables are? A file is not opened a second time:
 * to close it would give its lock away. */
static bool target_one_place(const struct connection *a,
			     const struct connection *b, bool *files)
{
	char *left, *right;
	bool same;

	*files = engine_has(a->url.engine, ENGINE_FILE) &&
		 engine_has(b->url.engine, ENGINE_FILE);
	if (a == b || !strcmp(a->url.text, b->url.text))
		return true;
	if (!*files)
		return false;
	left = file_id(a->url.path);
	right = file_id(b->url.path);
	same = !strcmp(left, right);
	free(left);
	free(right);
	return same;
}

static int target_ask_rival(const struct target_question *q,
			    const struct pipeline_settings *rival, json_t **out,
			    struct error *err)
{
	struct destination *d = NULL;
	struct target target;
	bool files;
	int rc;

	marks_target(rival, &target);
	if (target_one_place(q->p->destination, rival->destination, &files))
		return q->destination->ops->identity(q->destination, &target,
						     out, err);
	if (files)
		return 0;
	rc = registry_open_destination(rival->destination, &d, err);
	if (!rc)
		rc = d->ops->identity(d, &target, out, err);
	if (d)
		d->ops->close(d);
	return rc;
}

static int target_check_rival(const struct target_question *q,
			      const json_t *own,
			      const struct pipeline_settings *rival,
			      struct error *err)
{
	struct error why = ERROR_INIT;
	json_t *theirs = NULL;
	int rc = 0;

	if (target_ask_rival(q, rival, &theirs, &why))
		log_debug("whether pipeline %s loads the same table is not "
			  "known: %s",
			  rival->name, why.message);
	else if (theirs && table_identity_is(own, theirs))
		rc = error_set(err, ERROR_CONFIG,
			       "pipeline %s: pipeline \"%s\" writes to this "
			       "table already: %s at %s and %s at %s are one "
			       "table. Give each a table of its own",
			       q->p->name, rival->name, q->p->destination_table,
			       q->p->destination->url.shown,
			       rival->destination_table,
			       rival->destination->url.shown);
	json_decref(theirs);
	return rc;
}

static bool target_may_be_source(const struct pipeline_settings *p)
{
	return !strcmp(p->source->url.engine, p->destination->url.engine);
}

/* An end that cannot be reached is passed over: its pipeline asks about this
 * one, too. */
static int target_check_names(const struct target_question *q,
			      struct error *err)
{
	const struct pipeline_settings *p = q->p;
	json_t *own = NULL;
	int rc = 0;

	if (p->mode == LOAD_UPDATE ||
	    (!p->n_rivals && !target_may_be_source(p)))
		return 0;
	rc = q->destination->ops->identity(q->destination, q->target, &own,
					   err);
	if (!rc && q->source && table_identity_is(own, q->source))
		rc = error_set(err, ERROR_CONFIG,
			       "pipeline %s: source and destination are the "
			       "same table: %s at %s is %s at %s. Load into "
			       "another table",
			       p->name, p->destination_table,
			       p->destination->url.shown, p->source_table,
			       p->source->url.shown);
	for (size_t i = 0; !rc && i < p->n_rivals; i++)
		rc = target_check_rival(q, own, p->rivals[i], err);
	json_decref(own);
	return rc;
}

static void target_add_problem(struct problems *out, const char *code,
			       const struct error *err)
{
	problems_add(out, SEVERITY_ERROR, err->code, code,
		     "give each a table of its own", "%s", err->message);
}

int target_check_inspect(const struct target_question *q, struct problems *out,
			 struct error *err)
{
	struct error why = ERROR_INIT;

	if (target_check_others(q, &why))
		target_add_problem(out, TARGET_OF_ANOTHER, &why);
	error_clear(&why);
	if (target_check_names(q, &why) == -ERROR_CONFIG) {
		target_add_problem(out, TARGET_TWICE, &why);
		return 0;
	}
	if (why.code)
		*err = why;
	return -(int)why.code;
}

/* Its own chunks come and go beside it. */
static void target_count_others(struct run *r)
{
	const struct strlist *others = &r->checkpoint.others;

	r->n_others = 0;
	for (size_t i = 0; i + 1 < others->n; i += 2)
		r->n_others += !others_is_chunk(others->items[i], r->p->name);
	r->target.n_others = &r->n_others;
}

/* Names are asked about before the first row: afterwards the marks tell. */
int target_check_run(struct run *r, struct error *err)
{
	const struct target_question q = { .p = r->p,
					   .destination = r->destination,
					   .target = &r->target,
					   .source = r->identity,
					   .at = &r->checkpoint };
	int rc = target_check_others(&q, err);

	if (!rc && !q.at->watermark)
		rc = target_check_names(&q, err);
	if (!rc && r->target.refresh)
		rc = others_check(r->destination, r->p, &r->target,
				  "it is not replaced", err);
	if (!rc && q.at->missing && task_has(r->task, TASK_WRITES))
		rc = target_forget_missing(&q, err);
	if (!task_has(r->task, TASK_OWN_LEASE))
		target_count_others(r);
	return rc;
}

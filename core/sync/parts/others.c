#include "core/sync/parts/others.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/shell.h"
#include "core/base/strbuf.h"
#include "core/data/watermark.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/stopper.h"
#include "core/sync/parts/tries.h"

/* PIPELINE/BACKFILL/NUMBER, as backfill.c makes them. */
bool others_is_chunk(const char *name, const char *pipeline)
{
	size_t n = strlen(pipeline);

	if (strncmp(name, pipeline, n) != 0 || name[n] != '/')
		return false;
	name += n + 1;
	n = strspn(name, "0123456789abcdef");
	return n == 12 && name[n] == '/' && name[n + 1] &&
	       !name[n + 1 + strspn(name + n + 1, "0123456789")];
}

/* A mark that cannot be read is that of somebody who may bring rows. */
static bool others_bring_rows(const char *mark)
{
	struct error ignored = ERROR_INIT;
	struct watermark w;
	bool update;

	watermark_init(&w);
	update = !watermark_from_text(&w, mark, &ignored) && w.update;
	watermark_release(&w);
	return !update;
}

int others_ask(struct destination *d, const struct target *target,
	       struct strlist *names, struct error *err)
{
	struct strlist found = STRLIST_INIT;
	int rc = d->ops->others(d, target, &found, err);

	for (size_t i = 0; !rc && i + 1 < found.n; i += 2)
		if (!others_is_chunk(found.items[i], target->pipeline) &&
		    others_bring_rows(found.items[i + 1]))
			strlist_add(names, found.items[i]);
	strlist_release(&found);
	return rc;
}

/* With the fence that its row has: whoever wrote it last is over. */
int others_drop(struct destination *d, const struct target *target,
		const char *name, struct error *err)
{
	struct target other = *target;
	struct checkpoint mark;
	int rc;

	other.pipeline = name;
	other.writer = (struct writer){ .fence = 0 };
	checkpoint_init(&mark);
	rc = d->ops->recover(d, &other, &mark, err);
	other.writer.fence = mark.fence;
	checkpoint_release(&mark);
	return rc ? rc : d->ops->forget(d, &other, err);
}

struct others_call {
	const struct pipeline_settings *p;
	struct target target;
	struct strlist *names;
	const char *forget; /* or NULL: they are just asked for */
};

static int others_drop_all(struct destination *d,
			   const struct others_call *call, struct error *err)
{
	struct strlist found = STRLIST_INIT;
	bool any = false;
	int rc = d->ops->others(d, &call->target, &found, err);

	for (size_t i = 0; !rc && i < found.n; i += 2) {
		const char *name = found.items[i];

		if (strcmp(name, call->forget) != 0 &&
		    !others_is_chunk(name, call->forget)) {
			strlist_add(call->names, name);
			continue;
		}
		any = true;
		rc = others_drop(d, &call->target, name, err);
	}
	strlist_release(&found);
	if (any)
		strlist_release(call->names);
	return rc ? rc : !any;
}

static int others_try(const struct others_call *call, struct error *err)
{
	struct destination *d = NULL;
	struct stopper stopper;
	int rc = registry_open_destination(call->p->destination, &d, err);

	if (rc)
		return rc;
	stopper_start(&stopper, NULL);
	stopper_add(&stopper, d);
	strlist_release(call->names);
	rc = call->forget ? others_drop_all(d, call, err)
			  : others_ask(d, &call->target, call->names, err);
	stopper_end(&stopper);
	d->ops->close(d);
	return rc;
}

static int others_call(struct others_call *call, struct error *err)
{
	struct tries tries = { .policy = &call->p->retry };
	int rc;

	marks_target(call->p, &call->target);
	do {
		error_clear(err);
		rc = others_try(call, err);
	} while (rc < 0 && tries_again(&tries, err));
	return rc;
}

int others_find(const struct pipeline_settings *p, struct strlist *names,
		struct error *err)
{
	struct others_call call = { .p = p, .names = names };

	return others_call(&call, err);
}

static void others_print(struct strbuf *sb, const struct strlist *names)
{
	for (size_t i = 0; i < names->n; i++)
		strbuf_addf(sb, "%s\"%s\"", i ? ", " : "", names->items[i]);
}

int others_refuse(const struct pipeline_settings *p,
		  const struct strlist *names, const char *so,
		  struct error *err)
{
	struct strbuf list = STRBUF_INIT, word = STRBUF_INIT;
	int rc;

	if (!names->n)
		return 0;
	others_print(&list, names);
	shell_add_word(&word, names->n > 1 ? "NAME" : names->items[0]);
	rc = error_set(
		err, ERROR_CONFIG,
		"%s is loaded by %s, too, which has a mark there: rows "
		"that %s does not have may be from there, and %s. Give each a "
		"table of its own. If %s is no pipeline any more, or an "
		"earlier name of %s: tidemark watermark forget %s %s",
		p->destination_table, list.data, p->source_table, so,
		names->n > 1 ? "one of them" : "it", p->name, settings_call(p),
		word.data);
	strbuf_release(&word);
	strbuf_release(&list);
	return rc;
}

int others_check(struct destination *d, const struct pipeline_settings *p,
		 const struct target *target, const char *so, struct error *err)
{
	struct strlist names = STRLIST_INIT;
	int rc = others_ask(d, target, &names, err);

	if (!rc)
		rc = others_refuse(p, &names, so, err);
	strlist_release(&names);
	return rc;
}

int others_forget(const struct pipeline_settings *p, const char *name,
		  struct error *err)
{
	struct strlist names = STRLIST_INIT;
	struct others_call call = { .p = p, .names = &names, .forget = name };
	struct strbuf list = STRBUF_INIT;
	int rc = others_call(&call, err);

	if (rc > 0) {
		others_print(&list, &names);
		rc = error_set(err, ERROR_CONFIG,
			       "\"%s\" has no mark at %s, the table of %s; %s",
			       name, p->destination_table, p->name,
			       names.n ? "these have: " : "nobody else has");
		if (names.n)
			error_hint(err, "%s", list.data);
	}
	strbuf_release(&list);
	strlist_release(&names);
	return rc;
}

/* In mode update a pipeline brings no rows that could be told apart. */
int others_inspect(struct destination *d, const struct pipeline_settings *p,
		   const struct target *target, struct problems *out,
		   struct error *err)
{
	struct strlist names = STRLIST_INIT;
	bool replaces = p->mode == LOAD_REPLACE;
	const char *what = replaces ? "its rows would go with the table, so no "
				      "run of this one replaces it"
				    : "its rows are extra to this one, and "
				      "verify --deletes apply deletes none";
	int rc = 0;

	if (p->mode != LOAD_UPDATE)
		rc = others_ask(d, target, &names, err);
	for (size_t i = 0; i < names.n; i++) {
		struct strbuf word = STRBUF_INIT;
		char *fix;

		shell_add_word(&word, names.items[i]);
		fix = xstrfmt("give each a table of its own; if that is no "
			      "pipeline any more: tidemark watermark forget %s "
			      "%s",
			      settings_call(p), word.data);
		problems_add(out, replaces ? SEVERITY_ERROR : SEVERITY_WARNING,
			     replaces ? ERROR_CONFIG : ERROR_NONE,
			     "table-of-others", fix,
			     "pipeline \"%s\" loads %s, too: %s",
			     names.items[i], p->destination_table, what);
		free(fix);
		strbuf_release(&word);
	}
	strlist_release(&names);
	return rc;
}

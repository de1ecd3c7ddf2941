#include "core/sync/report/copy_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/shell.h"
#include "core/data/table_identity.h"
#include "core/data/watermark.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/opening.h"
#include "core/sync/parts/stopper.h"
#include "core/sync/parts/tries.h"

/* The limit for a table's name as a part of the pipeline's. */
#define COPY_NAME_PART 60
#define COPY_NAME_HASH 8

/* The engines' answers. */
struct copy_ends {
	const struct pipeline_settings *p;
	bool named; /* by --name */
	json_t *source, *target;
};

static void copy_add_part(struct strbuf *sb, const json_t *identity)
{
	struct strbuf name = STRBUF_INIT;

	table_identity_write_name(&name, identity);
	for (size_t i = 0; i < name.len && i < COPY_NAME_PART; i++)
		strbuf_addch(
			sb, isalnum((unsigned char)name.data[i])
				    ? (char)tolower((unsigned char)name.data[i])
				    : '_');
	strbuf_release(&name);
}

static char *copy_make_name(const struct copy_ends *e)
{
	struct strbuf all = STRBUF_INIT, name = STRBUF_INIT;

	table_identity_write(&all, e->source);
	table_identity_write(&all, e->target);
	strbuf_addstr(&all, strategy_name(e->p->strategy));
	copy_add_part(&name, e->source);
	strbuf_addf(&name, "_to_%s_", e->p->destination->url.engine);
	copy_add_part(&name, e->target);
	strbuf_addf(&name, "_%08x", (unsigned)XXH3_64bits(all.data, all.len));
	strbuf_release(&all);
	return strbuf_detach(&name);
}

/* As copies are named, now and before: ..._to_ENGINE_..._HASH. */
static bool copy_is_name(const struct copy_ends *e, const char *name)
{
	char *to = xstrfmt("_to_%s_", e->p->destination->url.engine);
	const char *hash = strrchr(name, '_');
	bool is = hash && strstr(name, to) &&
		  strspn(hash + 1, "0123456789abcdef") == COPY_NAME_HASH &&
		  !hash[1 + COPY_NAME_HASH];

	free(to);
	return is;
}

static bool copy_is_own(const struct copy_ends *e, const char *mark)
{
	struct error ignored = ERROR_INIT;
	struct watermark w;
	bool own;

	watermark_init(&w);
	own = !watermark_from_text(&w, mark, &ignored) && !w.update &&
	      w.strategy == e->p->strategy && w.identity &&
	      table_identity_same(w.identity, e->source);
	watermark_release(&w);
	return own;
}

/* The mark under this very name counts before others. Among the others, the
 * first one by name counts, whatever the URLs are now. */
static const char *copy_choose(const struct copy_ends *e,
			       const struct checkpoint *at, const char *name)
{
	const struct strlist *others = &at->others;

	for (size_t i = 0; !at->found && i + 1 < others->n; i += 2)
		if (copy_is_name(e, others->items[i]) &&
		    copy_is_own(e, others->items[i + 1]))
			return others->items[i];
	return name;
}

/* Whoever gives a copy a name, or takes it away, may take it for the one that
 * was there before. */
static void copy_tell(const struct copy_ends *e, const struct checkpoint *at,
		      const char *name)
{
	const struct strlist *others = &at->others;
	struct strbuf word = STRBUF_INIT;
	char *go_on;

	for (size_t i = 0; !at->found && i + 1 < others->n; i += 2) {
		if (!strcmp(others->items[i], name) ||
		    !copy_is_own(e, others->items[i + 1]))
			continue;
		shell_add_word(&word, others->items[i]);
		go_on = copy_is_name(e, others->items[i])
				? xstrdup("leave out --name")
				: xstrfmt("say --name %s, or run it with its "
					  "config",
					  word.data);
		log_warn("%s has rows of %s by the mark of pipeline \"%s\": "
			 "%s is another pipeline, and reads them all again. "
			 "To go on with that one, %s; if it is no pipeline any "
			 "more: tidemark watermark forget %s %s",
			 e->p->destination_table, e->p->source_table,
			 others->items[i], name, go_on, settings_call(e->p),
			 word.data);
		free(go_on);
		break;
	}
	strbuf_release(&word);
}

static int copy_ask_source(struct copy_ends *e, struct stopper *stopper,
			   struct ends *ends, struct error *err)
{
	struct connector *c;
	struct source_spec spec;
	int rc = registry_open_connector(e->p->source, &ends->source, err);

	if (rc)
		return rc;
	c = ends->source;
	stopper_start(stopper, c);
	settings_source_spec(e->p, &spec);
	rc = c->ops->identity(c, &spec, &e->source, err);
	stopper_end(stopper);
	return rc;
}

static int copy_ask_target(struct copy_ends *e, struct destination *d,
			   char **name, struct error *err)
{
	struct checkpoint at;
	struct target target;
	char *made;
	int rc;

	marks_target(e->p, &target);
	rc = d->ops->identity(d, &target, &e->target, err);
	if (rc)
		return rc;
	made = e->named ? xstrdup(e->p->name) : copy_make_name(e);
	target.pipeline = made;
	checkpoint_init(&at);
	rc = d->ops->recover(d, &target, &at, err);
	if (!rc)
		*name = xstrdup(e->named ? made : copy_choose(e, &at, made));
	if (!rc && !strcmp(*name, made))
		copy_tell(e, &at, made);
	checkpoint_release(&at);
	free(made);
	return rc;
}

static int copy_ask(struct copy_ends *e, char **name, struct ends *ends,
		    struct error *err)
{
	struct error ignored = ERROR_INIT;
	struct stopper stopper = { 0 };
	struct opening opening;
	int rc, opened;

	opening_begin(&opening, e->p, e->p->destination);
	rc = copy_ask_source(e, &stopper, ends, err);
	opened = opening_end(&opening, &ends->destination, rc ? &ignored : err);
	if (rc || opened)
		return rc ? rc : opened;
	stopper_start(&stopper, NULL);
	stopper_add(&stopper, ends->destination);
	rc = copy_ask_target(e, ends->destination, name, err);
	stopper_end(&stopper);
	return rc;
}

int copy_name_find(struct settings *s, bool named, struct ends *ends,
		   struct error *err)
{
	struct pipeline_settings *p = &s->pipelines[0];
	struct tries tries = { .policy = &p->retry };
	char *name = NULL;
	int rc;

	do {
		struct copy_ends e = { .p = p, .named = named };

		error_clear(err);
		ends_close(ends);
		rc = copy_ask(&e, &name, ends, err);
		json_decref(e.source);
		json_decref(e.target);
	} while (rc && tries_again(&tries, err));
	if (rc) {
		ends_close(ends);
		return rc;
	}
	free(p->name);
	p->name = name;
	return 0;
}

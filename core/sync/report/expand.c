#include "core/sync/report/expand.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/plugin/registry.h"
#include "core/settings/wildcard.h"
#include "core/store/choices.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"
#include "core/sync/parts/tries.h"
#include "core/sync/report/expand_names.h"
#include "core/sync/report/propose.h"

struct expand {
	struct settings *s;
	enum expand_mode mode;
	struct choice_list known; /* by the state store */
	struct choice_list fresh;
	struct catch *catches; /* one a wildcard */
};

static const struct error expand_no_fault = ERROR_INIT;

static bool expand_keeps(const struct expand *e)
{
	return e->mode == EXPAND_KEEP || e->mode == EXPAND_KEEP_ONCE;
}

static const struct choice *expand_known(const struct expand *e,
					 const struct wildcard *w,
					 const char *table)
{
	for (size_t i = 0; i < e->known.n; i++)
		if (!strcmp(e->known.items[i].wildcard, w->name) &&
		    !strcmp(e->known.items[i].table, table))
			return &e->known.items[i];
	return NULL;
}

/* The config may have changed since it was written down. */
static bool expand_still_catches(const struct wildcard *w,
				 const struct choice *c)
{
	struct table_name name = { NULL, NULL, NULL };
	struct error ignored = ERROR_INIT;
	bool catches;

	if (strcmp(c->wildcard, w->name) != 0 ||
	    table_name_parse(&name, c->table, &ignored))
		return false;
	catches = wildcard_catches(w, &name);
	table_name_release(&name);
	return catches;
}

static struct caught *expand_add_known(struct catch *out,
				       const struct choice *c)
{
	json_t *chosen = c->chosen ? json_loads(c->chosen, 0, NULL) : NULL;
	struct caught *item = catch_add(out, c->pipeline, c->table, chosen);

	item->known = true;
	return item;
}

/* All that the state store knows, with `why` as their fault. */
static void expand_from_known(const struct expand *e, const struct wildcard *w,
			      const struct error *why, struct catch *out)
{
	out->partial = true;
	for (size_t i = 0; i < e->known.n; i++) {
		const struct choice *c = &e->known.items[i];

		if (expand_still_catches(w, c))
			expand_add_known(out, c)->fault = *why;
	}
}

/* A table that is loaded whole needs neither a key nor a mark. */
static bool expand_is_whole(const json_t *said)
{
	const json_t *mode =
		json_object_get(json_object_get(said, "load"), "mode");

	return mode && !strcmp(json_string_value(mode), "replace");
}

/* Nobody is asked for a choice that the config makes. */
static int expand_choose(const struct wildcard *w, struct connector *source,
			 const char *table, json_t **chosen, struct error *err)
{
	json_t *said = wildcard_said(w, table);
	const json_t *key = json_object_get(said, "key");
	struct strlist names = STRLIST_INIT;
	int rc = 0;

	if (key && json_object_get(said, "watermark")) {
		*chosen = json_incref(said);
	} else {
		for (size_t i = 0; i < json_array_size(key); i++)
			strlist_add(&names,
				    json_string_value(json_array_get(key, i)));
		rc = propose_choose(source, table, &names, chosen, err);
		if (rc && !error_may_pass(err->code) && expand_is_whole(said)) {
			error_clear(err);
			*chosen = json_incref(said);
			rc = 0;
		}
		if (rc)
			error_hint(err,
				   "what a table needs goes under overrides of "
				   "the wildcard %s, and exclude leaves it out",
				   w->name);
	}
	strlist_release(&names);
	json_decref(said);
	return rc;
}

/* A table that is new gets its choices, or the reason why there are none. A
 * source that is gone is not the table's fault. */
static int expand_ask(struct expand *e, const struct wildcard *w,
		      struct connector *source, const char *pipeline,
		      const char *table, struct catch *out, struct error *err)
{
	struct error why = ERROR_INIT;
	json_t *chosen = NULL;
	struct caught *item;
	char *text;
	int rc = expand_check_name(table, &why);

	if (!rc)
		rc = expand_choose(w, source, table, &chosen, &why);
	if (rc && error_may_pass(why.code)) {
		*err = why;
		return rc;
	}
	if (!rc && !chosen)
		return 0;
	item = catch_add(out, pipeline, table, chosen);
	if (rc) {
		error_prefix(&why, "%s cannot be synced", table);
		item->fault = why;
		return 0;
	}
	text = json_dumps(chosen, JSON_COMPACT);
	choice_add(&e->fresh, pipeline, w->name, table, text);
	free(text);
	return 0;
}

/* One table of the source. */
static int expand_table(struct expand *e, const struct wildcard *w,
			struct connector *source, struct expand_names *names,
			const char *table, struct catch *out, struct error *err)
{
	const struct choice *c = expand_known(e, w, table);
	char *pipeline;
	int rc;

	if (c && c->chosen) {
		expand_add_known(out, c);
		return 0;
	}
	pipeline = c ? xstrdup(c->pipeline) : expand_name(names, table);
	rc = expand_ask(e, w, source, pipeline, table, out, err);
	free(pipeline);
	return rc;
}

static bool expand_has(const struct strlist *tables, const char *table)
{
	return strlist_has(tables, table);
}

/* Tables that were there, and are gone. */
static void expand_missing(const struct expand *e, const struct wildcard *w,
			   const struct strlist *there, struct catch *out)
{
	for (size_t i = 0; i < e->known.n; i++) {
		const struct choice *c = &e->known.items[i];
		struct caught *item;

		if (!expand_still_catches(w, c) || expand_has(there, c->table))
			continue;
		if (w->skip_missing) {
			log_info("%s is left out: its table %s is gone",
				 c->pipeline, c->table);
			out->partial = true;
			continue;
		}
		item = expand_add_known(out, c);
		error_set(&item->fault, ERROR_SCHEMA,
			  "table %s was there, and is gone" ERROR_FIX
			  ": bring it back, or exclude it from the wildcard "
			  "%s; with on_missing: skip it would be left out",
			  c->table, w->name);
	}
}

static int expand_caught(struct expand *e, const struct wildcard *w,
			 struct connector *source, const struct strlist *tables,
			 struct catch *out, struct error *err)
{
	struct expand_names names;
	int rc = 0;

	expand_names_init(&names, w->name, tables);
	for (size_t i = 0; i < e->known.n; i++)
		if (!strcmp(e->known.items[i].wildcard, w->name))
			expand_names_take(&names, &e->known.items[i]);
	for (size_t i = 0; !rc && i < tables->n; i++) {
		rc = expand_table(e, w, source, &names, tables->items[i], out,
				  err);
		if (!rc && stop_requested())
			rc = error_set(err, ERROR_STOPPED,
				       "stopped by a signal");
	}
	expand_names_release(&names);
	return rc;
}

static void expand_filter(const struct wildcard *w,
			  const struct table_list *all, struct strlist *out)
{
	for (size_t i = 0; i < all->n; i++) {
		struct table_name name = { NULL, NULL, NULL };
		struct error ignored = ERROR_INIT;

		if (table_name_parse(&name, all->items[i].name, &ignored))
			continue;
		if (wildcard_catches(w, &name))
			strlist_add(out, all->items[i].name);
		table_name_release(&name);
	}
}

/* The source's answers, for one wildcard. */
static int expand_look(struct expand *e, const struct wildcard *w,
		       struct catch *out, struct error *err)
{
	struct strlist caught = STRLIST_INIT;
	struct table_list tables = { NULL, 0, 0 };
	struct connector *source = NULL;
	int rc = registry_open_connector(w->source, &source, err);

	if (!rc)
		rc = propose_list(source, &tables, err);
	if (rc)
		goto out;
	expand_filter(w, &tables, &caught);
	rc = expand_caught(e, w, source, &caught, out, err);
	if (!rc)
		expand_missing(e, w, &caught, out);
	if (!rc && !out->n && !out->partial)
		rc = expand_nothing(e->s, w, &tables, err);
out:
	if (source)
		source->ops->close(source);
	table_list_release(&tables);
	strlist_release(&caught);
	return rc;
}

/* A source that cannot be asked: those that are known cannot run, or, if none
 * is, the wildcard itself stands for them. */
static int expand_unreachable(const struct expand *e, const struct wildcard *w,
			      struct catch *out, struct error *err)
{
	struct error why;

	error_prefix(err, "source %s", w->source->url.shown);
	why = *err;
	catch_release(out);
	expand_from_known(e, w, &why, out);
	if (!out->n)
		catch_add(out, w->name, w->tables.items[0].text, NULL)->fault =
			why;
	error_clear(err);
	return 0;
}

/* In place of the source, which did not answer. False: none is known. */
static bool expand_again_known(const struct expand *e, const struct wildcard *w,
			       struct catch *out, struct error *err)
{
	catch_release(out);
	expand_from_known(e, w, &expand_no_fault, out);
	if (out->n)
		error_clear(err);
	return out->n > 0;
}

static int expand_wildcard(struct expand *e, const struct wildcard *w,
			   struct catch *out, struct error *err)
{
	struct tries tries = { .policy = &w->retry };
	size_t fresh = e->fresh.n;
	int rc;

	if (e->mode == EXPAND_KNOWN)
		expand_from_known(e, w, &expand_no_fault, out);
	if (out->n)
		return 0;
	do {
		error_clear(err);
		catch_release(out);
		choice_list_cut(&e->fresh, fresh);
		rc = expand_look(e, w, out, err);
	} while (rc && e->mode != EXPAND_TRY && e->mode != EXPAND_KEEP_ONCE &&
		 tries_again(&tries, err));
	if (!rc || err->code == ERROR_CONFIG || err->code == ERROR_STOPPED)
		return rc;
	choice_list_cut(&e->fresh, fresh);
	if (e->mode == EXPAND_TRY && expand_again_known(e, w, out, err))
		return 0;
	return expand_unreachable(e, w, out, err);
}

/* A store that a run would mend is no obstacle for a look. */
static int expand_load(struct expand *e, struct store *store, struct error *err)
{
	int rc = store ? store_choices_list(store, &e->known, err) : 0;

	if (!rc || expand_keeps(e))
		return rc;
	log_debug("%s", err->message);
	error_clear(err);
	return 0;
}

static int expand_store(struct expand *e, struct store **store,
			struct error *err)
{
	struct tries tries = { .policy = &e->s->wildcards[0]->retry };
	int rc;

	do {
		error_clear(err);
		rc = expand_keeps(e) ? state_open(e->s, store, err)
				     : state_look(e->s->state, store, err);
	} while (rc && expand_keeps(e) && tries_again(&tries, err));
	if (rc && !expand_keeps(e)) {
		log_debug("%s", err->message);
		error_clear(err);
		rc = 0;
	}
	return rc;
}

/* Another process may have chosen meanwhile: what is kept holds. */
static int expand_keep(struct expand *e, struct store *store, struct error *err)
{
	struct choice_list kept = { NULL, 0, 0 };
	int rc = store_choices_save(store, &e->fresh, err);

	if (!rc)
		rc = store_choices_list(store, &kept, err);
	for (size_t i = 0; !rc && i < kept.n; i++)
		for (size_t w = 0; w < e->s->n_wildcards; w++)
			expand_replace(&e->catches[w], &kept.items[i]);
	choice_list_release(&kept);
	return rc;
}

static int expand_all(struct expand *e, struct error *err)
{
	struct store *store = NULL;
	int rc = expand_store(e, &store, err);

	if (!rc)
		rc = expand_load(e, store, err);
	for (size_t i = 0; !rc && i < e->s->n_wildcards; i++)
		rc = expand_wildcard(e, e->s->wildcards[i], &e->catches[i],
				     err);
	if (!rc && expand_keeps(e) && e->fresh.n)
		rc = expand_keep(e, store, err);
	store_close(store);
	return rc ? rc : settings_expand(e->s, e->catches, err);
}

int expand_wildcards(struct settings *s, enum expand_mode mode,
		     struct error *err)
{
	struct expand e = { .s = s, .mode = mode };
	int rc;

	if (!s->n_wildcards)
		return 0;
	e.catches = xcalloc(s->n_wildcards, sizeof(*e.catches));
	rc = expand_all(&e, err);
	for (size_t i = 0; i < s->n_wildcards; i++)
		catch_release(&e.catches[i]);
	free(e.catches);
	choice_list_release(&e.known);
	choice_list_release(&e.fresh);
	return rc;
}

int expand_forget(const struct settings *s, const struct pipeline_settings *p,
		  struct error *err)
{
	struct store *store = NULL;
	int rc = state_open(s, &store, err);

	if (!rc)
		rc = store_choice_forget(store, p->name, err);
	store_close(store);
	return rc;
}

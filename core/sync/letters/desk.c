#include "core/sync/letters/desk.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/store/controls.h"
#include "core/store/ids.h"
#include "core/store/letters.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

static int desk_none(const char *pipeline, struct error *err)
{
	return error_set(err, ERROR_CONFIG,
			 "pipeline %s has no dead letters: nothing is done",
			 pipeline);
}

static int desk_by_pipeline(struct dead_letter_list *out, struct store *store,
			    const struct settings *s, const char *pipeline,
			    const struct letter_wish *wish, struct error *err)
{
	const struct dead_letter_filter filter = {
		.pipeline = pipeline,
		.limit = wish->limit,
		.names = !wish->rows,
	};
	size_t before = out->n;
	int rc = store_letters_list(store, &filter, out, err);

	if (rc || out->n > before)
		return rc;
	/* One that the config does not know may have left some. */
	if (pipeline && !settings_pipeline(s, pipeline, err))
		return -(int)err->code;
	return pipeline && wish->some ? desk_none(pipeline, err) : 0;
}

static int desk_by_id(struct dead_letter_list *out, struct store *store,
		      const char *id, const struct letter_wish *wish,
		      struct error *err)
{
	const char *pipeline =
		wish->pipelines->n ? wish->pipelines->items[0] : NULL;
	struct dead_letter_filter filter = { .pipeline = pipeline,
					     .names = !wish->rows };
	size_t before = out->n;
	char *whole = NULL;
	int rc = store_id_find(store, STORE_IDS_LETTERS, id, &whole, err);

	filter.id = whole;
	if (!rc)
		rc = store_letters_list(store, &filter, out, err);
	free(whole);
	if (rc || out->n > before)
		return rc;
	return error_set(err, ERROR_CONFIG,
			 "there is no dead letter %.80s%s%s (one whose row has "
			 "been loaded since is gone); nothing is done. "
			 "\"tidemark dead-letters list\" shows those there are",
			 id, pipeline ? " of pipeline " : "",
			 pipeline ? pipeline : "");
}

/* A letter that two filters name is one. */
static void desk_once(struct dead_letter_list *list)
{
	struct dead_letter_list out = { NULL, 0, 0 };
	struct dead_letter_list twice = { NULL, 0, 0 };

	out.items = xcalloc(list->n + 1, sizeof(*out.items));
	twice.items = xcalloc(list->n + 1, sizeof(*twice.items));
	for (size_t i = 0; i < list->n; i++) {
		size_t k = 0;

		while (k < out.n &&
		       strcmp(out.items[k].id, list->items[i].id) != 0)
			k++;
		if (k < out.n)
			twice.items[twice.n++] = list->items[i];
		else
			out.items[out.n++] = list->items[i];
	}
	free(list->items);
	dead_letter_list_release(&twice);
	*list = out;
}

int letter_desk_find(struct dead_letter_list *out, const struct settings *s,
		     const struct letter_wish *wish, struct error *err)
{
	size_t pipelines = wish->pipelines->n, ids = wish->ids->n;
	struct store *store = NULL;
	int rc = state_open(s, &store, err);

	if (rc)
		return rc;
	if (!pipelines && !ids)
		rc = desk_by_pipeline(out, store, s, NULL, wish, err);
	for (size_t i = 0; !rc && !ids && i < pipelines; i++)
		rc = desk_by_pipeline(out, store, s, wish->pipelines->items[i],
				      wish, err);
	for (size_t i = 0; !rc && i < ids; i++)
		rc = desk_by_id(out, store, wish->ids->items[i], wish, err);
	store_close(store);
	if (!rc && (ids || pipelines > 1))
		desk_once(out);
	return rc;
}

int letter_desk_note(struct store *store,
		     const struct dead_letter_list *letters, const char *who,
		     const char *what, struct error *err)
{
	int rc = 0;

	for (size_t i = 0, n; !rc && i < letters->n; i += n) {
		const struct dead_letter *first = &letters->items[i];
		char *detail;

		for (n = 1; i + n < letters->n; n++)
			if (strcmp(letters->items[i + n].pipeline,
				   first->pipeline) != 0)
				break;
		detail = n == 1 ? xstrdup(first->id)
				: xstrfmt("%s and %zu more", first->id, n - 1);
		rc = store_control_note(store, first->pipeline, who, what,
					detail, err);
		free(detail);
	}
	return rc;
}

int letter_desk_discard(const struct settings *s,
			const struct dead_letter_list *letters, const char *who,
			struct error *err)
{
	struct store *store = NULL;
	int rc = state_open(s, &store, err);

	if (rc)
		return rc;
	rc = store_letters_delete(store, letters, err);
	if (!rc)
		rc = letter_desk_note(store, letters, who, "discard", err);
	store_close(store);
	return rc;
}

/* Younger ones leave the list. */
static void desk_keep_old(struct dead_letter_list *list, int64_t before)
{
	struct dead_letter_list young = { NULL, 0, 0 };
	size_t old = 0;

	young.items = xcalloc(list->n + 1, sizeof(*young.items));
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].updated_at < before)
			list->items[old++] = list->items[i];
		else
			young.items[young.n++] = list->items[i];
	}
	list->n = old;
	dead_letter_list_release(&young);
}

int letter_desk_expire(struct store *store, const char *pipeline,
		       int64_t keep_us, struct error *err)
{
	const struct dead_letter_filter filter = { .pipeline = pipeline,
						   .names = true };
	struct dead_letter_list list = { NULL, 0, 0 };
	struct strbuf age = STRBUF_INIT;
	int rc = store_letters_list(store, &filter, &list, err);

	if (!rc)
		desk_keep_old(&list, clock_now_us() - keep_us);
	if (!rc && list.n)
		rc = store_letters_delete(store, &list, err);
	units_print_duration(&age, keep_us);
	if (!rc && list.n)
		log_info("%s: %zu dead letter%s deleted, refused last more "
			 "than %s ago (state.letters_keep)",
			 pipeline, list.n, list.n == 1 ? " is" : "s are",
			 age.data);
	strbuf_release(&age);
	dead_letter_list_release(&list);
	return rc;
}

static bool desk_has(const struct dead_letter_list *letters,
		     const char *pipeline)
{
	for (size_t i = 0; i < letters->n; i++)
		if (!strcmp(letters->items[i].pipeline, pipeline))
			return true;
	return false;
}

static int desk_check(const struct settings *s, const struct dead_letter *l,
		      struct error *err)
{
	const struct pipeline_settings *p =
		settings_pipeline(s, l->pipeline, err);

	if (!p) {
		error_prefix(err, "dead letter %s", l->id);
		return -(int)err->code;
	}
	if (p->mode != LOAD_REPLACE && *l->key_digest)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "dead letter %s: %s; mend the row and run it again: "
			 "tidemark %s %s",
			 l->id,
			 p->mode == LOAD_REPLACE
				 ? "its pipeline is in mode replace, which "
				   "loads all of the table every time"
				 : "its table has no key to read the row by",
			 settings_run(p), settings_call(p));
}

int letter_desk_pipelines(const struct settings *s,
			  const struct dead_letter_list *letters,
			  const struct pipeline_settings ***out, size_t *n,
			  struct error *err)
{
	int rc = 0;

	*out = NULL;
	*n = 0;
	for (size_t i = 0; !rc && i < letters->n; i++)
		rc = desk_check(s, &letters->items[i], err);
	if (rc)
		return rc;
	*out = xcalloc(s->n_pipelines + 1, sizeof(**out));
	for (size_t i = 0; i < s->n_pipelines; i++)
		if (desk_has(letters, s->pipelines[i].name))
			(*out)[(*n)++] = &s->pipelines[i];
	return 0;
}

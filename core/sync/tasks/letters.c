#include "core/sync/tasks/letters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/sync/run/run.h"

/* A value of a key's JSON as value_print() writes it. */
static char *replay_text(const json_t *value)
{
	char *dumped, *text;

	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	dumped = json_dumps(value, JSON_ENCODE_ANY);
	text = xstrdup(dumped);
	free(dumped);
	return text;
}

static int replay_other_key(const struct dead_letter *l, const char *column,
			    struct error *err)
{
	return error_set(err, ERROR_CONFIG,
			 "dead letter %s is of key %s, and the key of %s has "
			 "column \"%s\" now: its row cannot be found by it. "
			 "Discard it; a run loads the row when it changes",
			 l->id, l->key, l->pipeline, column);
}

static int replay_add_key(struct run *r, const struct dead_letter *l,
			  struct error *err)
{
	const struct schema *s = &r->schema;
	json_t *key = json_loads(l->key, JSON_ALLOW_NUL, NULL);
	int rc = 0;

	for (size_t i = 0; !rc && i < s->n_key; i++) {
		const char *column = s->columns[s->key[i]].name;
		const json_t *value = json_object_get(key, column);
		char *text;

		if (!value || json_is_null(value)) {
			rc = replay_other_key(l, column, err);
			break;
		}
		text = replay_text(value);
		strlist_add(&r->keys, text);
		free(text);
	}
	json_decref(key);
	return rc;
}

static bool replay_is_of(const struct run *r, const struct dead_letter *l)
{
	return !strcmp(l->pipeline, r->p->name);
}

static const struct dead_letter_list *replay_list(const struct run *r)
{
	return ((const struct letters_task *)r->task)->list;
}

/* The keys to ask the source for. CONFIG: a letter's key is not of the columns
 * that are the key now. */
static int replay_bound(struct run *r, struct error *err)
{
	const struct dead_letter_list *list = replay_list(r);
	int rc = 0;

	r->scan.keys = &r->keys;

	for (size_t i = 0; !rc && i < list->n; i++)
		if (replay_is_of(r, &list->items[i]))
			rc = replay_add_key(r, &list->items[i], err);
	return rc;
}

static int replay_refused(const struct run *r, struct error *err)
{
	int64_t dead = r->out->rows_dead_lettered;

	if (!dead)
		return 0;
	return error_set(err, ERROR_DATA,
			 "%s refuses %" PRId64 " of %" PRId64
			 " rows again: \"tidemark dead-letters list %s\" says "
			 "why; mend them at the source, or the table, and "
			 "replay them once more",
			 r->p->destination_table, dead, r->out->rows_read,
			 settings_call(r->p));
}

/* All that came is loaded, or a letter again. The letters of rows that did not
 * come stay, and are named: nobody else has them. DATA: some were refused. */
static int replay_finish(struct run *r, const struct read_batch *last,
			 struct error *err)
{
	const struct dead_letter_list *list = replay_list(r);

	(void)last;
	for (size_t i = 0; i < list->n; i++) {
		const struct dead_letter *l = &list->items[i];

		if (replay_is_of(r, l) &&
		    letters_wait(&r->letters, l->key_digest))
			log_warn("row %s is not at the source any more (or "
				 "source.where leaves it out): its letter %s "
				 "stays; discard it if that is as it should be",
				 l->key, l->id);
	}
	return replay_refused(r, err);
}

static const struct task_ops letters_ops = {
	.traits = TASK_MIRRORS | TASK_BY_KEYS | TASK_WRITES |
		  TASK_RETRIES_LETTERS,
	.begin = task_no_begin,
	.held = task_no_held,
	.init = task_no_init,
	.describe = task_describe,
	.locate = task_no_step,
	.prepare = task_prepare,
	.bound = replay_bound,
	.begun = task_no_step,
	.mark = task_mark,
	.batch_id = task_no_batch_id,
	.loading = task_no_loading,
	.loaded = task_no_loaded,
	.finish = replay_finish,
	.again = task_no_again,
	.end = task_no_end,
};

void letters_task_init(struct letters_task *t,
		       const struct dead_letter_list *list)
{
	*t = (struct letters_task){ .task = { .ops = &letters_ops },
				    .list = list };
}

#include "core/sync/run/past_mark.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/value.h"
#include "core/sync/run/run.h"

/* The last of some values of 8 bytes, in the order of their integers. */
static size_t past_mark_last(const struct vector *v, size_t n_rows)
{
	size_t found = n_rows;

	for (size_t row = 0; row < n_rows; row++)
		if (!vector_is_null(v, row) &&
		    (found == n_rows ||
		     vector_i64(v, row) > vector_i64(v, found)))
			found = row;
	return found;
}

static char *past_mark_text(const struct vector *v, size_t row)
{
	struct strbuf sb = STRBUF_INIT;

	value_print(&sb, v, row);
	return strbuf_detach(&sb);
}

static bool past_mark_is_integer(enum type_kind kind)
{
	return kind == TYPE_INT64 || kind == TYPE_TIMESTAMP ||
	       kind == TYPE_TIMESTAMPTZ;
}

void past_mark_take(const struct run *r, char **text, const char *other)
{
	if (watermark_is_beyond(r->p->strategy, other, *text))
		xassign(text, other);
}

char *past_mark_highest(const struct run *r, const struct batch *b)
{
	char *highest = NULL;
	const struct vector *v;
	size_t row;

	if (r->p->strategy == STRATEGY_XMIN || r->p->mode == LOAD_APPEND ||
	    r->schema.mark < 0 || !b->n_rows)
		return NULL;
	v = &b->vectors[r->schema.mark];
	if (past_mark_is_integer(v->kind)) {
		row = past_mark_last(v, b->n_rows);
		return row < b->n_rows ? past_mark_text(v, row) : NULL;
	}
	for (row = 0; row < b->n_rows; row++) {
		char *text;

		if (vector_is_null(v, row))
			continue;
		text = past_mark_text(v, row);
		past_mark_take(r, &highest, text);
		free(text);
	}
	return highest;
}

int past_mark_tell(struct run *r, const char *delivered, struct error *err)
{
	struct watermark mark = { .strategy = r->p->strategy,
				  .column = r->p->mark_column };
	struct target live = r->target;
	struct tries now = *r->tries;
	char *text;
	int rc;

	live.pipeline = r->p->name;
	mark.pending = json_pack("{s:s}", "delivered", delivered);
	text = watermark_to_text(&mark);
	do {
		error_clear(err);
		rc = r->destination->ops->raise(r->destination, &live, text,
						err);
	} while (rc == -ERROR_CONFLICT && tries_again(&now, err));
	json_decref(mark.pending);
	free(text);
	return rc;
}

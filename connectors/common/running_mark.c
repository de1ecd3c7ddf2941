#include "connectors/common/running_mark.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/delivered.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

void running_mark_begin(struct running_mark *m, const struct scan *scan)
{
	m->n_columns = scan->schema->n_columns;
	if (!scan->mark)
		return;
	watermark_copy(&m->at, scan->from);
	json_decref(m->at.identity);
	m->at.identity = scan->identity ? json_deep_copy(scan->identity) : NULL;
	m->at.strategy = scan->mark->strategy;
	if (!m->at.column && scan->mark->strategy != STRATEGY_XMIN)
		m->at.column = xstrdup(scan->mark->column);
}

void running_mark_hide(struct running_mark *m, enum type_kind kind)
{
	struct vector *v = &m->hidden;

	v->kind = kind;
	v->width = (uint32_t)type_width(kind);
	v->validity = xcalloc(1, 1);
	v->offsets = xcalloc(2, sizeof(*v->offsets));
	v->data_capacity = 64;
	v->data = xcalloc(1, v->data_capacity);
}

void running_mark_release(struct running_mark *m)
{
	watermark_release(&m->at);
	free(m->hidden.validity);
	free(m->hidden.offsets);
	free(m->hidden.data);
	memset(m, 0, sizeof(*m));
}

char *running_mark_text(const struct running_mark *m, const struct batch *b,
			size_t row, size_t column)
{
	struct strbuf sb = STRBUF_INIT;

	if (column < m->n_columns)
		value_print(&sb, &b->vectors[column], row);
	else
		value_print(&sb, &m->hidden, 0);
	return strbuf_detach(&sb);
}

void running_mark_advance(struct running_mark *m, const struct batch *b,
			  size_t row, size_t mark)
{
	struct watermark *w = &m->at;

	free(w->value);
	w->value = running_mark_text(m, b, row, mark);
	strlist_release(&w->key);
	for (size_t i = 0; i < b->schema->n_key; i++) {
		char *text = running_mark_text(m, b, row, b->schema->key[i]);
		strlist_add(&w->key, text);
		free(text);
	}
}

void running_mark_ahead(struct running_mark *m, const struct batch *b,
			long mark)
{
	size_t column = (size_t)mark, last = b->n_rows - 1;
	char *text;

	if (mark < 0 || !b->n_rows || m->at.strategy == STRATEGY_XMIN)
		return;
	if (column < m->n_columns ? vector_is_null(&b->vectors[column], last)
				  : vector_is_null(&m->hidden, 0))
		return;
	text = running_mark_text(m, b, last, column);
	delivered_tail(&m->at, text);
	free(text);
}

void running_mark_hand_over(const struct running_mark *m, struct batch *b)
{
	watermark_release(&b->watermark);
	watermark_copy(&b->watermark, &m->at);
}

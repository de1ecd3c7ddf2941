#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/number.h"
#include "core/data/value.h"
#include "core/data/watermark.h"

#define DELIVERED "delivered"

bool number_is_whole(const char *text)
{
	size_t sign = text && *text == '-';

	return text && text[sign] &&
	       !text[sign + strspn(text + sign, "0123456789")];
}

bool number_is_greater(const char *a, const char *b)
{
	bool below = *a == '-', other = *b == '-';
	size_t n, m;
	int c;

	if (below != other)
		return other;
	a += below + strspn(a + below, "0");
	b += below + strspn(b + below, "0");
	n = strlen(a);
	m = strlen(b);
	c = n == m ? strcmp(a, b) : n > m ? 1 : -1;
	return below ? c < 0 : c > 0;
}

static bool delivered_read(const char *text, int64_t *out)
{
	return text && value_parse_instant(text, out);
}

bool watermark_is_beyond(enum strategy s, const char *a, const char *b)
{
	int64_t x = 0, y = 0;

	if (s == STRATEGY_SEQUENCE)
		return number_is_whole(a) &&
		       (!number_is_whole(b) || number_is_greater(a, b));
	if (!strategy_has_column(s) || !delivered_read(a, &x))
		return false;
	return !delivered_read(b, &y) || x > y;
}

const char *watermark_delivered(const struct watermark *w)
{
	const char *beyond =
		json_string_value(json_object_get(w->pending, DELIVERED));

	return beyond ? beyond : w->value;
}

bool watermark_raise(struct watermark *w, const char *delivered)
{
	if (!watermark_is_beyond(w->strategy, delivered, w->value) ||
	    !watermark_is_beyond(w->strategy, delivered,
				 watermark_delivered(w)))
		return false;
	if (!w->pending)
		w->pending = json_object();
	json_object_set_new(w->pending, DELIVERED, json_string(delivered));
	return true;
}

static bool delivered_is_of(const struct watermark *a,
			    const struct watermark *b)
{
	if (a->strategy != b->strategy || !a->column || !b->column)
		return false;
	return !strcmp(a->column, b->column);
}

char *watermark_raise_text(const char *text, const char *by)
{
	struct error ignored = ERROR_INIT;
	struct watermark w, least;
	char *raised = NULL;

	if (!by)
		return NULL;
	if (!text)
		return xstrdup(by);
	watermark_init(&w);
	watermark_init(&least);
	if (!watermark_from_text(&w, text, &ignored) &&
	    !watermark_from_text(&least, by, &ignored) &&
	    delivered_is_of(&w, &least) &&
	    watermark_raise(&w, watermark_delivered(&least)))
		raised = watermark_to_text(&w);
	watermark_release(&w);
	watermark_release(&least);
	return raised;
}

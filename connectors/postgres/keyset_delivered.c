#include <stdlib.h>
#include <string.h>

#include "connectors/postgres/keyset.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

/* The tail is delivered ahead of the mark. Its highest value is kept, since a
 * transaction that began early and commits late may leave the newest version
 * of a row with an older mark than the one delivered: up to here, what the
 * source says now goes, whatever the row's mark. */
#define DELIVERED "delivered"

static bool delivered_read(const struct postgres *c, const char *text,
			   int64_t *out)
{
	int32_t days;

	if (!text || layout_mark(&c->layout)->wire->oid != WIRE_DATE ||
	    !value_parse_date(text, &days))
		return text && value_parse_timestamp(text, out);
	*out = days * US_PER_DAY;
	return true;
}

/* A whole number of any length. */
static bool delivered_is_number(const char *text)
{
	size_t sign = text && *text == '-';

	return text && text[sign] &&
	       !text[sign + strspn(text + sign, "0123456789")];
}

static bool delivered_is_greater(const char *a, const char *b)
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

/* One that cannot be read (set by hand) is below every other. */
static bool delivered_is_beyond(const struct postgres *c, const char *a,
				const char *b)
{
	int64_t x = 0, y = 0;

	if (c->pass.mark.strategy == STRATEGY_SEQUENCE)
		return delivered_is_number(a) &&
		       (!delivered_is_number(b) || delivered_is_greater(a, b));

	if (!delivered_read(c, a, &x))
		return false;
	return !delivered_read(c, b, &y) || x > y;
}

static const char *delivered_now(const struct watermark *w)
{
	return json_string_value(json_object_get(w->pending, DELIVERED));
}

static void delivered_set(struct watermark *w, const char *text)
{
	if (!w->pending)
		w->pending = json_object();
	json_object_set_new(w->pending, DELIVERED, json_string(text));
}

void keyset_deliver_begin(struct postgres *c)
{
	const char *before = delivered_now(c->pass.scan->from);

	if (before)
		delivered_set(&c->pass.mark, before);
	keyset_deliver_settle(c);
}

void keyset_deliver_tail(struct postgres *c, const struct batch *b)
{
	struct watermark *w = &c->pass.mark;
	char *last;

	if (!b->n_rows)
		return;
	last = rows_text(c, b, b->n_rows - 1, (size_t)c->layout.mark);
	if (delivered_is_beyond(c, last, w->value) &&
	    delivered_is_beyond(c, last, delivered_now(w)))
		delivered_set(w, last);
	free(last);
}

void keyset_deliver_settle(struct postgres *c)
{
	struct watermark *w = &c->pass.mark;
	const char *text = delivered_now(w);

	if (!text || delivered_is_beyond(c, text, w->value))
		return;
	json_object_del(w->pending, DELIVERED);
	if (json_object_size(w->pending))
		return;
	json_decref(w->pending);
	w->pending = NULL;
}

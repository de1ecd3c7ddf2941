#include "connectors/common/delivered.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

#define DELIVERED "delivered"

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

void delivered_begin(struct watermark *now, const struct watermark *from)
{
	const char *before = delivered_now(from);

	if (before)
		delivered_set(now, before);
	delivered_settle(now);
}

void delivered_tail(struct watermark *now, const char *last)
{
	if (watermark_is_beyond(now->strategy, last, now->value) &&
	    watermark_is_beyond(now->strategy, last, delivered_now(now)))
		delivered_set(now, last);
}

void delivered_settle(struct watermark *now)
{
	const char *text = delivered_now(now);

	if (!text || watermark_is_beyond(now->strategy, text, now->value))
		return;
	json_object_del(now->pending, DELIVERED);
	if (json_object_size(now->pending))
		return;
	json_decref(now->pending);
	now->pending = NULL;
}

char *number_less(const char *text, int64_t less)
{
	__extension__ typedef __int128 wide;
	const wide most = ((wide)1 << 126) - 1;
	bool below = *text == '-';
	struct strbuf sb = STRBUF_INIT;
	char digits[48];
	size_t n = 0;
	wide value = 0;

	if (!number_is_whole(text))
		return xstrdup(text);
	for (const char *p = text + below; *p; p++) {
		if (value > most / 10)
			return below ? xstrfmt("%s0", text) : xstrdup("0");
		value = value * 10 + (*p - '0');
	}
	value = (below ? -value : value) - less;
	below = value < 0;
	do
		digits[n++] =
			(char)('0' + (int)(value % 10) * (below ? -1 : 1));
	while ((value /= 10) != 0);
	if (below)
		strbuf_addch(&sb, '-');
	while (n)
		strbuf_addch(&sb, digits[--n]);
	return strbuf_detach(&sb);
}

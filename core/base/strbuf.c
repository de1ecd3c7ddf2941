#include "core/base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Shared by all empty buffers and threads, so it is never written. */
char strbuf_empty[1];

static bool strbuf_owns(const struct strbuf *sb)
{
	return sb->capacity > 0;
}

/* Room for `n` bytes and the NUL; false once the limit is passed. */
static bool strbuf_grow(struct strbuf *sb, size_t n)
{
	char *old = strbuf_owns(sb) ? sb->data : NULL;

	if (sb->failed)
		return false;
	if (n >= SIZE_MAX - sb->len || (sb->limit && sb->len + n > sb->limit)) {
		sb->failed = true;
		return false;
	}
	if (sb->len + n + 1 <= sb->capacity)
		return true;
	sb->data = xgrow(old, &sb->capacity, sb->len + n + 1, 1);
	sb->data[sb->len] = '\0';
	return true;
}

void strbuf_init(struct strbuf *sb)
{
	*sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->failed = false;
	if (strbuf_owns(sb))
		sb->data[0] = '\0';
}

void strbuf_release(struct strbuf *sb)
{
	size_t limit;

	if (!sb)
		return;
	limit = sb->limit;
	if (strbuf_owns(sb))
		free(sb->data);
	strbuf_init(sb);
	sb->limit = limit;
}

void strbuf_add(struct strbuf *sb, const void *src, size_t n)
{
	if (!n || !strbuf_grow(sb, n))
		return;
	memcpy(sb->data + sb->len, src, n);
	sb->len += n;
	sb->data[sb->len] = '\0';
}

void strbuf_addch(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void strbuf_addstr(struct strbuf *sb, const char *src)
{
	strbuf_add(sb, src, strlen(src));
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	size_t room = strbuf_owns(sb) ? sb->capacity - sb->len : 0;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(room ? sb->data + sb->len : NULL, room, fmt, ap);
	if (n < 0 || sb->failed || !strbuf_grow(sb, (size_t)n)) {
		sb->failed = true;
		if (room)
			sb->data[sb->len] = '\0';
	} else if (n > 0) {
		if ((size_t)n >= room)
			vsnprintf(sb->data + sb->len, (size_t)n + 1, fmt,
				  again);
		sb->len += (size_t)n;
	}
	va_end(again);
}

char *strbuf_reserve(struct strbuf *sb, size_t n)
{
	return strbuf_grow(sb, n) ? sb->data + sb->len : NULL;
}

char *strbuf_detach(struct strbuf *sb)
{
	char *text = strbuf_owns(sb) ? sb->data : xstrdup("");
	size_t limit = sb->limit;

	strbuf_init(sb);
	sb->limit = limit;
	return text;
}

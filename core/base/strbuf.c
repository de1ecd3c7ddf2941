#include "core/base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Shared by all empty buffers; never written but by '\0'. */
char strbuf_empty[1];

void strbuf_init(struct strbuf *sb)
{
	*sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->failed = false;
	if (sb->capacity)
		sb->data[0] = '\0';
}

void strbuf_release(struct strbuf *sb)
{
	if (sb->capacity)
		free(sb->data);
	strbuf_init(sb);
}

char *strbuf_reserve(struct strbuf *sb, size_t n)
{
	size_t need = sb->len + n + 1;

	if (need > sb->capacity)
		sb->data = xgrow(sb->capacity ? sb->data : NULL, &sb->capacity,
				 need < 64 ? 64 : need, 1);
	return sb->data + sb->len;
}

void strbuf_add(struct strbuf *sb, const void *src, size_t n)
{
	if (sb->failed)
		return;
	if (sb->limit && sb->len + n > sb->limit) {
		sb->failed = true;
		return;
	}
	memcpy(strbuf_reserve(sb, n), src, n);
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

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || sb->failed ||
	    (sb->limit && sb->len + (size_t)n > sb->limit)) {
		sb->failed = true;
		return;
	}
	vsnprintf(strbuf_reserve(sb, (size_t)n), (size_t)n + 1, fmt, ap);
	sb->len += (size_t)n;
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

char *strbuf_detach(struct strbuf *sb)
{
	char *out = sb->capacity ? sb->data : xstrdup("");

	strbuf_init(sb);
	return out;
}

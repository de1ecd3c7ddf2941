/*
 * A growing byte string with an optional limit. Past the limit it fails
 * sticky: `failed` is set and further text is dropped, so a caller checks
 * once at the end. Always NUL-terminated; `data` is never NULL.
 */
#ifndef TIDEMARK_CORE_BASE_STRBUF_H
#define TIDEMARK_CORE_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *data;
	size_t len;
	size_t capacity;
	size_t limit; /* bytes; 0 is none */
	bool failed;
};

extern char strbuf_empty[1];
#define STRBUF_INIT                                                            \
	{                                                                      \
		strbuf_empty, 0, 0, 0, false                                   \
	}

void strbuf_init(struct strbuf *sb);
void strbuf_reset(struct strbuf *sb); /* len = 0, memory kept */
void strbuf_release(struct strbuf *sb);
void strbuf_add(struct strbuf *sb, const void *src, size_t n);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addstr(struct strbuf *sb, const char *src);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* Room for `n` more bytes and a NUL behind `len`. Returns the place for them,
 * or NULL past the limit. The caller writes there, then adds to `len`. */
char *strbuf_reserve(struct strbuf *sb, size_t n);
/* The string becomes the caller's (free()); the buffer is empty again. */
char *strbuf_detach(struct strbuf *sb);

#endif

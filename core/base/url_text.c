#include "core/base/url_text.h"

#include <ctype.h>
#include <string.h>

#include "core/base/strbuf.h"

static int url_hex(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *url_decode(const char *text, size_t n)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		int high = -1, low = -1;

		if (text[i] == '%' && i + 2 < n) {
			high = url_hex(text[i + 1]);
			low = high < 0 ? -1 : url_hex(text[i + 2]);
		}
		if (low >= 0 && (high || low)) {
			strbuf_addch(&sb, (char)(high * 16 + low));
			i += 2;
		} else {
			strbuf_addch(&sb, text[i]);
		}
	}
	return strbuf_detach(&sb);
}

bool expand_is_reference(const char *text, size_t n)
{
	const char *end = memchr(text, '}', n);
	const char *dash;

	if (n < 4 || strncmp(text, "${", 2) != 0 || end != text + n - 1)
		return false;
	dash = memmem(text, n, ":-", 2);
	return !dash || dash + 2 == end;
}

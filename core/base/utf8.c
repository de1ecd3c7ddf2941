#include "core/base/utf8.h"

#include <stdint.h>
#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

static size_t utf8_expected(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/* The second byte rules out overlong forms, surrogates and > U+10FFFF. */
static int utf8_second_ok(unsigned char lead, unsigned char second)
{
	unsigned char low = 0x80, high = 0xbf;

	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	return second >= low && second <= high;
}

size_t utf8_char_length(const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t length = n ? utf8_expected(p[0]) : 0;

	if (!length || length > n)
		return 0;
	if (length > 1 && !utf8_second_ok(p[0], p[1]))
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* What most texts are, eight bytes at a time. */
static bool utf8_is_ascii(const char *text, size_t n)
{
	uint64_t word, all = 0;
	size_t i = 0;

	for (; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		all |= word;
	}
	for (; i < n; i++)
		all |= (unsigned char)text[i];
	return !(all & HIGH_BITS);
}

bool utf8_is_valid(const char *text, size_t n)
{
	if (utf8_is_ascii(text, n))
		return true;
	for (size_t i = 0; i < n;) {
		size_t length = utf8_char_length(text + i, n - i);

		if (!length)
			return false;
		i += length;
	}
	return true;
}

void utf8_repair(char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t n = utf8_char_length(text, left);

		if (!n) {
			*text = '?';
			n = 1;
		}
		text += n;
		left -= n;
	}
}

size_t utf8_cut(const char *text, size_t n)
{
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

#include "core/base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "core/base/alloc.h"

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

/* Most texts are ASCII: look at eight bytes at a time. */
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

uint32_t utf8_code(const char *text, size_t length)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t code = length == 1 ? *p : *p & (0xffu >> (length + 1));

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (p[i] & 0x3fu);
	return code;
}

/* In order of their code points. Joiners (U+200C, U+200D) are not among them:
 * names in Persian, Hindi and emoji need them. */
static const struct {
	uint32_t first, last;
} utf8_controls[] = {
	{ 0x00, 0x1f },	    { 0x7f, 0x9f },	{ 0x61c, 0x61c },
	{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xfffe, 0xffff },
};

bool utf8_is_control(const char *text, size_t length)
{
	uint32_t code = utf8_code(text, length);

	for (size_t i = 0; i < ARRAY_SIZE(utf8_controls); i++)
		if (code <= utf8_controls[i].last)
			return code >= utf8_controls[i].first;
	return false;
}

void utf8_add_flat(struct strbuf *out, const char *text)
{
	size_t left = strlen(text), n;

	for (; left; text += n, left -= n) {
		n = utf8_char_length(text, left);
		if (!n)
			strbuf_addch(out, '?');
		else if (utf8_is_control(text, n))
			strbuf_addch(out, ' ');
		else
			strbuf_add(out, text, n);
		n = n ? n : 1;
	}
}

void utf8_add_json(struct strbuf *out, const char *json)
{
	size_t left = strlen(json), n;

	for (; left; json += n, left -= n) {
		n = utf8_char_length(json, left);
		if (!n)
			strbuf_addch(out, '?');
		else if ((unsigned char)*json >= 0x7f &&
			 utf8_is_control(json, n))
			strbuf_addf(out, "\\u%04X",
				    (unsigned)utf8_code(json, n));
		else
			strbuf_add(out, json, n);
		n = n ? n : 1;
	}
}

size_t utf8_cut(const char *text, size_t n)
{
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

#include "core/data/canonical.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define CANONICAL_DEPTH 512
/* No JSON text begins with it, no UTF-8 text holds it. */
#define CANONICAL_NOT_JSON '\xff'

static void canonical_cut(struct strbuf *sb, size_t len)
{
	if (len < sb->len) {
		sb->len = len;
		sb->data[len] = '\0';
	}
}

struct canonical_number {
	bool negative;
	const char *digits; /* with the point in between */
	size_t n; /* bytes of `digits` */
	size_t fraction; /* digits behind the point */
	int64_t exponent;
};

static size_t canonical_span(const char *text, size_t n)
{
	size_t span = 0;

	while (span < n && text[span] >= '0' && text[span] <= '9')
		span++;
	return span;
}

/* "e[+-]digits" at `text`; false if malformed or absurdly large. */
static bool canonical_exponent(int64_t *out, const char *text, size_t n)
{
	bool negative;
	int64_t value = 0;

	*out = 0;
	if (n == 0)
		return true;
	if (*text != 'e' && *text != 'E')
		return false;
	text++;
	n--;
	negative = n && *text == '-';
	if (n && (*text == '-' || *text == '+')) {
		text++;
		n--;
	}
	if (n == 0 || canonical_span(text, n) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		value = value * 10 + (text[i] - '0');
		if (value > INT32_MAX)
			return false;
	}
	*out = negative ? -value : value;
	return true;
}

static bool canonical_take_number(struct canonical_number *out,
				  const char *text, size_t n)
{
	size_t whole, rest;

	out->negative = n && *text == '-';
	if (n && (*text == '-' || *text == '+')) {
		text++;
		n--;
	}
	whole = canonical_span(text, n);
	out->digits = text;
	out->n = whole;
	out->fraction = 0;
	if (whole < n && text[whole] == '.') {
		out->fraction = canonical_span(text + whole + 1, n - whole - 1);
		out->n += 1 + out->fraction;
	}
	if (whole + out->fraction == 0)
		return false;
	rest = out->n;
	return canonical_exponent(&out->exponent, text + rest, n - rest);
}

/* Digits of `number` without the point into `sb`. */
static void canonical_put_digits(struct strbuf *sb,
				 const struct canonical_number *number)
{
	const char *point = memchr(number->digits, '.', number->n);
	size_t whole = point ? (size_t)(point - number->digits) : number->n;

	strbuf_add(sb, number->digits, whole);
	if (point)
		strbuf_add(sb, point + 1, number->fraction);
}

/* By hand: a table's decimals have one each. */
static void canonical_put_exponent(struct strbuf *sb, int64_t exponent)
{
	char text[24];
	char *at = text + sizeof(text);
	uint64_t rest =
		exponent < 0 ? 0 - (uint64_t)exponent : (uint64_t)exponent;

	if (!exponent)
		return;
	for (; rest; rest /= 10)
		*--at = (char)('0' + rest % 10);
	if (exponent < 0)
		*--at = '-';
	*--at = 'e';
	strbuf_add(sb, at, (size_t)(text + sizeof(text) - at));
}

void canonical_number(struct strbuf *sb, const char *text, size_t n)
{
	struct canonical_number number;
	size_t start = sb->len, zeros = 0, trailing = 0, len;

	if (!canonical_take_number(&number, text, n)) {
		strbuf_add(sb, text, n);
		return;
	}
	canonical_put_digits(sb, &number);
	len = sb->len - start;
	while (zeros < len && sb->data[start + zeros] == '0')
		zeros++;
	if (zeros == len) {
		canonical_cut(sb, start);
		strbuf_addch(sb, '0');
		return;
	}
	while (sb->data[sb->len - 1 - trailing] == '0')
		trailing++;
	len -= zeros + trailing;
	memmove(sb->data + start, sb->data + start + zeros, len);
	canonical_cut(sb, start + len);
	canonical_put_exponent(sb, number.exponent + (int64_t)trailing -
					   (int64_t)number.fraction);
	if (number.negative)
		strbuf_addch(sb, '-');
}

/* A member of the object being read: key and value as they stand in `out`. */
struct canonical_member {
	size_t start, key_length, end;
};

struct canonical_reader {
	const char *at, *end;
	struct strbuf *out;
	struct strbuf moved; /* members on their way to their sorted place */
	struct canonical_member *members; /* all open objects' members */
	size_t n_members, members_capacity;
	int depth;
};

static bool canonical_value(struct canonical_reader *r);

static void canonical_skip_space(struct canonical_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' ||
				  *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static bool canonical_take(struct canonical_reader *r, char c)
{
	canonical_skip_space(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static int canonical_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Four hex digits; -1 if they are not there. */
static int32_t canonical_unit(struct canonical_reader *r)
{
	int32_t unit = 0;

	if (r->end - r->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = canonical_hex(*r->at++);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static void canonical_put_utf8(struct strbuf *sb, uint32_t c)
{
	if (c < 0x80) {
		strbuf_addch(sb, (char)c);
		return;
	}
	if (c < 0x800) {
		strbuf_addch(sb, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			strbuf_addch(sb, (char)(0xe0 | c >> 12));
		} else {
			strbuf_addch(sb, (char)(0xf0 | c >> 18));
			strbuf_addch(sb, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		strbuf_addch(sb, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	strbuf_addch(sb, (char)(0x80 | (c & 0x3f)));
}

/* A character of a string, escaped if it would end the string or begin an
 * escape. */
static void canonical_put_character(struct strbuf *sb, uint32_t c)
{
	if (c == '"' || c == '\\')
		strbuf_addch(sb, '\\');
	canonical_put_utf8(sb, c);
}

/* Read behind "\u". A surrogate without its other half stays as it is: json
 * columns may hold one. */
static bool canonical_escape_unicode(struct canonical_reader *r)
{
	int32_t high = canonical_unit(r), low;
	const char *behind = r->at;

	if (high < 0)
		return false;
	if (high >= 0xd800 && high < 0xdc00 && r->end - r->at >= 6 &&
	    r->at[0] == '\\' && r->at[1] == 'u') {
		r->at += 2;
		low = canonical_unit(r);
		if (low >= 0xdc00 && low < 0xe000) {
			canonical_put_character(
				r->out,
				0x10000u + ((uint32_t)(high - 0xd800) << 10) +
					(uint32_t)(low - 0xdc00));
			return true;
		}
		r->at = behind;
	}
	canonical_put_character(r->out, (uint32_t)high);
	return true;
}

static bool canonical_escape(struct canonical_reader *r)
{
	static const char names[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (r->at == r->end)
		return false;
	if (*r->at == 'u') {
		r->at++;
		return canonical_escape_unicode(r);
	}
	found = *r->at ? strchr(names, *r->at) : NULL;
	if (!found)
		return false;
	r->at++;
	canonical_put_character(r->out, (unsigned char)values[found - names]);
	return true;
}

static bool canonical_string(struct canonical_reader *r)
{
	if (!canonical_take(r, '"'))
		return false;
	strbuf_addch(r->out, '"');
	for (;;) {
		const char *from = r->at;

		while (r->at < r->end && *r->at != '"' && *r->at != '\\')
			r->at++;
		strbuf_add(r->out, from, (size_t)(r->at - from));
		if (r->at == r->end)
			return false;
		if (*r->at++ == '"')
			break;
		if (!canonical_escape(r))
			return false;
	}
	strbuf_addch(r->out, '"');
	return true;
}

static bool canonical_literal(struct canonical_reader *r)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);
		if ((size_t)(r->end - r->at) < n ||
		    memcmp(r->at, words[i], n) != 0)
			continue;
		r->at += n;
		strbuf_add(r->out, words[i], n);
		return true;
	}
	return false;
}

static bool canonical_json_number(struct canonical_reader *r)
{
	static const char allowed[] = "0123456789+-.eE";
	const char *from = r->at;
	struct canonical_number number;
	size_t n;

	while (r->at < r->end && memchr(allowed, *r->at, sizeof(allowed) - 1))
		r->at++;
	n = (size_t)(r->at - from);
	if (*from == '+' || !canonical_take_number(&number, from, n))
		return false;
	canonical_number(r->out, from, n);
	return true;
}

static bool canonical_array(struct canonical_reader *r)
{
	strbuf_addch(r->out, '[');
	if (!canonical_take(r, ']')) {
		do {
			if (!canonical_value(r))
				return false;
			strbuf_addch(r->out, ',');
		} while (canonical_take(r, ','));
		if (!canonical_take(r, ']'))
			return false;
	}
	strbuf_addch(r->out, ']');
	return true;
}

static int canonical_compare_keys(const struct canonical_member *a,
				  const struct canonical_member *b,
				  const char *text)
{
	size_t n =
		a->key_length < b->key_length ? a->key_length : b->key_length;
	int order = memcmp(text + a->start, text + b->start, n);

	if (order)
		return order;
	return (a->key_length > b->key_length) -
	       (a->key_length < b->key_length);
}

static int canonical_compare_members(const void *left, const void *right,
				     void *text)
{
	const struct canonical_member *a = left, *b = right;
	int order = canonical_compare_keys(a, b, text);

	return order ? order : (a->start > b->start) - (a->start < b->start);
}

/* Sort the members from `first` on, which stand behind `base` in `out`, by
 * their keys. */
static void canonical_sort(struct canonical_reader *r, size_t first,
			   size_t base)
{
	struct canonical_member *members;
	size_t n = r->n_members - first;
	bool sorted = true;
	const char *text;

	if (n < 2)
		return;
	members = r->members + first;
	for (size_t i = 1; i < n && sorted; i++)
		sorted = canonical_compare_keys(&members[i - 1], &members[i],
						r->out->data) < 0;
	if (sorted)
		return;
	qsort_r(members, n, sizeof(*members), canonical_compare_members,
		r->out->data);
	strbuf_reset(&r->moved);
	text = r->out->data;
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n &&
		    !canonical_compare_keys(&members[i], &members[i + 1], text))
			continue;
		strbuf_add(&r->moved, text + members[i].start,
			   members[i].end - members[i].start);
	}
	canonical_cut(r->out, base);
	strbuf_add(r->out, r->moved.data, r->moved.len);
}

static bool canonical_member(struct canonical_reader *r)
{
	struct canonical_member member = { .start = r->out->len };

	if (!canonical_string(r))
		return false;
	member.key_length = r->out->len - member.start;
	strbuf_addch(r->out, ':');
	if (!canonical_take(r, ':') || !canonical_value(r))
		return false;
	strbuf_addch(r->out, ',');
	member.end = r->out->len;
	r->members = xgrow(r->members, &r->members_capacity, r->n_members + 1,
			   sizeof(*r->members));
	r->members[r->n_members++] = member;
	return true;
}

static bool canonical_object(struct canonical_reader *r)
{
	size_t first = r->n_members, base;

	strbuf_addch(r->out, '{');
	base = r->out->len;
	if (!canonical_take(r, '}')) {
		do {
			if (!canonical_member(r))
				return false;
		} while (canonical_take(r, ','));
		if (!canonical_take(r, '}'))
			return false;
	}
	canonical_sort(r, first, base);
	r->n_members = first;
	strbuf_addch(r->out, '}');
	return true;
}

static bool canonical_container(struct canonical_reader *r)
{
	bool ok;

	if (++r->depth > CANONICAL_DEPTH)
		return false;
	ok = *r->at++ == '{' ? canonical_object(r) : canonical_array(r);
	r->depth--;
	return ok;
}

static bool canonical_value(struct canonical_reader *r)
{
	canonical_skip_space(r);
	if (r->at == r->end)
		return false;
	switch (*r->at) {
	case '{':
	case '[':
		return canonical_container(r);
	case '"':
		return canonical_string(r);
	case 't':
	case 'f':
	case 'n':
		return canonical_literal(r);
	default:
		return canonical_json_number(r);
	}
}

void canonical_json(struct strbuf *sb, const char *text, size_t n)
{
	struct canonical_reader r = {
		.at = text, .end = text + n, .out = sb, .moved = STRBUF_INIT
	};
	size_t start = sb->len;
	bool ok = canonical_value(&r);

	canonical_skip_space(&r);
	if (!ok || r.at != r.end) {
		canonical_cut(sb, start);
		strbuf_addch(sb, CANONICAL_NOT_JSON);
		strbuf_add(sb, text, n);
	}
	strbuf_release(&r.moved);
	free(r.members);
}

#include "core/base/wording.h"

#include <ctype.h>
#include <string.h>

#include "core/base/alloc.h"

#define WORDING_MARKS	 "%&~#*"
#define WORDING_MOST	 12 /* marks in one pattern */
#define WORDING_DIGITS	 6 /* a row's position in a batch */
#define WORDING_NAME	 64
#define WORDING_LEFT_OUT "..."

struct wording_slot {
	char mark;
	const char *literal; /* behind the mark, in the pattern */
	size_t n_literal;
	const char *begin, *end; /* in the text */
};

/* A value may hold any piece of the wording: the last place counts. */
static const char *wording_find_last(const char *text, const char *end,
				     const char *literal, size_t n)
{
	for (const char *at = end - n; at >= text; at--)
		if (!memcmp(at, literal, n))
			return at;
	return NULL;
}

static size_t wording_parse(const char *pattern, struct wording_slot *slots)
{
	size_t n = 0;

	for (pattern = strpbrk(pattern, WORDING_MARKS);
	     pattern && n < WORDING_MOST;
	     pattern = strpbrk(pattern + 1, WORDING_MARKS)) {
		slots[n].mark = *pattern;
		slots[n].literal = pattern + 1;
		slots[n].n_literal = strcspn(pattern + 1, WORDING_MARKS);
		n++;
	}
	return n;
}

/* Find the slots in the text. False: it does not follow the pattern. */
static bool wording_match(const char *text, const char *pattern,
			  struct wording_slot *slots, size_t n)
{
	size_t head = strcspn(pattern, WORDING_MARKS);
	const char *end = text + strlen(text);

	if (strncmp(text, pattern, head) != 0)
		return false;
	if (!n)
		return !text[head];
	for (size_t i = n; i-- > 0;) {
		struct wording_slot *s = &slots[i];
		bool last = i == n - 1;

		if ((size_t)(end - text) < head + s->n_literal)
			return false;
		if (last)
			end -= s->n_literal;
		else
			end = wording_find_last(text + head, end, s->literal,
						s->n_literal);
		if (!end || memcmp(end, s->literal, s->n_literal) != 0)
			return false;
		s->end = end;
	}
	slots[0].begin = text + head;
	for (size_t i = 1; i < n; i++)
		slots[i].begin = slots[i - 1].end + slots[i - 1].n_literal;
	return true;
}

static bool wording_is_name(const char *text, size_t n)
{
	if (!n || n > WORDING_NAME || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) &&
		    !strchr("_$-.", text[i]) && (unsigned char)text[i] < 0x80)
			return false;
	return true;
}

/* Is each part known in "INSERT, UPDATE" or "SUPER or BINLOG ADMIN"? */
static bool wording_all_known(const char *text, size_t n,
			      const struct wording_words *words)
{
	static const char *const between[] = { ", ", " or " };
	const char *at = text, *end = text + n;

	if (row_values_known(&words->known, text, n))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(between); i++) {
		const char *next =
			memmem(at, n, between[i], strlen(between[i]));

		if (next && next > at)
			return row_values_known(&words->known, at,
						(size_t)(next - at)) &&
			       wording_all_known(next + strlen(between[i]),
						 (size_t)(end - next) -
							 strlen(between[i]),
						 words);
	}
	return false;
}

static bool wording_in_statement(const char *text, size_t n,
				 const struct wording_words *words)
{
	const char *sql = words->known.statement;

	return sql && memmem(sql, strlen(sql), text, n) != NULL;
}

static bool wording_is_shown(const struct wording_slot *s,
			     const struct wording_words *words)
{
	size_t n = (size_t)(s->end - s->begin);

	if (!n)
		return true;
	switch (s->mark) {
	case '#':
		return n <= WORDING_DIGITS &&
		       strspn(s->begin, "0123456789") >= n;
	case '~':
		return wording_in_statement(s->begin, n, words);
	case '&':
		if (words->given && wording_is_name(s->begin, n))
			return true;
		return wording_all_known(s->begin, n, words);
	case '%':
		return wording_all_known(s->begin, n, words);
	default:
		return false;
	}
}

/* The quotes around what is left out go as well. */
static void wording_leave_out(struct strbuf *out, struct wording_slot *s)
{
	char quote = out->len ? out->data[out->len - 1] : ' ';

	if (strchr("'\"`", quote) && s->n_literal && *s->literal == quote) {
		out->data[--out->len] = '\0';
		s->literal++;
		s->n_literal--;
	}
	strbuf_addstr(out, WORDING_LEFT_OUT);
}

static bool wording_write(struct strbuf *out, const char *pattern,
			  struct wording_slot *slots, size_t n,
			  const struct wording_words *words)
{
	bool left_out = false;

	strbuf_add(out, pattern, strcspn(pattern, WORDING_MARKS));
	for (size_t i = 0; i < n; i++) {
		struct wording_slot *s = &slots[i];

		if (wording_is_shown(s, words)) {
			strbuf_add(out, s->begin, (size_t)(s->end - s->begin));
		} else {
			wording_leave_out(out, s);
			left_out = true;
		}
		strbuf_add(out, s->literal, s->n_literal);
	}
	return left_out;
}

bool wording_add(struct strbuf *out, const char *text,
		 const char *const *patterns, const struct wording_words *words,
		 bool *left_out)
{
	struct wording_slot slots[WORDING_MOST];

	for (; *patterns; patterns++) {
		size_t n = wording_parse(*patterns, slots);

		if (!wording_match(text, *patterns, slots, n))
			continue;
		*left_out = wording_write(out, *patterns, slots, n, words);
		return true;
	}
	return false;
}

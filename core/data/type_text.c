#include "core/data/type_text.h"

#include <ctype.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

#define TYPE_TEXT_DEPTH 32

const struct type_text_rules type_text_postgres = {
	.quote = '"',
	.marks = ".[]",
};

const struct type_text_rules type_text_clickhouse = {
	.quote = '\'',
	.backslash = true,
	.marks = "=",
	.one_word = true,
};

struct type_text {
	const struct type_text_rules *rules;
	const char *at;
	struct strbuf out;
	int depth, words; /* words: outside of parentheses */
};

static bool type_text_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c & 0x80;
}

/* The last character before the next token that is no space. */
static char type_text_before(const struct type_text *t)
{
	size_t n = t->out.len;

	while (n && t->out.data[n - 1] == ' ')
		n--;
	return n ? t->out.data[n - 1] : '\0';
}

/* Words and numbers; a number may have a sign, but "--" begins a comment. */
static bool type_text_word(struct type_text *t)
{
	const char *begin = t->at;

	if (type_text_before(t) == t->rules->quote)
		return false;
	if (*t->at == '-')
		t->at++;
	if (*begin == '-' && (!t->depth || !isdigit((unsigned char)*t->at)))
		return false;
	while (type_text_is_word(*t->at))
		t->at++;
	t->words += !t->depth;
	strbuf_add(&t->out, begin, (size_t)(t->at - begin));
	return t->at > begin && !(t->rules->one_word && t->words > 1);
}

static bool type_text_quoted(struct type_text *t)
{
	char before = type_text_before(t), quote = t->rules->quote;
	const char *begin = t->at++;

	/* Directly behind a word or another quote it would be a text of its
	 * own. */
	if (before && !strchr("(,.=", before))
		return false;
	for (; *t->at; t->at++) {
		bool escapes =
			t->rules->backslash && *t->at == '\\' && t->at[1];
		bool doubled = *t->at == quote && t->at[1] == quote;

		if (escapes || doubled)
			t->at++;
		else if (*t->at == quote)
			break;
	}
	if (!*t->at)
		return false;
	t->at++;
	t->words += !t->depth;
	strbuf_add(&t->out, begin, (size_t)(t->at - begin));
	return !(t->rules->one_word && !t->depth);
}

static bool type_text_mark(struct type_text *t)
{
	char c = *t->at++;

	t->depth += c == '(' ? 1 : c == ')' ? -1 : 0;
	strbuf_addch(&t->out, c);
	if (c == '(' || c == ')')
		return t->depth >= 0 && t->depth <= TYPE_TEXT_DEPTH;
	return c == ',' ? t->depth > 0 : strchr(t->rules->marks, c) != NULL;
}

static bool type_text_token(struct type_text *t)
{
	if (*t->at == ' ') {
		while (*t->at == ' ')
			t->at++;
		strbuf_addch(&t->out, ' ');
		return true;
	}
	if (*t->at == t->rules->quote)
		return type_text_quoted(t);
	if (type_text_is_word(*t->at) || *t->at == '-')
		return type_text_word(t);
	return type_text_mark(t);
}

char *type_text_print(const char *text, const struct type_text_rules *rules)
{
	struct type_text t = { .rules = rules, .at = text, .out = STRBUF_INIT };
	bool ok = true;

	while (ok && *t.at)
		ok = type_text_token(&t);
	if (ok && !t.depth && t.words)
		return strbuf_detach(&t.out);
	strbuf_release(&t.out);
	return NULL;
}

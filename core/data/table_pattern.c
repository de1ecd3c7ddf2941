#include "core/data/table_pattern.h"

#include <string.h>

/* Where the quotes are in a text that table_name_parse() has taken. */
static void pattern_quotes(const char *text, bool quoted[3])
{
	bool found[3] = { false, false, false };
	size_t n = 0;

	for (const char *p = text; *p && n < 3; n++) {
		found[n] = *p == '"';
		if (*p == '"') {
			for (p++; *p != '"' || p[1] == '"'; p++)
				p += *p == '"';
			p++;
		} else {
			p += strcspn(p, ".");
		}
		p += *p == '.';
	}
	for (size_t i = 0; i < n; i++)
		quoted[3 - n + i] = found[i];
}

int table_pattern_parse(struct table_pattern *out, const char *text,
			struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = table_name_parse(&out->name, text, err);
	if (!rc)
		pattern_quotes(text, out->quoted);
	return rc;
}

void table_pattern_release(struct table_pattern *p)
{
	table_name_release(&p->name);
}

/* Behind the character at `p`, which is not the end. */
static const char *pattern_next(const char *p)
{
	for (p++; (*p & 0xC0) == 0x80; p++)
		;
	return p;
}

/* The last star takes one character more whenever the rest does not fit. */
static bool pattern_fits(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?') {
			pattern++;
			text = pattern_next(text);
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = from = pattern_next(from);
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool pattern_part(const char *pattern, bool quoted, const char *text)
{
	if (!pattern)
		return true;
	if (!text)
		return false;
	return quoted ? !strcmp(pattern, text) : pattern_fits(pattern, text);
}

bool table_pattern_match(const struct table_pattern *p,
			 const struct table_name *name)
{
	return pattern_part(p->name.catalog, p->quoted[0], name->catalog) &&
	       pattern_part(p->name.schema, p->quoted[1], name->schema) &&
	       pattern_part(p->name.name, p->quoted[2], name->name);
}

static bool pattern_is_text(const char *part, bool quoted)
{
	return !part || quoted || !strpbrk(part, "*?");
}

bool table_pattern_is_name(const struct table_pattern *p)
{
	return pattern_is_text(p->name.catalog, p->quoted[0]) &&
	       pattern_is_text(p->name.schema, p->quoted[1]) &&
	       pattern_is_text(p->name.name, p->quoted[2]);
}

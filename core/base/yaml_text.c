#include "core/base/yaml_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/expand.h"
#include "core/base/json_text.h"
#include "core/base/utf8.h"

static bool yaml_is_plain(const char *text)
{
	static const char *const words[] = { "true", "false",  "yes",  "no",
					     "on",   "off",    "null", "y",
					     "n",    "version" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(text, words[i]))
			return false;
	return (*text == '_' || (*text >= 'a' && *text <= 'z') ||
		(*text >= 'A' && *text <= 'Z')) &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz_."
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] ==
		       '\0';
}

/* Write a scalar bare where that is safe, else as a JSON string, which YAML
 * reads alike. */
void yaml_add_scalar(struct strbuf *sb, const char *text)
{
	json_t *json;
	char *quoted;

	if (yaml_is_plain(text)) {
		strbuf_addstr(sb, text);
		return;
	}
	json = json_string(text);
	quoted = json_text_dump(json, JSON_ENCODE_ANY);
	strbuf_addstr(sb, quoted ? quoted : "\"\"");
	free(quoted);
	json_decref(json);
}

void yaml_add_literal(struct strbuf *sb, const char *text)
{
	struct strbuf escaped = STRBUF_INIT;

	expand_escape(&escaped, text);
	yaml_add_scalar(sb, escaped.data);
	strbuf_release(&escaped);
}

/* Replace line breaks first: for some readers NEL and U+2028 end a comment,
 * too. */
void yaml_add_comment(struct strbuf *sb, const char *indent, const char *text)
{
	struct strbuf flat = STRBUF_INIT;

	utf8_add_flat(&flat, text);
	strbuf_addf(sb, "%s# ", indent);
	expand_escape(sb, flat.data);
	strbuf_addch(sb, '\n');
	strbuf_release(&flat);
}

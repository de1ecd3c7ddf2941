#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/expand.h"
#include "core/base/url_secrets.h"
#include "core/base/url_text.h"
#include "core/sync/report/propose.h"

/* "SOURCE_PASSWORD", "SOURCE_SSLPASSWORD" for a key of the query. */
static void propose_variable(struct strbuf *out, const char *end,
			     const char *key, size_t n)
{
	char *name = url_decode(key, n);

	strbuf_addf(out, "%s_", end);
	for (const char *p = name; *p; p++)
		strbuf_addch(out, isalnum((unsigned char)*p)
					  ? (char)toupper((unsigned char)*p)
					  : '_');
	free(name);
}

static bool propose_is_password(const char *key, size_t n)
{
	char *name = url_decode(key, n);
	bool is = !strcasecmp(name, "password");

	free(name);
	return is;
}

/* A secret of the query other than the password becomes a variable in place. */
static void propose_hide_member(const char *url, const struct url_span *s,
				const char *end, struct strbuf *out,
				struct strlist *variables)
{
	struct strbuf variable = STRBUF_INIT;

	propose_variable(&variable, end, url + s->key, s->start - 1 - s->key);
	strbuf_add(out, url + s->key, s->start - s->key);
	strbuf_addf(out, "${%s}", variable.data);
	if (!strlist_has(variables, variable.data))
		strlist_add(variables, variable.data);
	strbuf_release(&variable);
}

/* Take `s` out; returns where the rest of the URL begins. */
static size_t propose_drop(const char *url, const struct url_span *s,
			   struct strbuf *out)
{
	if (url[s->end] == '&' && out->data[out->len - 1] == '?')
		return s->end + 1;
	out->data[--out->len] = '\0';
	return s->end;
}

bool propose_hide_password(const char *url, const char *end, struct strbuf *out,
			   struct strlist *variables)
{
	struct url_spans spans = url_find_secrets(url, true);
	bool hidden = false;
	size_t at = 0;

	for (size_t i = 0; i < spans.n; i++) {
		const struct url_span *s = &spans.items[i];
		bool query = s->key < s->start;

		if (expand_is_reference(url + s->start, s->end - s->start))
			continue;
		strbuf_add(out, url + at, s->key - at);
		at = s->end;
		if (query &&
		    !propose_is_password(url + s->key, s->start - 1 - s->key)) {
			propose_hide_member(url, s, end, out, variables);
			continue;
		}
		at = propose_drop(url, s, out);
		hidden = true;
	}
	strbuf_addstr(out, url + at);
	free(spans.items);
	return hidden;
}

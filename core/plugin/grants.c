#include "core/plugin/grants.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"
#include "core/data/table_name.h"

void grants_add(struct grants *g, const char *why, const char *sql)
{
	g->items = xgrow(g->items, &g->capacity, g->n + 1, sizeof(*g->items));
	g->items[g->n++] = (struct grant){
		.why = xstrdup(why),
		.sql = xstrdup(sql),
	};
}

void grants_add_fmt(struct grants *g, const char *why, const char *fmt, ...)
{
	struct strbuf sb = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&sb, fmt, ap);
	va_end(ap);
	grants_add(g, why, sb.data);
	strbuf_release(&sb);
}

void grants_release(struct grants *g)
{
	for (size_t i = 0; i < g->n; i++) {
		free(g->items[i].why);
		free(g->items[i].sql);
	}
	free(g->items);
	memset(g, 0, sizeof(*g));
}

static bool grants_has_control(const char *text)
{
	size_t left = strlen(text), n;

	for (; left; text += n, left -= n) {
		n = utf8_char_length(text, left);
		if (n && utf8_is_control(text, n))
			return true;
		n = n ? n : 1;
	}
	return false;
}

static char *grants_escape(const char *text, char quote)
{
	struct strbuf sb = STRBUF_INIT;
	size_t left = strlen(text), n;

	strbuf_addf(&sb, "U&%c", quote);
	for (; left; text += n, left -= n) {
		n = utf8_char_length(text, left);
		if (n && utf8_is_control(text, n)) {
			strbuf_addf(&sb, "\\+%06X",
				    (unsigned)utf8_code(text, n));
			continue;
		}
		n = n ? n : 1;
		if (*text == quote || *text == '\\')
			strbuf_addch(&sb, *text);
		strbuf_add(&sb, text, n);
	}
	strbuf_addch(&sb, quote);
	return strbuf_detach(&sb);
}

char *grants_quote(const char *name, char quote)
{
	struct strbuf sb = STRBUF_INIT;

	if (quote == '"' && grants_has_control(name))
		return grants_escape(name, quote);
	sql_quote_name(&sb, name, quote);
	return strbuf_detach(&sb);
}

char *grants_literal(const char *text)
{
	struct strbuf sb = STRBUF_INIT;

	if (grants_has_control(text))
		return grants_escape(text, '\'');
	sql_quote_literal(&sb, text);
	return strbuf_detach(&sb);
}

static char *place_pattern(const char *name, char quote)
{
	struct strbuf sb = STRBUF_INIT;
	char *quoted;

	for (; *name; name++) {
		if (*name == '_' || *name == '%')
			strbuf_addch(&sb, '\\');
		strbuf_addch(&sb, *name);
	}
	quoted = grants_quote(sb.data, quote);
	strbuf_release(&sb);
	return quoted;
}

int grants_place_find(struct grants_place *out, const char *connection,
		      const char *text, const char *schema, char quote,
		      struct error *err)
{
	struct table_name name = { .name = NULL };
	struct strbuf plain = STRBUF_INIT;
	int rc = table_name_parse(&name, text, err);
	char *base;

	if (rc)
		return rc;
	schema = name.schema ? name.schema : schema;
	if (!schema) {
		rc = error_set(err, ERROR_CONFIG,
			       "connection %s: neither its URL nor table %s "
			       "names a database",
			       connection, text);
	} else {
		base = grants_quote(name.name, quote);
		out->schema = grants_quote(schema, quote);
		out->schema_pattern = place_pattern(schema, quote);
		out->table = xstrfmt("%s.%s", out->schema, base);
		sql_quote_name(&plain, schema, quote);
		strbuf_addch(&plain, '.');
		sql_quote_name(&plain, name.name, quote);
		out->plain = strbuf_detach(&plain);
		free(base);
	}
	table_name_release(&name);
	return rc;
}

void grants_place_release(struct grants_place *p)
{
	free(p->schema);
	free(p->schema_pattern);
	free(p->table);
	free(p->plain);
	memset(p, 0, sizeof(*p));
}

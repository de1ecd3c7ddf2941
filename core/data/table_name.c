#include "core/data/table_name.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

#define TABLE_NAME_PARTS 3
/* They end a part that is not quoted. */
#define TABLE_NAME_STOPS ".\" \t\r\n"

/* The quoted part that starts at `*at` (on its opening quote); `*at` is left
 * behind the closing one. */
static int table_name_quoted(struct strbuf *part, const char **at,
			     const char *text, struct error *err)
{
	const char *p = *at + 1;

	for (; *p; p++) {
		if (*p == '"' && p[1] == '"')
			p++;
		else if (*p == '"')
			break;
		strbuf_addch(part, *p);
	}
	if (!*p)
		return error_set(err, ERROR_CONFIG,
				 "table name '%s': a double quote is opened "
				 "and not closed",
				 text);
	*at = p + 1;
	return 0;
}

static int table_name_plain(struct strbuf *part, const char **at,
			    const char *text, struct error *err)
{
	size_t n = strcspn(*at, TABLE_NAME_STOPS);
	char stop = (*at)[n];

	if (stop == '"')
		return error_set(err, ERROR_CONFIG,
				 "table name '%s': a quote inside a part; put "
				 "the whole part in double quotes and double "
				 "the quote",
				 text);
	if (stop && stop != '.')
		return error_set(err, ERROR_CONFIG,
				 "table name '%s': a part with a space goes in "
				 "double quotes, as in \"Order Lines\"",
				 text);
	strbuf_add(part, *at, n);
	*at += n;
	return 0;
}

/* One part; `*at` is left on the dot behind it or on the end. */
static int table_name_part(struct strbuf *part, const char **at,
			   const char *text, struct error *err)
{
	int rc;

	if (**at == '"')
		rc = table_name_quoted(part, at, text, err);
	else
		rc = table_name_plain(part, at, text, err);
	if (rc)
		return rc;
	if (**at && **at != '.')
		return error_set(err, ERROR_CONFIG,
				 "table name '%s': expected a dot behind the "
				 "closing quote, found '%s'",
				 text, *at);
	if (!part->len)
		return error_set(err, ERROR_CONFIG,
				 "table name '%s': empty part; expected "
				 "table, schema.table or "
				 "catalog.schema.table",
				 text);
	return 0;
}

int table_name_parse(struct table_name *out, const char *text,
		     struct error *err)
{
	char *parts[TABLE_NAME_PARTS] = { NULL, NULL, NULL };
	struct strbuf part = STRBUF_INIT;
	const char *at = text;
	size_t n = 0;
	int rc;

	for (;;) {
		strbuf_reset(&part);
		rc = table_name_part(&part, &at, text, err);
		if (rc)
			goto out;
		if (n == TABLE_NAME_PARTS) {
			rc = error_set(err, ERROR_CONFIG,
				       "table name '%s': more than three "
				       "parts; a name with a dot goes in "
				       "double quotes",
				       text);
			goto out;
		}
		parts[n++] = xstrdup(part.data);
		if (!*at)
			break;
		at++;
	}
	out->name = parts[n - 1];
	out->schema = n > 1 ? parts[n - 2] : NULL;
	out->catalog = n > 2 ? parts[n - 3] : NULL;
	n = 0;
out:
	for (size_t i = 0; i < n; i++)
		free(parts[i]);
	strbuf_release(&part);
	return rc;
}

void table_name_release(struct table_name *t)
{
	if (!t)
		return;
	free(t->catalog);
	free(t->schema);
	free(t->name);
	memset(t, 0, sizeof(*t));
}

static void sql_quote(struct strbuf *sb, const char *text, char quote)
{
	strbuf_addch(sb, quote);
	for (; *text; text++) {
		if (*text == quote)
			strbuf_addch(sb, quote);
		strbuf_addch(sb, *text);
	}
	strbuf_addch(sb, quote);
}

void sql_quote_name(struct strbuf *sb, const char *part, char quote)
{
	sql_quote(sb, part, quote);
}

void sql_quote_literal(struct strbuf *sb, const char *text)
{
	sql_quote(sb, text, '\'');
}

void table_name_write_part(struct strbuf *sb, const char *part)
{
	if (*part && !part[strcspn(part, TABLE_NAME_STOPS)])
		strbuf_addstr(sb, part);
	else
		sql_quote_name(sb, part, '"');
}

void table_name_quote(struct strbuf *sb, const struct table_name *t, char quote)
{
	if (t->catalog) {
		sql_quote_name(sb, t->catalog, quote);
		strbuf_addch(sb, '.');
	}
	if (t->schema) {
		sql_quote_name(sb, t->schema, quote);
		strbuf_addch(sb, '.');
	}
	sql_quote_name(sb, t->name, quote);
}

bool name_is_own(const char *name)
{
	return !strncasecmp(name, NAME_OWN, strlen(NAME_OWN));
}

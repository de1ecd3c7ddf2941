#include "core/sync/propose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "core/sync/runner.h"

/* The source as it is looked at, and the text so far. */
struct sketch {
	struct connector *source;
	const char *source_engine, *destination_engine;
	bool same_place; /* both URLs are one database */
	struct strlist targets;
	struct strbuf body; /* of `pipelines:` */
	struct proposal *out;
};

/* One table's choices. */
struct choice {
	const struct table_info *table;
	enum strategy strategy;
	char *column, *reason;
	struct schema schema;
};

void proposal_init(struct proposal *p)
{
	memset(p, 0, sizeof(*p));
	strbuf_init(&p->yaml);
}

void proposal_release(struct proposal *p)
{
	strbuf_release(&p->yaml);
	strlist_release(&p->pipelines);
	strlist_release(&p->skipped);
	strlist_release(&p->variables);
}

/* Copies "password=..." of the query only as long as it names a variable. */
static bool propose_hide_query(const char *query, struct strbuf *out)
{
	bool hidden = false;
	char separator = '?';

	while (*query) {
		size_t n = strcspn(++query, "&");

		if (n > 9 && !strncmp(query, "password=", 9) &&
		    query[9] != '$') {
			hidden = true;
		} else {
			strbuf_addch(out, separator);
			strbuf_add(out, query, n);
			separator = '&';
		}
		query += n;
	}
	return hidden;
}

bool propose_hide_password(const char *url, struct strbuf *out)
{
	const char *authority = strstr(url, "://");
	const char *query = strchr(url, '?');
	const char *end, *at, *colon;
	bool hidden = false;

	if (!query)
		query = url + strlen(url);
	if (authority && authority < query) {
		authority += 3;
		end = authority + strcspn(authority, "/?#");
		at = memrchr(authority, '@', (size_t)(end - authority));
		colon = at ? memchr(authority, ':', (size_t)(at - authority))
			   : NULL;
		if (colon && colon + 1 < at && colon[1] != '$') {
			hidden = true;
			strbuf_add(out, url, (size_t)(colon - url));
			url = at;
		}
	}
	strbuf_add(out, url, (size_t)(query - url));
	return propose_hide_query(query, out) || hidden;
}

static bool propose_is_plain(const char *text)
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

/* A YAML scalar: bare where that is safe, else as a JSON string, which YAML
 * reads alike. */
static void propose_scalar(struct strbuf *sb, const char *text)
{
	json_t *json;
	char *quoted;

	if (propose_is_plain(text)) {
		strbuf_addstr(sb, text);
		return;
	}
	json = json_string(text);
	quoted = json_dumps(json, JSON_ENCODE_ANY);
	strbuf_addstr(sb, quoted ? quoted : "\"\"");
	free(quoted);
	json_decref(json);
}

static void propose_comment(struct strbuf *sb, const char *indent,
			    const char *text)
{
	strbuf_addf(sb, "%s# ", indent);
	for (; *text; text++)
		strbuf_addch(sb, (unsigned char)*text < 0x20 ? ' ' : *text);
	strbuf_addch(sb, '\n');
}

static void propose_connection(struct proposal *out, const char *name,
			       const char *variable, const char *url)
{
	struct strbuf shown = STRBUF_INIT;

	strbuf_addf(&out->yaml, "  %s: ", name);
	if (propose_hide_password(url, &shown)) {
		strbuf_addstr(&out->yaml, "{ url: ");
		propose_scalar(&out->yaml, shown.data);
		strbuf_addf(&out->yaml, ", password: \"${%s}\" }\n", variable);
		strlist_add(&out->variables, variable);
	} else {
		propose_scalar(&out->yaml, shown.data);
		strbuf_addch(&out->yaml, '\n');
	}
	strbuf_release(&shown);
}

/* A name as a table of a config is written. */
static void propose_part(struct strbuf *sb, const char *part)
{
	if (*part && !part[strcspn(part, ".\"' \t\n")])
		strbuf_addstr(sb, part);
	else
		sql_quote_name(sb, part, '"');
}

/* Where the rows go: the same name on the same engine, the bare name on
 * another; the schema joins the name where two would meet. */
static char *sketch_target(struct sketch *s, const struct table_name *t,
			   const char *written)
{
	struct strbuf sb = STRBUF_INIT;
	bool same = !strcmp(s->source_engine, s->destination_engine);

	if (same && !s->same_place) {
		strbuf_addstr(&sb, written);
	} else {
		char *name =
			xstrfmt("%s%s", t->name, s->same_place ? "_copy" : "");

		if (same && t->schema) {
			propose_part(&sb, t->schema);
			strbuf_addch(&sb, '.');
		}
		propose_part(&sb, name);
		free(name);
	}
	if (strlist_has(&s->targets, sb.data)) {
		char *name = xstrfmt("%s_%s", t->schema ? t->schema : "other",
				     t->name);

		strbuf_reset(&sb);
		propose_part(&sb, name);
		free(name);
	}
	strlist_add(&s->targets, sb.data);
	return strbuf_detach(&sb);
}

/* A pipeline's name: the table's, letters, digits, _ and - only, unique. */
static char *sketch_name(struct sketch *s, const struct table_name *t)
{
	char *name = xstrdup(t->name);

	if (strlist_has(&s->out->pipelines, name)) {
		free(name);
		name = xstrfmt("%s_%s", t->schema ? t->schema : "other",
			       t->name);
	}
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz_-"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
			    *c))
			*c = '_';
	while (strlist_has(&s->out->pipelines, name)) {
		char *longer = xstrfmt("%s_", name);

		free(name);
		name = longer;
	}
	return name;
}

static void sketch_write_key(struct strbuf *sb, const struct schema *schema)
{
	strbuf_addstr(sb, "    key: [");
	for (size_t i = 0; i < schema->n_key; i++) {
		if (i)
			strbuf_addstr(sb, ", ");
		propose_scalar(sb, schema->columns[schema->key[i]].name);
	}
	strbuf_addstr(sb, "] # the source's own key\n");
}

static void sketch_write(struct sketch *s, const struct choice *c,
			 const struct table_name *t)
{
	struct strbuf *sb = &s->body;
	char *name = sketch_name(s, t);
	char *target = sketch_target(s, t, c->table->name);

	strbuf_addstr(sb, "  ");
	propose_scalar(sb, name);
	strbuf_addf(sb, ":\n    # %s", c->table->kind);
	if (c->table->row_estimate >= 0)
		strbuf_addf(sb, ", about %" PRId64 " rows",
			    c->table->row_estimate);
	strbuf_addstr(sb, "\n    source: { connection: source, table: ");
	propose_scalar(sb, c->table->name);
	strbuf_addstr(sb, " }\n    destination: { connection: destination, "
			  "table: ");
	propose_scalar(sb, target);
	strbuf_addstr(sb, " }\n");
	sketch_write_key(sb, &c->schema);
	propose_comment(sb, "    ", c->reason);
	strbuf_addf(sb, "    watermark: { strategy: %s",
		    strategy_name(c->strategy));
	if (*c->column) {
		strbuf_addstr(sb, ", column: ");
		propose_scalar(sb, c->column);
	}
	strbuf_addstr(sb, " }\n");
	strlist_add(&s->out->pipelines, name);
	free(name);
	free(target);
}

static void sketch_skip(struct sketch *s, const struct table_info *table,
			const struct error *why)
{
	char *text = xstrfmt("%s: %s", table->name, why->message);
	char *comment = xstrfmt("%s %s is left out: %s", table->kind,
				table->name, why->message);

	propose_comment(&s->body, "  ", comment);
	strlist_add(&s->out->skipped, text);
	free(comment);
	free(text);
}

static int sketch_choose(struct sketch *s, struct choice *c, struct error *err)
{
	static const struct strlist none = STRLIST_INIT;
	const struct connector_ops *ops = s->source->ops;
	struct source_spec spec = { .table = c->table->name,
				    .columns = &none,
				    .key = &none };
	struct watermark_spec mark = { .time_zone = "auto", .settle = true };
	int rc = ops->suggest(s->source, c->table->name, &c->strategy,
			      &c->column, &c->reason, err);

	if (rc)
		return rc;
	mark.strategy = c->strategy;
	mark.column = *c->column ? c->column : NULL;
	rc = ops->describe(s->source, &spec, &mark, &c->schema, err);
	if (!rc && !c->schema.n_key)
		rc = error_set(err, ERROR_SCHEMA, "it has no key");
	return rc;
}

/* A table that cannot be synced is a comment; a source that is gone is not. */
static int sketch_table(struct sketch *s, const struct table_info *table,
			struct error *err)
{
	struct choice c = { .table = table };
	struct table_name name = { NULL, NULL, NULL };
	struct error why = ERROR_INIT;
	int rc;

	schema_init(&c.schema);
	rc = sketch_choose(s, &c, &why);
	if (!rc)
		rc = table_name_parse(&name, table->name, &why);
	if (!rc)
		sketch_write(s, &c, &name);
	else if (error_may_pass(why.code) || why.code == ERROR_BUG)
		*err = why;
	else
		sketch_skip(s, table, &why);
	table_name_release(&name);
	schema_release(&c.schema);
	free(c.column);
	free(c.reason);
	return -(int)err->code;
}

static int sketch_tables(struct sketch *s, struct error *err)
{
	struct table_list list = { NULL, 0, 0 };
	int rc = s->source->ops->tables(s->source, &list, err);

	for (size_t i = 0; !rc && i < list.n; i++)
		rc = sketch_table(s, &list.items[i], err);
	if (!rc && !s->out->pipelines.n)
		rc = error_set(err, ERROR_SCHEMA,
			       list.n ? "no table of the source can be "
					"synced as it is; the first: %s"
				      : "the source has no tables%s",
			       list.n ? s->out->skipped.items[0] : "");
	table_list_release(&list);
	return rc;
}

static void propose_write(struct proposal *out, const char *source_url,
			  const char *destination_url, const char *body)
{
	strbuf_addstr(&out->yaml,
		      "# Written by tidemark init. Next: tidemark check, then "
		      "tidemark run.\n"
		      "# Every key: tidemark schema, docs/config.md\n"
		      "version: 1\n"
		      "# Run history and a mirror of the marks; "
		      "postgresql://... if several machines share the work.\n"
		      "state: sqlite:.tidemark/state.db\n"
		      "connections:\n");
	propose_connection(out, "source", "SOURCE_PASSWORD", source_url);
	propose_connection(out, "destination", "DESTINATION_PASSWORD",
			   destination_url);
	strbuf_addf(&out->yaml, "pipelines:\n%s", body);
}

/* The URLs are parsed and expanded by the rules of `copy`; the table and the
 * mark are placeholders that nobody looks at. */
static int propose_settings(const char *source_url, const char *destination_url,
			    struct settings *out, struct error *err)
{
	struct copy_arguments args = { .source_url = source_url,
				       .destination_url = destination_url,
				       .table = "t",
				       .watermark = "sequence:id" };

	return settings_from_copy(out, &args, err);
}

int propose(const char *source_url, const char *destination_url,
	    struct proposal *out, struct error *err)
{
	struct settings settings;
	struct sketch s = { .body = STRBUF_INIT, .out = out };
	int rc = propose_settings(source_url, destination_url, &settings, err);
	const struct pipeline_settings *p;

	if (rc)
		return rc;
	p = &settings.pipelines[0];
	s.source_engine = p->source->url.engine;
	s.destination_engine = p->destination->url.engine;
	s.same_place = !strcmp(p->source->url.text, p->destination->url.text);
	rc = runner_open_source(p, &s.source, err);
	if (!rc)
		rc = sketch_tables(&s, err);
	if (!rc)
		propose_write(out, source_url, destination_url, s.body.data);
	if (s.source)
		s.source->ops->close(s.source);
	strbuf_release(&s.body);
	strlist_release(&s.targets);
	settings_release(&settings);
	return rc;
}

int propose_watermark(const struct pipeline_settings *p, const char *table,
		      char **watermark, char **reason, struct error *err)
{
	struct connector *source = NULL;
	enum strategy strategy;
	char *column = NULL;
	int rc = runner_open_source(p, &source, err);

	if (rc)
		return rc;
	rc = source->ops->suggest(source, table, &strategy, &column, reason,
				  err);
	if (!rc)
		*watermark = xstrfmt("%s%s%s", strategy_name(strategy),
				     *column ? ":" : "", column);
	free(column);
	source->ops->close(source);
	return rc;
}

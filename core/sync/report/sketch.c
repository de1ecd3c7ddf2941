#include "core/sync/report/sketch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/base/yaml_text.h"
#include "core/data/table_name.h"

/* The limit for a table's name in a pipeline's name, which takes 200 bytes. */
#define SKETCH_NAME_PART 150

void sketch_init(struct sketch *s)
{
	memset(s, 0, sizeof(*s));
	strbuf_init(&s->body);
	s->source = "source";
	s->destination = "destination";
}

void sketch_release(struct sketch *s)
{
	strbuf_release(&s->body);
	strlist_release(&s->pipelines);
	strlist_release(&s->targets);
	strlist_release(&s->taken);
	strlist_release(&s->skipped);
}

/* Some engines do not tell two cases of a letter apart. */
static bool sketch_has_target(const struct sketch *s, const char *target)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (!strcasecmp(s->targets.items[i], target))
			return true;
	return false;
}

/* Where the rows go: the same name on the same engine, the bare name on
 * another. */
static void sketch_write_target(struct strbuf *sb, const struct sketch *s,
				const struct table_name *t, const char *written)
{
	bool same = !strcmp(s->source_engine, s->destination_engine);
	char *name;

	if (same && !s->same_place) {
		strbuf_addstr(sb, written);
		return;
	}
	if (same && t->schema) {
		table_name_write_part(sb, t->schema);
		strbuf_addch(sb, '.');
	}
	name = xstrfmt("%s%s", t->name, s->same_place ? "_copy" : "");
	table_name_write_part(sb, name);
	free(name);
}

/* Where two would meet, the schema joins the name, then a number. */
static char *sketch_target(struct sketch *s, const struct table_name *t,
			   const char *written)
{
	const char *schema = t->schema ? t->schema : "other";
	struct strbuf sb = STRBUF_INIT;

	sketch_write_target(&sb, s, t, written);
	for (size_t i = 1; sketch_has_target(s, sb.data); i++) {
		char *name = i == 1 ? xstrfmt("%s_%s", schema, t->name)
				    : xstrfmt("%s_%s_%zu", schema, t->name, i);

		strbuf_reset(&sb);
		table_name_write_part(&sb, name);
		free(name);
	}
	strlist_add(&s->targets, sb.data);
	return strbuf_detach(&sb);
}

/* Letters, digits, _ and - only, and no dash in front: it is a word of command
 * lines. */
static char *sketch_clean(const char *schema, const char *name, size_t number)
{
	char *whole = schema ? xstrfmt("%s_%s", schema, name) : xstrdup(name);
	char *text;

	for (char *c = whole; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz_-"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
			    *c) ||
		    (c == whole && *c == '-'))
			*c = '_';
	text = number ? xstrfmt("%.*s_%zu", SKETCH_NAME_PART, whole, number)
		      : xstrfmt("%.*s", SKETCH_NAME_PART, whole);
	free(whole);
	return text;
}

/* A pipeline's name: the table's, made unique. */
static char *sketch_name(const struct sketch *s, const struct table_name *t)
{
	const char *schema = t->schema ? t->schema : "other";
	char *name = sketch_clean(NULL, t->name, 0);

	for (size_t i = 1;
	     strlist_has(&s->pipelines, name) || strlist_has(&s->taken, name);
	     i++) {
		free(name);
		name = sketch_clean(schema, t->name, i == 1 ? 0 : i);
	}
	return name;
}

static void sketch_write_key(struct strbuf *sb, const struct schema *schema)
{
	strbuf_addstr(sb, "    key: [");
	for (size_t i = 0; i < schema->n_key; i++) {
		if (i)
			strbuf_addstr(sb, ", ");
		yaml_add_literal(sb, schema->columns[schema->key[i]].name);
	}
	strbuf_addstr(sb, "] # the source's own key\n");
}

static void sketch_write_table(const struct sketch *s,
			       const struct table_info *t, const char *target,
			       struct strbuf *sb)
{
	struct strbuf note = STRBUF_INIT;

	strbuf_addstr(&note, t->kind);
	if (t->row_estimate >= 0)
		strbuf_addf(&note, ", about %" PRId64 " rows", t->row_estimate);
	yaml_add_comment(sb, "    ", note.data);
	strbuf_addstr(sb, "    source: { connection: ");
	yaml_add_literal(sb, s->source);
	strbuf_addstr(sb, ", table: ");
	yaml_add_literal(sb, t->name);
	strbuf_addstr(sb, " }\n    destination: { connection: ");
	yaml_add_literal(sb, s->destination);
	strbuf_addstr(sb, ", table: ");
	yaml_add_literal(sb, target);
	strbuf_addstr(sb, " }\n");
	strbuf_release(&note);
}

static void sketch_write_mark(struct strbuf *sb, const struct sketch_choice *c)
{
	if (c->strategy == STRATEGY_NONE) {
		strbuf_addstr(sb, "    load: { mode: replace }\n");
		return;
	}
	strbuf_addf(sb, "    watermark: { strategy: %s",
		    strategy_name(c->strategy));
	if (*c->column) {
		strbuf_addstr(sb, ", column: ");
		yaml_add_literal(sb, c->column);
	}
	strbuf_addstr(sb, " }\n");
}

static void sketch_write(struct sketch *s, const struct sketch_choice *c,
			 const struct table_name *t)
{
	struct strbuf *sb = &s->body;
	char *name = sketch_name(s, t);
	char *target = sketch_target(s, t, c->table->name);

	strbuf_addstr(sb, "  ");
	yaml_add_scalar(sb, name);
	strbuf_addstr(sb, ":\n");
	sketch_write_table(s, c->table, target, sb);
	if (c->schema->n_key)
		sketch_write_key(sb, c->schema);
	yaml_add_comment(sb, "    ", c->reason);
	if (c->weakness)
		yaml_add_comment(sb, "    ", c->weakness);
	sketch_write_mark(sb, c);
	strlist_add(&s->pipelines, name);
	free(name);
	free(target);
}

static int sketch_check_text(const char *what, const char *text,
			     struct error *err)
{
	if (utf8_is_valid(text, strlen(text)))
		return 0;
	return error_set(err, ERROR_SCHEMA,
			 "the name of its %s is not UTF-8, and a config is",
			 what);
}

int sketch_add(struct sketch *s, const struct sketch_choice *c,
	       struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, c->table->name, err);

	if (!rc && !utf8_is_valid(c->table->name, strlen(c->table->name)))
		rc = error_set(err, ERROR_SCHEMA,
			       "its name is not UTF-8, and a config is");
	for (size_t i = 0; !rc && i < c->schema->n_key; i++)
		rc = sketch_check_text(
			"key", c->schema->columns[c->schema->key[i]].name, err);
	if (!rc)
		rc = sketch_check_text("mark", c->column, err);
	if (!rc)
		sketch_write(s, c, &name);
	table_name_release(&name);
	return rc;
}

void sketch_skip(struct sketch *s, const struct table_info *table,
		 const struct error *why)
{
	char *text = xstrfmt("%s: %s", table->name, why->message);
	char *comment = xstrfmt("%s %s is left out: %s", table->kind,
				table->name, why->message);

	utf8_repair(text);
	if (!s->mute)
		yaml_add_comment(&s->body, "  ", comment);
	strlist_add(&s->skipped, text);
	free(comment);
	free(text);
}

#include "core/sync/parts/shape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/data/digest.h"

#define SHAPE_CONFIG  "config"
#define SHAPE_BEFORE  "before"
#define SHAPE_TURNS   "turns"
#define SHAPE_SOURCES "sources"
#define SHAPE_QUERY   "query"
/* Digits of a digest. */
#define SHAPE_DIGITS 16
/* A config that is set back is no other config; one that then changes once
 * more to what it was is two. */
#define SHAPE_MOST_TURNS 2

/* Members of the config, with the name of their change. Without `rows` a change
 * alters no row up to the mark: watermark_new_column() judges a new column. */
static const struct {
	const char *member;
	const char *name;
	bool rows;
} shape_settings[] = {
	{ "columns", "source.columns", false },
	{ "where", "source.where", true },
	{ "zero_dates", "source.zero_dates", true },
	{ "logic_version", "logic_version", true },
};

static json_t *shape_digest(const char *text)
{
	char digest[DIGEST_TEXT_SIZE];

	digest_hash_text(text ? text : "", text ? strlen(text) : 0, digest);
	return json_stringn(digest, SHAPE_DIGITS);
}

static json_t *shape_columns(const struct pipeline_settings *p)
{
	struct strbuf sb = STRBUF_INIT;
	json_t *digest;

	for (size_t i = 0; i < p->columns.n; i++)
		strbuf_addf(&sb, "%s\x1f", p->columns.items[i]);
	for (size_t i = 0; i < p->exclude.n; i++)
		strbuf_addf(&sb, "\x1e%s", p->exclude.items[i]);
	digest = shape_digest(sb.data);
	strbuf_release(&sb);
	return digest;
}

static json_t *shape_expressions(const struct pipeline_settings *p)
{
	json_t *all = json_object();

	for (size_t i = 0; i < p->n_expressions; i++)
		json_object_set_new(all, p->expressions[i].name,
				    shape_digest(p->expressions[i].sql));
	return all;
}

static json_t *shape_type(const struct column *c)
{
	const struct type *t = &c->type;
	char *text =
		xstrfmt("%s\x1f%s\x1f%d,%d,%d\x1f%s", type_kind_name(t->kind),
			t->native ? t->native : "", t->precision, t->scale,
			t->digits, c->labels ? c->labels : "");
	json_t *digest = shape_digest(text);

	free(text);
	return digest;
}

static json_t *shape_types(const struct schema *s)
{
	json_t *all = json_object();

	for (size_t i = 0; i < s->n_columns; i++)
		json_object_set_new(all, s->columns[i].name,
				    shape_type(&s->columns[i]));
	return all;
}

/* Digests of the source's names, by the target's, of renamed columns. */
static json_t *shape_sources(const struct schema *s)
{
	json_t *all = json_object();

	for (size_t i = 0; i < s->n_columns; i++)
		if (s->columns[i].source)
			json_object_set_new(all, s->columns[i].name,
					    shape_digest(s->columns[i].source));
	return all;
}

json_t *shape_of(const struct pipeline_settings *p, const struct schema *s)
{
	json_t *shape = json_object(), *sources;

	if (p->origin)
		json_object_set_new(shape, SHAPE_CONFIG,
				    json_string(p->origin));
	json_object_set_new(shape, "columns", shape_columns(p));
	json_object_set_new(shape, "where", shape_digest(p->where));
	json_object_set_new(shape, "zero_dates",
			    json_string(p->zero_dates == ZERO_DATES_NULL
						? "null"
						: "error"));
	json_object_set_new(shape, "logic_version",
			    json_integer(p->logic_version));
	json_object_set_new(shape, "expressions", shape_expressions(p));
	if (p->query)
		json_object_set_new(shape, SHAPE_QUERY, shape_digest(p->query));
	if (s->definition)
		json_object_set_new(shape, "view", shape_digest(s->definition));
	json_object_set_new(shape, "types", shape_types(s));
	sources = shape_sources(s);
	if (json_object_size(sources))
		json_object_set(shape, SHAPE_SOURCES, sources);
	json_decref(sources);
	return shape;
}

/* `name` NULL: the kind says it all. */
static void shape_say(struct strbuf *what, const char *kind, const char *name)
{
	strbuf_addf(what, "%s%s", what->len ? ", " : "", kind);
	if (name)
		strbuf_addf(what, " of column \"%s\"", name);
}

/* A member that only one of both has is no change of it. */
static bool shape_differs(const json_t *now, const json_t *seen,
			  const char *member)
{
	const json_t *a = json_object_get(now, member);
	const json_t *b = json_object_get(seen, member);

	return a && b && !json_equal(a, b);
}

static bool shape_map_differs(const json_t *now, const json_t *seen,
			      const char *member, const char *kind,
			      struct strbuf *what)
{
	const json_t *old = json_object_get(seen, member);
	json_t *all = json_object_get(now, member), *digest;
	const char *name;
	bool differs = false;

	json_object_foreach(all, name, digest)
	{
		if (!shape_differs(all, old, name))
			continue;
		differs = true;
		shape_say(what, kind, name);
	}
	return differs;
}

/* The digest of the name that the source has for a column of the target. */
static json_t *shape_source(const json_t *shape, const char *name)
{
	json_t *own =
		json_object_get(json_object_get(shape, SHAPE_SOURCES), name);

	return own ? json_incref(own) : shape_digest(name);
}

/* A column of the target that is filled from another one of the source. A mark
 * of an older version has no renamed columns. */
static bool shape_sources_differ(const json_t *now, const json_t *seen,
				 struct strbuf *what)
{
	json_t *types = json_object_get(now, "types"), *type;
	const json_t *old = json_object_get(seen, "types");
	const char *name;
	bool differs = false;

	json_object_foreach(types, name, type)
	{
		json_t *a = shape_source(now, name);
		json_t *b = shape_source(seen, name);

		if (json_object_get(old, name) && !json_equal(a, b)) {
			differs = true;
			shape_say(what, "the source", name);
		}
		json_decref(a);
		json_decref(b);
	}
	return differs;
}

/* One digest of all settings in the config. */
static json_t *shape_config_digest(const json_t *shape)
{
	json_t *of = json_object(), *digest;
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(shape_settings); i++) {
		const char *member = shape_settings[i].member;

		json_object_set(of, member, json_object_get(shape, member));
	}
	json_object_set(of, "expressions",
			json_object_get(shape, "expressions"));
	json_object_set(of, SHAPE_SOURCES,
			json_object_get(shape, SHAPE_SOURCES));
	json_object_set(of, SHAPE_QUERY, json_object_get(shape, SHAPE_QUERY));
	text = json_dumps(of, JSON_COMPACT | JSON_SORT_KEYS);
	digest = shape_digest(text);
	free(text);
	json_decref(of);
	return digest;
}

static void shape_follow_config(json_t *now, const json_t *seen)
{
	json_t *mine = shape_config_digest(now);
	json_t *theirs = shape_config_digest(seen);
	const json_t *before = json_object_get(seen, SHAPE_BEFORE);
	json_int_t turns =
		json_integer_value(json_object_get(seen, SHAPE_TURNS));

	if (json_equal(mine, theirs)) {
		if (before)
			json_object_set(now, SHAPE_BEFORE, (json_t *)before);
	} else {
		turns = before && json_equal(before, mine) ? turns + 1 : 0;
		json_object_set(now, SHAPE_BEFORE, theirs);
	}
	if (turns)
		json_object_set_new(now, SHAPE_TURNS, json_integer(turns));
	json_decref(mine);
	json_decref(theirs);
}

bool shape_follow(json_t *now, const json_t *seen, struct strbuf *what)
{
	bool rows = false;

	if (!seen)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(shape_settings); i++) {
		if (!shape_differs(now, seen, shape_settings[i].member))
			continue;
		rows |= shape_settings[i].rows;
		shape_say(what, shape_settings[i].name, NULL);
	}
	rows |= shape_map_differs(now, seen, "expressions", "the expression",
				  what);
	rows |= shape_sources_differ(now, seen, what);
	if (shape_differs(now, seen, "view")) {
		rows = true;
		shape_say(what, "the query of the view", NULL);
	}
	/* The type of an expression goes with it. */
	rows |= shape_map_differs(now, seen, "types", "the type", what);
	shape_follow_config(now, seen);
	return rows;
}

/* The config of the mark, if that is another one which is still there. */
static const char *shape_other_config(const json_t *now, const json_t *seen)
{
	const char *mine =
		json_string_value(json_object_get(now, SHAPE_CONFIG));
	const char *theirs =
		json_string_value(json_object_get(seen, SHAPE_CONFIG));
	struct stat a, b;

	if (!mine || !theirs || !strcmp(mine, theirs))
		return NULL;
	if (*theirs != '/')
		return theirs;
	if (stat(theirs, &a))
		return NULL;
	return !stat(mine, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino
		       ? NULL
		       : theirs;
}

static bool shape_same_config(const json_t *now, const json_t *seen)
{
	json_t *a = shape_config_digest(now), *b = shape_config_digest(seen);
	bool same = json_equal(a, b);

	json_decref(a);
	json_decref(b);
	return same;
}

int shape_check(const struct pipeline_settings *p, const json_t *now,
		const json_t *seen, struct error *err)
{
	const char *other;

	if (!seen || shape_same_config(now, seen))
		return 0;
	other = shape_other_config(now, seen);
	if (other)
		return error_set(
			err, ERROR_SCHEMA,
			"pipeline %s was run by another config, %s, which "
			"selects other rows or columns than %s: two configs of "
			"one name would overwrite each other's rows. Give one "
			"of them another pipeline name and table; if this one "
			"takes the other's place, tidemark watermark reset %s, "
			"and the next run reads everything again",
			p->name, other, p->origin, settings_call(p));
	if (json_integer_value(json_object_get(now, SHAPE_TURNS)) <
	    SHAPE_MOST_TURNS)
		return 0;
	return error_set(
		err, ERROR_SCHEMA,
		"the config of pipeline %s changes back and forth between two "
		"states (columns, expressions, where, query, zero_dates or "
		"logic_version), and every change reads all rows again: two "
		"jobs may share its name. Give each a pipeline name and table "
		"of its own; if only this one is left, tidemark watermark "
		"reset %s, and the next run reads everything again",
		p->name, settings_call(p));
}

/* Does the target's column of that name have values of another one? */
static bool shape_is_other(const struct column *c, const json_t *seen)
{
	json_t *now = shape_digest(column_source(c));
	json_t *then = shape_source(seen, c->name);
	bool other = json_object_get(json_object_get(seen, "types"), c->name) &&
		     !json_equal(now, then);

	json_decref(now);
	json_decref(then);
	return other;
}

/* Rows of an update are found by any key. */
int shape_check_key(const struct pipeline_settings *p, const struct schema *s,
		    const json_t *seen, struct error *err)
{
	for (size_t i = 0; seen && i < s->n_key; i++) {
		const struct column *c = &s->columns[s->key[i]];

		if (p->mode == LOAD_UPDATE || !shape_is_other(c, seen))
			continue;
		return error_set(
			err, ERROR_SCHEMA,
			"table %s: key column \"%s\" is filled from \"%s\" of "
			"%s now, and was from another column. Rows that are "
			"there would stay under their old keys" ERROR_FIX
			": set source.rename or key back, or read everything "
			"into a new table: tidemark %s --full-refresh %s. If "
			"the column only got another name at the source: "
			"tidemark watermark reset %s",
			p->destination_table, c->name, column_source(c),
			p->source_table, settings_run(p), settings_call(p),
			settings_call(p));
	}
	return 0;
}

bool shape_inspect(const struct pipeline_settings *p, const struct schema *s,
		   const json_t *seen, struct problems *out)
{
	json_t *now = shape_of(p, s);
	struct strbuf what = STRBUF_INIT;
	struct error err = ERROR_INIT;
	char *fix = xstrfmt("tidemark watermark reset %s, or another pipeline "
			    "name and table",
			    settings_call(p));
	bool again = shape_follow(now, seen, &what);

	if (shape_check(p, now, seen, &err))
		problems_add(out, SEVERITY_ERROR, err.code, "config-of-other",
			     fix, "%s", err.message);
	else if (shape_check_key(p, s, seen, &err))
		problems_add(out, SEVERITY_ERROR, err.code, "key-of-other",
			     "set source.rename or key back, or run with "
			     "--full-refresh",
			     "%s", err.message);
	else if (again)
		problems_add(out, SEVERITY_INFO, ERROR_NONE, "rows-again",
			     "nothing is to be done; to read less, set the "
			     "config back before the next run",
			     "%s changed since the mark of %s was taken: the "
			     "next run reads every row of %s again",
			     what.data, p->name, p->source_table);
	strbuf_release(&what);
	json_decref(now);
	free(fix);
	return again;
}

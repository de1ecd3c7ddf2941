#include "core/data/table_identity.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/file_id.h"
#include "core/data/table_name.h"

static const char *const identity_servers[] = { "system_identifier", "server",
						"project" };
static const char *const identity_numbers[] = { "table_oid", "table_uuid",
						"table_id", "created" };

static const char *identity_text(const json_t *identity, const char *member)
{
	return json_string_value(json_object_get(identity, member));
}

/* NULL: it is not told, or not known here. */
static const struct engine *identity_engine(const json_t *identity)
{
	const char *name = identity_text(identity, "engine");

	return name ? engine_named(name) : NULL;
}

/* Its names match in either case of ASCII letters. */
static bool identity_folds(const json_t *identity)
{
	const struct engine *e = identity_engine(identity);

	return e && e->traits & ENGINE_FOLDS_NAMES;
}

/* Both sides have the member, and it is another there. */
static bool identity_differs(const json_t *a, const json_t *b,
			     const char *member)
{
	const json_t *x = json_object_get(a, member);
	const json_t *y = json_object_get(b, member);

	return x && y && !json_equal(x, y);
}

static bool identity_agrees(const json_t *a, const json_t *b,
			    const char *member)
{
	const json_t *x = json_object_get(a, member);

	return x && json_equal(x, json_object_get(b, member));
}

/* The schema in which a name without one is looked for; NULL: not known. */
static const char *identity_schema(const json_t *identity,
				   const struct table_name *name)
{
	const struct engine *e = identity_engine(identity);

	if (name->schema)
		return name->schema;
	return e && e->schema ? e->schema : identity_text(identity, "database");
}

static bool identity_same_word(const json_t *identity, const char *a,
			       const char *b)
{
	return identity_folds(identity) ? !strcasecmp(a, b) : !strcmp(a, b);
}

bool table_identity_same_name(const json_t *a, const json_t *b)
{
	const char *from = identity_text(a, "table");
	const char *to = identity_text(b, "table");
	struct table_name x = { NULL, NULL, NULL }, y = { NULL, NULL, NULL };
	bool same = false;

	if (from && to && !table_name_parse(&x, from, NULL) &&
	    !table_name_parse(&y, to, NULL)) {
		const char *left = identity_schema(a, &x);
		const char *right = identity_schema(b, &y);

		same = identity_same_word(a, x.name, y.name) &&
		       (!left || !right || identity_same_word(a, left, right));
	}
	table_name_release(&x);
	table_name_release(&y);
	return same;
}

static bool identity_other_server(const json_t *a, const json_t *b)
{
	if (identity_differs(a, b, "engine"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(identity_servers); i++)
		if (identity_differs(a, b, identity_servers[i]))
			return true;
	/* A file that was moved keeps its number. A file that replaced another
	 * one has its path. */
	if (identity_differs(a, b, "file") && identity_differs(a, b, "path"))
		return true;
	return identity_differs(a, b, "database");
}

static bool identity_server_known(const json_t *a, const json_t *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(identity_servers); i++)
		if (identity_agrees(a, b, identity_servers[i]))
			return true;
	return false;
}

bool table_identity_same(const json_t *a, const json_t *b)
{
	if (identity_other_server(a, b))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(identity_numbers); i++) {
		if (identity_agrees(a, b, identity_numbers[i]))
			return true;
		/* The servers do not say who they are. */
		if (identity_differs(a, b, identity_numbers[i]) &&
		    !identity_server_known(a, b))
			return false;
	}
	return table_identity_same_name(a, b);
}

bool table_identity_is(const json_t *a, const json_t *b)
{
	return table_identity_same(a, b) &&
	       (identity_server_known(a, b) || identity_agrees(a, b, "file"));
}

void table_identity_add_file(json_t *identity, const char *path)
{
	char *id = file_id(path), *whole = file_path(path);

	json_object_set_new(identity, "file", json_string(id));
	json_object_set_new(identity, "path", json_string(whole));
	free(id);
	free(whole);
}

static void identity_print_part(struct strbuf *sb, const json_t *identity,
				const char *member, const char *what)
{
	const char *text = identity_text(identity, member);

	if (text)
		strbuf_addf(sb, ", %s%s", what, text);
}

void table_identity_print(struct strbuf *sb, const json_t *identity)
{
	const char *table = identity_text(identity, "table");
	const char *engine = identity_text(identity, "engine");

	strbuf_addf(sb, "%s (%s", table ? table : "a table",
		    engine ? engine : "of an engine that is not known");
	identity_print_part(sb, identity, "path", "");
	for (size_t i = 0; i < ARRAY_SIZE(identity_servers); i++)
		identity_print_part(sb, identity, identity_servers[i],
				    "server ");
	identity_print_part(sb, identity, "database", "database ");
	strbuf_addch(sb, ')');
}

static void identity_write_word(struct strbuf *sb, const json_t *identity,
				const char *word)
{
	bool fold = identity_folds(identity);

	for (; word && *word; word++)
		strbuf_addch(sb, fold && *word >= 'A' && *word <= 'Z'
					 ? (char)(*word + 'a' - 'A')
					 : *word);
}

void table_identity_write_name(struct strbuf *sb, const json_t *identity)
{
	const char *table = identity_text(identity, "table");
	struct table_name name = { NULL, NULL, NULL };
	const char *schema;

	if (!table || table_name_parse(&name, table, NULL))
		return;
	schema = identity_schema(identity, &name);
	identity_write_word(sb, identity, schema);
	strbuf_addstr(sb, schema ? "." : "");
	identity_write_word(sb, identity, name.name);
	table_name_release(&name);
}

void table_identity_write(struct strbuf *sb, const json_t *identity)
{
	static const char *const members[] = { "engine", "path", "database" };
	const char *text;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		text = identity_text(identity, members[i]);
		strbuf_addf(sb, "%s\n", text ? text : "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(identity_servers); i++) {
		text = identity_text(identity, identity_servers[i]);
		strbuf_addf(sb, "%s\n", text ? text : "");
	}
	table_identity_write_name(sb, identity);
	strbuf_addch(sb, '\n');
}

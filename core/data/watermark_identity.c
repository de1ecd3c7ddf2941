#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/shell.h"
#include "core/base/strbuf.h"
#include "core/data/table_identity.h"
#include "core/data/watermark.h"

/* A member of the identity in words for people, and the meaning of its
 * change. */
static const struct {
	const char *member;
	const char *meaning;
} watermark_changes[] = {
	{ "system_identifier",
	  "another cluster answers at this address (a restored backup, a "
	  "server set up anew, or another host)" },
	{ "timeline", "the cluster went over to another timeline (a standby "
		      "was promoted, or a backup was restored)" },
	{ "database", "this is another database" },
	{ "database_oid",
	  "the database was dropped and created again, or restored" },
	{ "server", "another server answers at this address (a restored "
		    "backup, a replica, a failover, or another host; the "
		    "number of a MariaDB server also changes with its port and "
		    "its network card)" },
	{ "path", "this is another file" },
	{ "table", "this is another table" },
	{ "mark_meaning",
	  "the mark column got a type whose values mean something else" },
};

static char *watermark_describe(const json_t *value)
{
	char *text, *copy;

	if (!value)
		return xstrdup("nothing");
	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	copy = xstrdup(text);
	free(text);
	return copy;
}

/* The member that tells a table from a later one of the same name. */
static const char *watermark_birth(const char *member)
{
	static const char *const births[][2] = {
		{ "table_oid", "oid" },
		{ "table_uuid", "UUID" },
		{ "created", "made at" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(births); i++)
		if (!strcmp(member, births[i][0]))
			return births[i][1];
	return NULL;
}

static void watermark_explain(struct strbuf *sb, const json_t *now,
			      const char *member, const char *before,
			      const char *after)
{
	const char *table = json_string_value(json_object_get(now, "table"));
	const char *birth = watermark_birth(member);

	if (table && birth) {
		strbuf_addf(sb,
			    "the table %s was dropped and created again since "
			    "the mark was taken (%s %s, now %s)",
			    table, birth, before, after);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(watermark_changes); i++) {
		if (!strcmp(member, watermark_changes[i].member))
			strbuf_addf(sb, "%s: ", watermark_changes[i].meaning);
	}
	strbuf_addf(sb, "when the mark was taken %s was %s, now it is %s",
		    member, before, after);
}

/* A mark holds a key, whose text is data, not a command. */
void watermark_add_word(const struct watermark *w, struct strbuf *sb)
{
	struct watermark plain;
	char *text;

	watermark_init(&plain);
	watermark_copy(&plain, w);
	json_decref(plain.identity);
	plain.identity = NULL;
	text = watermark_to_text(&plain);
	shell_add_word(sb, text);
	free(text);
	watermark_release(&plain);
}

/* A server may be the same one under another number. */
static void watermark_advise_server(struct strbuf *sb,
				    const struct watermark *w, const char *call,
				    const char *member)
{
	if (strcmp(member, "server") != 0)
		return;
	strbuf_addf(sb,
		    "if it is the same server with the same data, `tidemark "
		    "watermark set %s ",
		    call);
	watermark_add_word(w, sb);
	strbuf_addstr(sb, "` keeps the mark; else ");
}

static int watermark_refuse_source(const struct watermark *w, const char *run,
				   const char *call, const json_t *now,
				   const char *member, const json_t *remembered,
				   struct error *err)
{
	struct strbuf same = STRBUF_INIT;
	struct strbuf what = STRBUF_INIT;
	char *before = watermark_describe(remembered);
	char *after = watermark_describe(json_object_get(now, member));

	watermark_explain(&what, now, member, before, after);
	watermark_advise_server(&same, w, call, member);
	error_set(
		err, ERROR_SCHEMA,
		"the source is not the one the mark belongs to: %s. " ERROR_FIX
		"%s`tidemark %s --full-refresh %s` builds the target anew, as "
		"marks of another source do not compare; after `tidemark "
		"watermark reset %s` the next run reads everything again, "
		"and rows of the target with newer marks stay",
		what.data, same.len ? same.data : "", run, call, call);
	strbuf_release(&what);
	strbuf_release(&same);
	free(before);
	free(after);
	return -ERROR_SCHEMA;
}

/* Older marks hold the column's type. A widened type keeps the meaning of every
 * mark. MySQL's table has another id after OPTIMIZE too, so its connector
 * judges by the rows. A file that was moved keeps its number; a copy that took
 * the place of another has its path. */
static bool watermark_leaves(const struct watermark *w, const json_t *now,
			     const char *member)
{
	const json_t *file = json_object_get(now, "file");

	if (!strcmp(member, "path"))
		return !file ||
		       json_equal(file, json_object_get(w->identity, "file"));
	return !strcmp(member, "mark_type") || !strcmp(member, "table_id") ||
	       !strcmp(member, "table_created") || !strcmp(member, "file");
}

int watermark_check_identity(const struct watermark *w, const json_t *now,
			     const char *run, const char *call,
			     struct error *err)
{
	const char *member;
	json_t *remembered;

	/* Members that only `now` has are new to this version: no judgement. */
	json_object_foreach(now ? w->identity : NULL, member, remembered)
	{
		const json_t *found = json_object_get(now, member);

		if (watermark_leaves(w, now, member) ||
		    (!strcmp(member, "table") &&
		     table_identity_same_name(w->identity, now)))
			continue;
		if (!found || !json_equal(found, remembered))
			return watermark_refuse_source(w, run, call, now,
						       member, remembered, err);
	}
	return 0;
}

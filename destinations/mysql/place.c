#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/mysql/internal.h"

/* Characters; the server refuses longer names. */
#define NAME_LIMIT 64

static size_t place_length(const char *name)
{
	size_t n = 0;

	for (; *name; name++)
		n += (*name & 0xC0) != 0x80;
	return n;
}

/* Names are utf8mb3: a character of four bytes is not among them. */
static bool place_is_beyond(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name >= 0xf0)
			return true;
	return false;
}

static int place_check_name(const char *what, const char *name,
			    struct error *err)
{
	size_t n = strlen(name);

	if (place_length(name) > NAME_LIMIT)
		return error_set(
			err, ERROR_SCHEMA,
			"%s %s: MySQL takes names of %d characters" ERROR_FIX
			"; choose a shorter one",
			what, name, NAME_LIMIT);
	if (n && isspace((unsigned char)name[n - 1]))
		return error_set(err, ERROR_SCHEMA,
				 "%s \"%s\": MySQL takes no name that ends "
				 "with a blank" ERROR_FIX "; choose another",
				 what, name);
	if (place_is_beyond(name))
		return error_set(err, ERROR_SCHEMA,
				 "%s %s: MySQL takes no characters beyond "
				 "U+FFFF in a name, and makes each a "
				 "?" ERROR_FIX "; choose another",
				 what, name);
	return 0;
}

static int place_check(const struct place *p, const struct target *target,
		       struct error *err)
{
	int rc = place_check_name("table", p->base, err);

	if (!rc)
		rc = place_check_name("database", p->database, err);
	if (!rc)
		rc = target_check_own(target, p->table, err);
	for (size_t i = 0;
	     !rc && target->schema && i < target->schema->n_columns; i++)
		rc = place_check_name("column", target->schema->columns[i].name,
				      err);
	return rc;
}

static int place_database(const struct table_name *name,
			  struct mysql_client *db, const struct target *target,
			  const char **out, struct error *err)
{
	*out = name->schema ? name->schema : mysql_client_database(db);
	if (name->catalog)
		return error_set(err, ERROR_CONFIG,
				 "table %s: MySQL has databases and no schemas "
				 "in them" ERROR_FIX ": write %s.%s",
				 target->table, name->schema, name->name);
	if (!**out)
		return error_set(err, ERROR_CONFIG,
				 "table %s: in which database? " ERROR_FIX
				 "Write "
				 "DATABASE.%s, or name it in the URL",
				 target->table, name->name);
	return 0;
}

/* As the server does: one table has one name here. */
static char *place_fold(struct mysql_client *db, const char *name)
{
	char *folded = xstrdup(name);

	for (char *p = folded; mysql_client_folds(db) && *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p + 'a' - 'A');
	return folded;
}

void mysql_target_place_temporary(struct place *p, const char *database)
{
	char *prefix = place_prefix(database, '`');

	free(p->stage);
	free(p->copy);
	free(p->fresh);
	p->stage = place_name(prefix, "_tidemark_stage", '`');
	p->copy = place_name(prefix, "_tidemark_copy", '`');
	p->fresh = place_name(prefix, "_tidemark_fresh", '`');
	free(prefix);
}

static void place_fill_in(struct place *p, struct mysql_client *db,
			  const struct target *target, const char *database,
			  const char *table)
{
	char *folded = place_fold(db, database);
	char *name = place_fold(db, table);
	char *prefix = place_prefix(folded, '`');
	char *retired;

	place_fill(p, target, folded, name, prefix, '`');
	retired = xstrfmt("%s_old", p->build);
	p->retired = place_name(prefix, retired, '`');
	mysql_target_place_temporary(p, folded);
	free(retired);
	free(prefix);
	free(name);
	free(folded);
}

int mysql_target_place_set(struct place *out, struct mysql_client *db,
			   const struct target *target, struct error *err)
{
	struct table_name name = { 0 };
	const char *database = NULL;
	int rc = table_name_parse(&name, target->table, err);

	if (!rc)
		rc = place_database(&name, db, target, &database, err);
	if (!rc) {
		place_fill_in(out, db, target, database, name.name);
		rc = place_check(out, target, err);
	}
	table_name_release(&name);
	return rc;
}

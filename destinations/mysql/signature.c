#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/common/refusals.h"
#include "destinations/mysql/internal.h"

#define ERRNO_NO_TABLE 1146

int mysql_target_signature_refuse(const struct target *target,
				  struct error *err)
{
	return target_refuse_altered(
		target,
		"its columns, indexes or triggers are not those that the run "
		"has prepared",
		err);
}

bool mysql_target_signature_is_gone(const struct mysql_target *d,
				    const struct error *err)
{
	const char *name = d->target->refresh ? d->place.build : d->place.base;

	return mysql_client_failed_with(err, ERRNO_NO_TABLE) &&
	       strstr(err->message, name) != NULL;
}

static bool signature_same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool signature_same_column(const struct catalog_column *a,
				  const struct catalog_column *b)
{
	return signature_same_text(a->name, b->name) &&
	       signature_same_text(a->type.name, b->type.name) &&
	       signature_same_text(a->charset, b->charset) &&
	       signature_same_text(a->collation, b->collation) &&
	       signature_same_text(a->default_text, b->default_text) &&
	       a->not_null == b->not_null && a->generated == b->generated &&
	       a->auto_increment == b->auto_increment;
}

/* Compare all that decides how a batch is loaded. Tables that point at this one
 * were searched by other means, and are not searched again. */
bool mysql_target_signature_same(const struct catalog_table *a,
				 const struct catalog_table *b)
{
	if (a->exists != b->exists || a->n_columns != b->n_columns ||
	    a->triggers != b->triggers || a->has_key != b->has_key ||
	    a->other_unique != b->other_unique ||
	    !signature_same_text(a->engine, b->engine))
		return false;
	for (size_t i = 0; i < a->n_columns; i++)
		if (!signature_same_column(&a->columns[i], &b->columns[i]))
			return false;
	return true;
}

/* " AUTO_INCREMENT=17" is of the rows. */
static char *signature_of(const char *create, const char *triggers)
{
	static const char counter[] = " AUTO_INCREMENT=";
	const char *at = strstr(create, counter), *next;
	size_t n;

	/* The last one: the options come behind the columns' comments. */
	while (at && (next = strstr(at + 1, counter)))
		at = next;
	if (!at)
		return xstrfmt("%s\n%s", create, triggers);
	n = strlen(counter);
	n += strspn(at + n, "0123456789");
	return xstrfmt("%.*s%s\n%s", (int)(at - create), create, at + n,
		       triggers);
}

static int signature_read(struct mysql_target *d, const char *triggers,
			  char **out, struct error *err)
{
	char *sql = xstrfmt("SHOW CREATE TABLE %s", d->rows);
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(d->db, &r, sql, "1tt", 0, NULL, err);

	if (!rc)
		*out = signature_of(mysql_client_value(r, 0, 1), triggers);
	mysql_client_result_free(r);
	free(sql);
	return rc;
}

/* The first time in a run: is the table still as prepare has read it? A run
 * that loads nothing never asks. */
static int signature_first(struct mysql_target *d, struct error *err)
{
	const char *table = d->target->refresh ? d->place.build : d->place.base;
	struct catalog_table now = { .exists = false };
	int rc = mysql_target_catalog_read(d->db, d->place.database, table,
					   d->target->schema, &now, err);

	if (!rc && !mysql_target_signature_same(&d->table, &now))
		rc = mysql_target_signature_refuse(d->target, err);
	mysql_target_catalog_release(&now);
	return rc;
}

int mysql_target_signature_check(struct sql_mark *m, const char *triggers,
				 struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	char *now = NULL;
	int rc = signature_read(d, triggers ? triggers : "", &now, err);

	if (!rc && !d->signature)
		rc = signature_first(d, err);
	else if (!rc && strcmp(d->signature, now) != 0)
		rc = mysql_target_signature_refuse(d->target, err);
	if (!rc && !d->signature) {
		d->signature = now;
		return 0;
	}
	free(now);
	return rc;
}

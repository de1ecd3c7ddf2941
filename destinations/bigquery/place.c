#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/data/table_name.h"
#include "destinations/bigquery/internal.h"

#define PLACE_COLUMN_MOST 300
#define PLACE_TABLE_MOST  1024

/* cloud.google.com/bigquery/docs/schemas#column_names */
static const char *const place_reserved[] = {
	"_TABLE_",
	"_FILE_",
	"_PARTITION",
	"_ROW_TIMESTAMP",
	"__ROOT__",
	"_COLIDENTIFIER",
	"_CHANGE_SEQUENCE_NUMBER",
};

/* Letters of any alphabet are fine. */
static bool place_has(const char *name, const char *refused)
{
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127 || strchr(refused, *p))
			return true;
	return false;
}

static size_t place_length(const char *name)
{
	size_t n = 0;

	for (const char *p = name; *p; p++)
		n += ((unsigned char)*p & 0xc0) != 0x80;
	return n;
}

const char *bigquery_column_refused(const char *name)
{
	if (!*name)
		return "is empty";
	if (place_length(name) > PLACE_COLUMN_MOST)
		return "has more than 300 characters";
	if (place_has(name, "!\"$()*,./;?@[\\]^`{}~"))
		return "has one of the characters !\"$()*,./;?@[\\]^`{}~";
	if (name_is_own(name))
		return "begins with " NAME_OWN ", as Tidemark's own";
	for (size_t i = 0; i < ARRAY_SIZE(place_reserved); i++)
		if (!strncasecmp(name, place_reserved[i],
				 strlen(place_reserved[i])))
			return "begins as names that BigQuery keeps for itself";
	return NULL;
}

const char *bigquery_table_refused(const char *name)
{
	if (strlen(name) > PLACE_TABLE_MOST)
		return "has more than 1024 bytes";
	if (place_has(name, "!\"#$%&'()*+,./:;<=>?@[\\]^`{|}~"))
		return "has characters other than letters, digits, _, - and "
		       "spaces";
	return NULL;
}

char *bigquery_place_quote(const struct bigquery_destination *d,
			   const char *dataset, const char *name)
{
	return xstrfmt("`%s`.`%s`.`%s`", bigquery_project(d->client), dataset,
		       name);
}

static int place_fill(struct bigquery_place *p,
		      const struct bigquery_destination *d,
		      const struct target *target,
		      const struct table_name *name, struct error *err)
{
	const char *refused = bigquery_table_refused(name->name);

	if (!refused && name->schema)
		refused = bigquery_table_refused(name->schema);
	if (refused)
		return error_set(err, ERROR_SCHEMA,
				 "table %s: BigQuery does not take the name, "
				 "which %s" ERROR_FIX ": choose another",
				 target->table, refused);
	if (target_check_own(target, name->name, err))
		return -ERROR_CONFIG;
	p->dataset = xstrdup(name->schema ? name->schema
					  : bigquery_dataset(d->client));
	p->name = xstrdup(name->name);
	p->data = target->mode == LOAD_APPEND
			  ? xstrfmt("%s%s", name->name, NAME_RAW_SUFFIX)
			  : xstrdup(name->name);
	p->anew = name_stage(target->pipeline);
	p->quoted_name = bigquery_place_quote(d, p->dataset, p->name);
	p->quoted_data = bigquery_place_quote(d, p->dataset, p->data);
	p->quoted_anew = bigquery_place_quote(d, p->dataset, p->anew);
	p->quoted_mark =
		bigquery_place_quote(d, p->dataset, NAME_WATERMARK_TABLE);
	return 0;
}

int bigquery_place_init(struct bigquery_place *p,
			const struct bigquery_destination *d,
			const struct target *target, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, target->table, err);

	memset(p, 0, sizeof(*p));
	if (!rc && name.catalog &&
	    strcmp(name.catalog, bigquery_project(d->client)) != 0)
		rc = error_set(err, ERROR_CONFIG,
			       "table %s: the project is %s, not %s",
			       target->table, bigquery_project(d->client),
			       name.catalog);
	if (!rc)
		rc = place_fill(p, d, target, &name, err);
	table_name_release(&name);
	return rc;
}

void bigquery_place_release(struct bigquery_place *p)
{
	free(p->dataset);
	free(p->name);
	free(p->data);
	free(p->anew);
	free(p->quoted_name);
	free(p->quoted_data);
	free(p->quoted_anew);
	free(p->quoted_mark);
	memset(p, 0, sizeof(*p));
}

#include "connectors/postgres/indexes.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static const char indexes_sql[] =
	"SELECT i.indisprimary,\n"
	"  i.indisunique AND i.indimmediate AND i.indpred IS NULL\n"
	"    AND i.indexprs IS NULL,\n"
	"  m.amname = 'btree' AND i.indpred IS NULL,\n"
	"  json_agg(a.attname ORDER BY k.n)\n"
	"FROM pg_index i\n"
	"  JOIN pg_class x ON x.oid = i.indexrelid\n"
	"  JOIN pg_am m ON m.oid = x.relam\n"
	"  CROSS JOIN LATERAL unnest(i.indkey::int2[])\n"
	"    WITH ORDINALITY k(attnum, n)\n"
	"  LEFT JOIN pg_attribute a\n"
	"    ON a.attrelid = i.indrelid AND a.attnum = k.attnum\n"
	"WHERE i.indrelid = $1::oid AND i.indisvalid AND i.indisready\n"
	"  AND k.n <= i.indnkeyatts\n"
	"GROUP BY i.indexrelid, i.indisprimary, i.indisunique,\n"
	"  i.indimmediate, i.indpred, i.indexprs, m.amname\n"
	"ORDER BY i.indexrelid";

/* An expression has no name; a primary key has columns alone. */
static bool indexes_are_names(const json_t *columns)
{
	for (size_t i = 0; i < json_array_size(columns); i++)
		if (!json_is_string(json_array_get(columns, i)))
			return false;
	return true;
}

int postgres_source_indexes_find(struct pg *pg, uint32_t oid,
				 struct indexes *out, struct error *err)
{
	struct pg_result *r = NULL;
	char *text = xstrfmt("%u", oid);
	const char *params[] = { text };
	int rc = pg_query(pg, &r, indexes_sql, "tttt", 1, params, err);

	free(text);
	if (rc)
		return rc;
	out->n = (size_t)pg_rows(r);
	out->items = xcalloc(out->n ? out->n : 1, sizeof(*out->items));
	for (int i = 0; !rc && i < pg_rows(r); i++) {
		struct index_info *info = &out->items[i];
		info->primary = *pg_value(r, i, 0) == 't';
		info->unique = *pg_value(r, i, 1) == 't';
		info->ordered = *pg_value(r, i, 2) == 't';
		info->columns = json_loads(pg_value(r, i, 3), 0, NULL);
		if (info->primary && !indexes_are_names(info->columns))
			rc = pg_refuse_answer(
				pg, "the columns of the primary key", err);
	}
	pg_result_free(r);
	return rc;
}

void postgres_source_indexes_release(struct indexes *x)
{
	for (size_t i = 0; i < x->n; i++)
		json_decref(x->items[i].columns);
	free(x->items);
	memset(x, 0, sizeof(*x));
}

const json_t *postgres_source_indexes_primary(const struct indexes *x)
{
	for (size_t i = 0; i < x->n; i++) {
		if (x->items[i].primary)
			return x->items[i].columns;
	}
	return NULL;
}

bool postgres_source_indexes_unique_on(const struct indexes *x,
				       const char *column)
{
	for (size_t i = 0; i < x->n; i++) {
		const json_t *columns = x->items[i].columns;
		const char *name =
			json_string_value(json_array_get(columns, 0));
		if (x->items[i].unique && json_array_size(columns) == 1 &&
		    name && !strcmp(name, column))
			return true;
	}
	return false;
}

bool postgres_source_indexes_begin_with(const struct indexes *x,
					const char *column)
{
	for (size_t i = 0; i < x->n; i++) {
		const char *first = json_string_value(
			json_array_get(x->items[i].columns, 0));
		if (x->items[i].ordered && first && !strcmp(first, column))
			return true;
	}
	return false;
}

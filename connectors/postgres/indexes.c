#include "connectors/postgres/indexes.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/postgres/relation.h"
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
	"WHERE i.indrelid = " RELATION_OID "\n"
	"  AND i.indisvalid AND i.indisready\n"
	"  AND k.n <= i.indnkeyatts\n"
	"GROUP BY i.indexrelid, i.indisprimary, i.indisunique,\n"
	"  i.indimmediate, i.indpred, i.indexprs, m.amname\n"
	"ORDER BY i.indexrelid";

/* An expression has no name. False: a column of the primary key has none. */
static bool indexes_take(struct source_index *x, const char *text)
{
	json_t *columns = json_loads(text, 0, NULL);
	bool named = true;

	for (size_t i = 0; i < json_array_size(columns); i++) {
		const char *name =
			json_string_value(json_array_get(columns, i));
		strlist_add(&x->columns, name ? name : "");
		named &= name != NULL;
	}
	json_decref(columns);
	return named || !x->primary;
}

void postgres_source_indexes_ahead(struct pg *pg, uint32_t oid)
{
	postgres_source_relation_ask_ahead(pg, indexes_sql, oid);
}

int postgres_source_indexes_find(struct pg *pg, uint32_t oid,
				 struct source_layout *out, struct error *err)
{
	struct pg_result *r = NULL;
	char *text = xstrfmt("%u", oid);
	const char *params[] = { text };
	int rc = pg_query(pg, &r, indexes_sql, "tttt", 1, params, err);

	free(text);
	if (rc)
		return rc;
	out->n_indexes = (size_t)pg_rows(r);
	out->indexes = xcalloc(out->n_indexes ? out->n_indexes : 1,
			       sizeof(*out->indexes));
	for (int i = 0; !rc && i < pg_rows(r); i++) {
		struct source_index *x = &out->indexes[i];
		x->primary = *pg_value(r, i, 0) == 't';
		x->unique = *pg_value(r, i, 1) == 't';
		x->sorted = *pg_value(r, i, 2) == 't';
		if (!indexes_take(x, pg_value(r, i, 3)))
			rc = pg_refuse_answer(
				pg, "the columns of the primary key", err);
	}
	pg_result_free(r);
	return rc;
}

bool postgres_source_indexes_unique_on(const struct source_layout *l,
				       const char *column)
{
	for (size_t i = 0; i < l->n_indexes; i++) {
		const struct source_index *x = &l->indexes[i];
		if (x->unique && x->columns.n == 1 &&
		    !strcmp(x->columns.items[0], column))
			return true;
	}
	return false;
}

bool postgres_source_indexes_begin_with(const struct source_layout *l,
					const char *column)
{
	for (size_t i = 0; i < l->n_indexes; i++) {
		const struct source_index *x = &l->indexes[i];
		if (x->sorted && x->columns.n &&
		    !strcmp(x->columns.items[0], column))
			return true;
	}
	return false;
}

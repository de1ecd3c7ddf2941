#include "destinations/postgres/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "clients/pg_owned.h"
#include "clients/pg_shared.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "core/data/type_text.h"

#define OWNER_FAULT	 PG_OWNED_OWNER("c.relowner")
#define FUNCTION_IS_OURS PG_OWNED_IS_OURS("p.proowner")
#define REFERRER_IS_OURS PG_OWNED_IS_OURS("o.relowner")
/* Partitions and children: a statement reaches the rows and triggers of all. */
#define FAMILY                                                                 \
	"(WITH RECURSIVE family AS (SELECT c.oid AS id UNION\n"                \
	"     SELECT h.inhrelid FROM pg_inherits h\n"                          \
	"     JOIN family m ON h.inhparent = m.id) SELECT id FROM family)"

static const char relation_sql[] =
	"SELECT c.oid, c.relkind, c.relrowsecurity, c.relhasrules,\n"
	"  EXISTS (SELECT FROM pg_trigger g\n"
	"          WHERE g.tgrelid = c.oid AND NOT g.tgisinternal),\n"
	"  EXISTS (SELECT FROM pg_constraint f\n"
	"          WHERE f.confrelid = c.oid AND f.contype = 'f'),\n"
	"  EXISTS (SELECT FROM pg_publication_tables p\n"
	"          WHERE p.schemaname = n.nspname\n"
	"            AND p.tablename = c.relname),\n"
	"  has_table_privilege(c.oid, 'SELECT'),\n"
	"  has_table_privilege(c.oid, 'INSERT'),\n"
	"  has_table_privilege(c.oid, 'UPDATE'),\n"
	"  has_table_privilege(c.oid, 'DELETE'),\n"
	"  pg_has_role(c.relowner, 'USAGE'),\n"
	"  c.relhasrules OR c.relrowsecurity OR EXISTS (\n"
	"    SELECT FROM pg_trigger g\n"
	"    WHERE NOT g.tgisinternal\n"
	"      AND (g.tgrelid = c.oid OR g.tgrelid IN (\n"
	"        SELECT relid FROM pg_partition_tree(c.oid)))),\n"
	"  " POSTGRES_SIGNATURE ",\n"
	"  " OWNER_FAULT ",\n";

static const char code_sql[] =
	"  nullif(concat_ws(' and ',\n"
	"  (SELECT 'has triggers that run ' || string_agg(DISTINCT format(\n"
	"      '%s of role %I', p.oid::regprocedure,\n"
	"      pg_get_userbyid(p.proowner)), ', ')\n"
	"   FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid\n"
	"   WHERE NOT g.tgisinternal\n"
	"     AND g.tgrelid IN " FAMILY "\n"
	"     AND NOT " FUNCTION_IS_OURS "),\n"
	"  (SELECT 'is referenced by ' || string_agg(DISTINCT format(\n"
	"      'table %s of role %I', o.oid::regclass,\n"
	"      pg_get_userbyid(o.relowner)), ', ')\n"
	"   FROM pg_constraint f JOIN pg_class o ON o.oid = f.conrelid\n"
	"   WHERE f.confrelid IN " FAMILY " AND f.contype = 'f'\n"
	"     AND NOT " REFERRER_IS_OURS ")), ''),\n"
	"  set_config('" CATALOG_FOUND_SETTING "', c.oid::text, true)\n"
	"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"WHERE n.nspname = $1 AND c.relname = $2";

static const char columns_sql[] =
	"SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.atttypid,\n"
	"  CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END,\n"
	"  CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END,\n"
	"  coalesce(b.typtype, t.typtype),\n"
	"  a.attnotnull OR t.typnotnull, a.atthasdef OR a.attidentity <> '',\n"
	"  a.attgenerated <> '', a.attidentity = 'a',\n"
	"  coalesce(NOT l.collisdeterministic, false)\n"
	"FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid\n"
	"LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'\n"
	"LEFT JOIN pg_collation l ON l.oid = a.attcollation\n"
	"WHERE a.attrelid = " CATALOG_OID "\n"
	"  AND a.attnum > 0 AND NOT a.attisdropped\n"
	"ORDER BY a.attnum";

/* Unique indexes without predicate or expression, column by column, with the
 * equality operator of the column's operator class (btree strategy 3). */
static const char unique_sql[] =
	"SELECT i.indexrelid, i.indnkeyatts, a.attname,\n"
	"  quote_ident(n.nspname) || '.' || o.oprname\n"
	"FROM pg_index i\n"
	"CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[])\n"
	"  WITH ORDINALITY AS k(attnum, class, position)\n"
	"JOIN pg_attribute a ON a.attrelid = i.indrelid\n"
	"  AND a.attnum = k.attnum\n"
	"JOIN pg_opclass c ON c.oid = k.class\n"
	"JOIN pg_amop m ON m.amopfamily = c.opcfamily\n"
	"  AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype\n"
	"  AND m.amopstrategy = 3\n"
	"JOIN pg_operator o ON o.oid = m.amopopr\n"
	"JOIN pg_namespace n ON n.oid = o.oprnamespace\n"
	"WHERE i.indrelid = " CATALOG_OID "\n"
	"  AND i.indisunique AND i.indisvalid\n"
	"  AND i.indpred IS NULL AND i.indexprs IS NULL\n"
	"  AND k.position <= i.indnkeyatts\n"
	"ORDER BY i.indexrelid, k.position";

void postgres_catalog_table_init(struct catalog_table *t)
{
	*t = (struct catalog_table){ .exists = false };
}

void postgres_catalog_table_release(struct catalog_table *t)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		free(t->columns[i].name);
		free(t->columns[i].type.name);
	}
	free(t->columns);
	strlist_release(&t->operators);
	free(t->signature);
	free(t->owner_fault);
	free(t->code_fault);
	postgres_catalog_table_init(t);
}

static bool catalog_bool(const struct pg_result *r, int row, int column)
{
	const char *value = pg_value(r, row, column);

	return value && *value == 't';
}

static long catalog_number(const struct pg_result *r, int row, int column)
{
	const char *value = pg_value(r, row, column);

	return value ? strtol(value, NULL, 10) : 0;
}

static int catalog_relation(struct pg *pg, const char *schema_name,
			    const char *table, struct catalog_table *out,
			    struct error *err)
{
	const char *params[] = { schema_name, table };
	struct pg_result *r = NULL;
	char *sql = xstrfmt("%s%s", relation_sql, code_sql);
	int rc = pg_query(pg, &r, sql, "ttttttt????tt???t", 2, params, err);

	free(sql);
	if (rc || !pg_rows(r)) {
		pg_result_free(r);
		return rc;
	}
	out->exists = true;
	out->oid = (uint32_t)catalog_number(r, 0, 0);
	pg_ahead_know(pg, CATALOG_FOUND_LAST, pg_value(r, 0, 0));
	out->kind = *pg_value(r, 0, 1);
	out->row_security = catalog_bool(r, 0, 2);
	out->rules = catalog_bool(r, 0, 3);
	out->triggers = catalog_bool(r, 0, 4);
	out->referenced = catalog_bool(r, 0, 5);
	out->published = catalog_bool(r, 0, 6);
	out->may_read = catalog_bool(r, 0, 7);
	out->may_insert = catalog_bool(r, 0, 8);
	out->may_update = catalog_bool(r, 0, 9);
	out->may_delete = catalog_bool(r, 0, 10);
	out->is_owner = catalog_bool(r, 0, 11);
	out->filters = catalog_bool(r, 0, 12);
	out->signature = xstrdup(pg_value(r, 0, 13));
	out->owner_fault = xstrdup(pg_value(r, 0, 14));
	out->code_fault = xstrdup(pg_value(r, 0, 15));
	pg_result_free(r);
	return 0;
}

static int catalog_columns(struct pg *pg, const char *oid,
			   struct catalog_table *out, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, columns_sql, "ttttttttttt", 1, &oid, err);

	if (rc)
		return rc;
	out->n_columns = (size_t)pg_rows(r);
	out->columns = xcalloc(out->n_columns + 1, sizeof(*out->columns));
	for (int i = 0; i < pg_rows(r); i++)
		out->columns[i] = (struct catalog_column){
			.name = xstrdup(pg_value(r, i, 0)),
			.type = { .name = xstrdup(pg_value(r, i, 1)),
				  .oid = (uint32_t)catalog_number(r, i, 2),
				  .base = (uint32_t)catalog_number(r, i, 3),
				  .modifier = (int32_t)catalog_number(r, i, 4),
				  .kind = *pg_value(r, i, 5) },
			.not_null = catalog_bool(r, i, 6),
			.has_default = catalog_bool(r, i, 7),
			.generated = catalog_bool(r, i, 8),
			.identity_always = catalog_bool(r, i, 9),
			.folds = catalog_bool(r, i, 10),
		};
	pg_result_free(r);
	return 0;
}

/* Row of the index's rows [from, from + n) that is about `name`, or -1. */
static int catalog_index_column(const struct pg_result *r, int from, int n,
				const char *name)
{
	for (int i = from; i < from + n; i++)
		if (!strcmp(pg_value(r, i, 2), name))
			return i;
	return -1;
}

static bool catalog_take_index(const struct pg_result *r, int from, int n,
			       const struct schema *schema,
			       struct catalog_table *out)
{
	struct strlist operators = STRLIST_INIT;

	for (size_t i = 0; n == (int)schema->n_key && i < schema->n_key; i++) {
		const char *name = schema->columns[schema->key[i]].name;
		int at = catalog_index_column(r, from, n, name);

		if (at >= 0)
			strlist_add(&operators, pg_value(r, at, 3));
	}
	if (!schema->n_key || operators.n != schema->n_key) {
		strlist_release(&operators);
		return false;
	}
	strlist_release(&out->operators);
	out->operators = operators;
	return true;
}

static int catalog_unique(struct pg *pg, const char *oid,
			  const struct schema *schema,
			  struct catalog_table *out, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, unique_sql, "tttt", 1, &oid, err);

	for (int i = 0; !rc && i < pg_rows(r);) {
		long n = catalog_number(r, i, 1);

		if (n < 1 || n > pg_rows(r) - i)
			rc = pg_refuse_answer(pg, "rows of an index", err);
		else if (catalog_take_index(r, i, (int)n, schema, out))
			out->has_key = true;
		else
			out->other_unique = true;
		i += (int)n;
	}
	pg_result_free(r);
	return rc;
}

void postgres_catalog_ahead(struct pg *pg, const char *schema_name,
			    const char *table, const struct schema *schema)
{
	const char *params[] = { schema_name, table };
	const char *found[] = { CATALOG_FOUND_LAST };
	char *sql = xstrfmt("%s%s", relation_sql, code_sql);
	char *oid;

	pg_shared_allow(pg, true);
	oid = pg_ahead_add_known(pg, sql, 2, params, 0);
	if (oid)
		found[0] = oid;
	pg_ahead_add(pg, columns_sql, 1, found);
	if (schema)
		pg_ahead_add(pg, unique_sql, 1, found);
	pg_shared_allow(pg, false);
	free(sql);
	free(oid);
}

void postgres_catalog_relation_ahead(struct pg *pg, const char *schema_name,
				     const char *table)
{
	const char *params[] = { schema_name, table };
	char *sql = xstrfmt("%s%s", relation_sql, code_sql);

	pg_ahead_add(pg, sql, 2, params);
	free(sql);
}

int postgres_catalog_foresee(struct pg *pg, const char *const *schemas,
			     const char *const *tables, size_t n,
			     struct error *err)
{
	char *sql = xstrfmt("%s%s", relation_sql, code_sql);
	int rc;

	pg_many_begin(pg);
	for (size_t i = 0; i < n; i++)
		postgres_catalog_relation_ahead(pg, schemas[i], tables[i]);
	rc = pg_many_ask(pg, err);
	if (!rc)
		pg_many_begin(pg);
	for (size_t i = 0; !rc && i < n; i++) {
		const char *params[] = { schemas[i], tables[i] };
		char *oid = pg_ahead_add_known(pg, sql, 2, params, 0);
		const char *found[] = { oid };

		if (oid) {
			pg_ahead_add(pg, columns_sql, 1, found);
			pg_ahead_add(pg, unique_sql, 1, found);
		}
		free(oid);
	}
	free(sql);
	return rc ? rc : pg_many_ask(pg, err);
}

int postgres_catalog_read(struct pg *pg, const char *schema_name,
			  const char *table, const struct schema *schema,
			  struct catalog_table *out, struct error *err)
{
	char *oid = NULL;
	int rc;

	postgres_catalog_table_release(out);
	rc = catalog_relation(pg, schema_name, table, out, err);
	if (rc || !out->exists)
		return rc;
	oid = xstrfmt("%u", out->oid);
	rc = catalog_columns(pg, oid, out, err);
	if (!rc && schema)
		rc = catalog_unique(pg, oid, schema, out, err);
	free(oid);
	return rc;
}

const struct catalog_column *
postgres_catalog_find(const struct catalog_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (!strcmp(t->columns[i].name, name))
			return &t->columns[i];
	return NULL;
}

/* NULL: none, or not the name of a type. */
static char *catalog_native(const struct schema *schema, size_t column)
{
	const char *native = schema->columns[column].type.native;

	return native ? type_text_print(native, &type_text_postgres) : NULL;
}

/* Statements hold the name that was asked for, not the answer. */
static int catalog_take_type(struct pg *pg, const struct pg_result *r, int row,
			     const struct schema *schema,
			     struct sql_type *types, struct error *err)
{
	long column = catalog_number(r, row, 0);
	char *native = column < 0 || (size_t)column >= schema->n_columns ||
				       types[column].name
			       ? NULL
			       : catalog_native(schema, (size_t)column);

	if (!native)
		return pg_refuse_answer(pg, "the number of a column", err);
	types[column] = (struct sql_type){
		.name = native,
		.oid = (uint32_t)catalog_number(r, row, 1),
		.base = (uint32_t)catalog_number(r, row, 2),
		.modifier = -1,
		.kind = *pg_value(r, row, 3),
	};
	return 0;
}

/* One row for each native type name that is a type here. */
static void catalog_write_types(struct strbuf *sql, const struct schema *schema)
{
	strbuf_addstr(sql,
		      "SELECT v.i, t.oid,\n"
		      "  CASE t.typtype WHEN 'd' THEN t.typbasetype\n"
		      "    ELSE t.oid END, coalesce(b.typtype, t.typtype)\n"
		      "FROM (VALUES (-1, NULL)");
	for (size_t i = 0; i < schema->n_columns; i++) {
		char *native = catalog_native(schema, i);

		if (!native)
			continue;
		strbuf_addf(sql, ", (%zu, ", i);
		sql_quote_literal(sql, native);
		strbuf_addch(sql, ')');
		free(native);
	}
	strbuf_addstr(sql, ") AS v(i, name)\n"
			   "JOIN pg_type t ON t.oid = to_regtype(v.name)\n"
			   "LEFT JOIN pg_type b ON b.oid = t.typbasetype\n"
			   "  AND t.typtype = 'd'\n"
			   "WHERE t.typtype <> 'p'");
}

static int catalog_resolve(struct pg *pg, const struct schema *schema,
			   struct sql_type *types, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc;

	catalog_write_types(&sql, schema);
	rc = pg_query(pg, &r, sql.data, "tttt", 0, NULL, err);
	for (int i = 0; !rc && i < pg_rows(r); i++)
		rc = catalog_take_type(pg, r, i, schema, types, err);
	pg_result_free(r);
	strbuf_release(&sql);
	return rc;
}

static void catalog_begin_nulls(struct strbuf *sql)
{
	strbuf_addstr(sql, "SELECT NULL");
}

static void catalog_end_nulls(struct strbuf *sql)
{
	strbuf_addstr(sql, " WHERE false");
}

/* to_regtype() drops the modifier; the description of an answer has it. */
static int catalog_modifiers(struct pg *pg, const struct schema *schema,
			     struct sql_type *types, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc, field = 1;

	catalog_begin_nulls(&sql);
	for (size_t i = 0; i < schema->n_columns; i++)
		if (types[i].name)
			strbuf_addf(&sql, ", NULL::%s", types[i].name);
	catalog_end_nulls(&sql);
	rc = pg_query(pg, &r, sql.data, NULL, 0, NULL, err);
	for (size_t i = 0; !rc && i < schema->n_columns; i++)
		if (types[i].name && field < pg_columns(r))
			types[i].modifier = pg_modifier(r, field++);
	pg_result_free(r);
	strbuf_release(&sql);
	return rc;
}

/* The types that each server has are written without a schema. For others, the
 * first answer tells whether they are here. */
static void catalog_modifiers_ahead(struct pg *pg, const struct schema *schema)
{
	struct strbuf sql = STRBUF_INIT;
	bool known = true;

	catalog_begin_nulls(&sql);
	for (size_t i = 0; i < schema->n_columns; i++) {
		char *native = catalog_native(schema, i);

		if (native)
			strbuf_addf(&sql, ", NULL::%s", native);
		known &= !native || !strpbrk(native, ".\"");
		free(native);
	}
	catalog_end_nulls(&sql);
	if (known)
		pg_ahead_add(pg, sql.data, 0, NULL);
	strbuf_release(&sql);
}

static bool catalog_is_native(const struct schema *schema)
{
	return schema->engine && !strcmp(schema->engine, "postgres");
}

void postgres_catalog_wanted_ahead(struct pg *pg, const struct schema *schema)
{
	struct strbuf sql = STRBUF_INIT;

	if (!catalog_is_native(schema))
		return;
	catalog_write_types(&sql, schema);
	pg_ahead_add(pg, sql.data, 0, NULL);
	catalog_modifiers_ahead(pg, schema);
	strbuf_release(&sql);
}

int postgres_catalog_wanted(struct pg *pg, const struct schema *schema,
			    struct sql_type *types, enum mapping *mappings,
			    struct error *err)
{
	int rc = 0;

	if (catalog_is_native(schema)) {
		rc = catalog_resolve(pg, schema, types, err);
		if (!rc)
			rc = catalog_modifiers(pg, schema, types, err);
	}
	for (size_t i = 0; i < schema->n_columns; i++) {
		mappings[i] = MAPPING_EXACT;
		if (!types[i].name)
			mappings[i] = postgres_type_by_kind(
				&schema->columns[i].type, &types[i]);
	}
	return rc;
}

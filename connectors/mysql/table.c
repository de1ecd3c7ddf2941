#include <stdlib.h>
#include <string.h>

#include "connectors/common/names.h"
#include "connectors/mysql/catalog.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

static const char table_sql[] =
	"SELECT table_name, table_type, engine, table_rows, data_length,\n"
	"  create_time,\n"
	"  create_options LIKE '%partitioned%',\n"
	"  CASE WHEN table_type = 'VIEW' THEN (\n"
	"    SELECT view_definition FROM information_schema.views\n"
	"    WHERE table_schema = ? AND table_name = ?) END\n"
	"FROM information_schema.tables\n"
	"WHERE table_schema = ? AND table_name = ?";

static const char table_names_sql[] =
	"SELECT table_schema, table_name FROM information_schema.tables\n"
	"WHERE table_schema NOT IN ('mysql', 'information_schema',\n"
	"  'performance_schema', 'sys')\n"
	"ORDER BY table_name = ? DESC, 1, 2 LIMIT 10000";

static const char table_indexes_sql[] =
	"SELECT index_name, non_unique, sub_part, column_name, collation, %s\n"
	"FROM information_schema.statistics\n"
	"WHERE table_schema = ? AND table_name = ?\n"
	"  AND index_type IN ('BTREE', 'RTREE', 'HASH')\n"
	"ORDER BY index_name, seq_in_index";

#define TABLE_FIRST_IGNORED 100600

/* Prepared by SQL, which travels with other questions. */
#define TABLE_PROBE  "PREPARE tidemark_probe FROM ?"
#define TABLE_PROBED "DEALLOCATE PREPARE tidemark_probe"

static char *table_probe_sql(const char *table, const char *columns)
{
	return xstrfmt("SELECT %s FROM %s", columns, table);
}

/* Has it been prepared ahead, which is to say that it may be? */
static bool table_is_probed(struct mysql_client *db, const char *sql)
{
	struct strlist one = STRLIST_INIT;
	struct error ignored = ERROR_INIT;
	bool yes;

	mysql_client_foresee(db, &one, TABLE_PROBE, 1, &sql);
	yes = one.n && mysql_client_is_ahead(db, one.items[0]) &&
	      !mysql_client_exec(db, one.items[0], &ignored) &&
	      !mysql_client_exec(db, TABLE_PROBED, &ignored);
	strlist_release(&one);
	return yes;
}

int mysql_source_probe(struct mysql_client *db, const struct source_table *t,
		       const char *columns, struct error *err)
{
	char *sql = table_probe_sql(t->sql, columns);
	struct mysql_client_field *fields = NULL;
	struct error why = ERROR_INIT;
	size_t n = 0;
	int rc = 0;

	if (!table_is_probed(db, sql))
		rc = mysql_client_describe(db, sql, &fields, &n, NULL, &why);
	mysql_client_fields_free(fields, n);
	free(sql);
	if (rc && why.code != ERROR_SCHEMA)
		*err = why;
	return rc && why.code != ERROR_SCHEMA ? rc : 0;
}

static int table_refuse(struct mysql_client *db, const char *table,
			const struct table_name *name, struct error *err)
{
	struct mysql_client_result *r = NULL;
	struct strlist near = STRLIST_INIT;
	const char *params[] = { name->name };
	int rc = mysql_client_query(db, &r, table_names_sql, "tt", 1, params,
				    err);

	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++) {
		strlist_add(&near, mysql_client_value(r, i, 0));
		strlist_add(&near, mysql_client_value(r, i, 1));
	}
	if (!rc)
		rc = table_missing(table, name->schema, name->name, &near, err);
	mysql_client_result_free(r);
	strlist_release(&near);
	return rc;
}

/* schema.table, or table in the URL's database. */
static int table_parse(struct mysql_client *db, const char *table,
		       struct table_name *out, struct error *err)
{
	int rc = table_name_parse(out, table, err);

	if (rc)
		return rc;
	if (out->catalog)
		return error_set(
			err, ERROR_CONFIG,
			"table %s: a name in MySQL has two parts" ERROR_FIX
			", database.table",
			table);
	if (!out->schema && !*mysql_client_database(db))
		return error_set(err, ERROR_CONFIG,
				 "table %s" ERROR_FIX
				 ": write database.table, or name the "
				 "database in the URL",
				 table);
	if (!out->schema)
		out->schema = xstrdup(mysql_client_database(db));
	return 0;
}

static int64_t table_number(const char *text)
{
	return text ? strtoll(text, NULL, 10) : -1;
}

static void table_fill_names(struct source_table *t,
			     const struct table_name *name)
{
	struct strbuf sql = STRBUF_INIT, alias = STRBUF_INIT;

	t->schema = xstrdup(name->schema);
	t->name = xstrdup(name->name);
	table_name_quote(&sql, name, '`');
	sql_quote_name(&alias, name->name, '`');
	t->sql = strbuf_detach(&sql);
	t->alias = strbuf_detach(&alias);
}

static void table_fill(struct source_table *t,
		       const struct mysql_client_result *r)
{
	const char *flag = mysql_client_value(r, 0, 6);

	t->view = !mysql_client_value(r, 0, 2);
	t->engine = xstrdup(mysql_client_value(r, 0, 2));
	t->rows = table_number(mysql_client_value(r, 0, 3));
	t->bytes = table_number(mysql_client_value(r, 0, 4));
	t->created = xstrdup(mysql_client_value(r, 0, 5));
	t->definition = xstrdup(mysql_client_value(r, 0, 7));
	t->partitioned = flag && *flag == '1';
}

/* Indexes can be hidden from the optimizer; a hint that names one fails. */
static const char *table_index_is_usable(struct mysql_client *db)
{
	if (!mysql_client_is_mariadb(db))
		return "is_visible = 'YES'";
	return mysql_client_version(db) >= TABLE_FIRST_IGNORED
		       ? "ignored = 'NO'"
		       : "1";
}

static void table_foresee_layout(struct mysql_client *db,
				 const char *const params[4],
				 struct strlist *out)
{
	char *sql = xstrfmt(table_indexes_sql, table_index_is_usable(db));

	mysql_client_foresee(db, out, sql, 2, params);
	mysql_source_columns_foresee(db, params, out);
	free(sql);
}

static void table_foresee_probe(struct mysql_client *db,
				const struct source_table *t,
				struct strlist *out)
{
	char *sql = table_probe_sql(t->sql, "*");
	const char *params[] = { sql };

	mysql_client_foresee(db, out, TABLE_PROBE, 1, params);
	mysql_client_foresee(db, out, TABLE_PROBED, 0, NULL);
	free(sql);
}

int mysql_source_table_foresee(struct mysql_client *db, const char *table,
			       unsigned what, struct source_table *named,
			       struct strlist *out, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	struct source_table t;
	int rc = table_parse(db, table, &name, err);

	memset(&t, 0, sizeof(t));
	if (!rc) {
		const char *params[] = { name.schema, name.name, name.schema,
					 name.name };

		table_fill_names(&t, &name);
		mysql_client_foresee(db, out, table_sql, 4, params);
		if (what & TABLE_LAYOUT)
			table_foresee_layout(db, params, out);
		if (what & TABLE_WHOLE)
			table_foresee_probe(db, &t, out);
	}
	table_name_release(&name);
	if (named)
		*named = t;
	else
		source_table_release(&t);
	return rc;
}

int mysql_source_table_find(struct mysql_client *db, const char *table,
			    struct source_table *out, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	struct mysql_client_result *r = NULL;
	const char *params[4];
	bool found;
	int rc = table_parse(db, table, &name, err);

	memset(out, 0, sizeof(*out));
	if (rc)
		goto out;
	params[0] = params[2] = name.schema;
	params[1] = params[3] = name.name;
	rc = mysql_client_query(db, &r, table_sql, "tt??????", 4, params, err);
	if (rc)
		goto out;
	table_fill_names(out, &name);
	/* The catalog's comparison may ignore case. */
	found = mysql_client_rows(r) == 1 ||
		(mysql_client_rows(r) &&
		 !strcmp(mysql_client_value(r, 0, 0), name.name));
	if (found)
		table_fill(out, r);
	else
		rc = mysql_source_probe(db, out, "1", err);
	if (!rc && !found)
		rc = table_refuse(db, table, &name, err);
out:
	if (rc)
		source_table_release(out);
	mysql_client_result_free(r);
	table_name_release(&name);
	return rc;
}

int mysql_source_indexes_find(struct mysql_client *db, struct source_layout *l,
			      struct error *err)
{
	const char *params[] = { l->table.schema, l->table.name };
	struct mysql_client_result *r = NULL;
	struct source_index *x = NULL;
	const char *last = "";
	char *sql = xstrfmt(table_indexes_sql, table_index_is_usable(db));
	int rc = mysql_client_query(db, &r, sql, "tt???t", 2, params, err);

	free(sql);
	if (rc)
		return rc;
	l->indexes = xcalloc(mysql_client_rows(r) + 1, sizeof(*l->indexes));
	for (size_t i = 0; i < mysql_client_rows(r); i++) {
		const char *name = mysql_client_value(r, i, 0);
		const char *column = mysql_client_value(r, i, 3);
		const char *order = mysql_client_value(r, i, 4);
		if (!x || strcmp(name, last) != 0) {
			x = &l->indexes[l->n_indexes++];
			x->name = xstrdup(name);
			x->sorted = *mysql_client_value(r, i, 5) == '1';
			x->primary = !strcmp(name, "PRIMARY");
			x->unique = *mysql_client_value(r, i, 1) == '0';
			last = name;
		}
		x->sorted &= order && *order == 'A';
		/* A prefix is no order of the whole; unique it still is. */
		strlist_add(&x->columns, column && !mysql_client_value(r, i, 2)
						 ? column
						 : "");
	}
	mysql_client_result_free(r);
	return 0;
}

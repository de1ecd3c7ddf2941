#include "destinations/mysql/catalog.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"

static const char relation_sql[] =
	"SELECT table_type, COALESCE(engine, ''),\n"
	"  (SELECT COUNT(*) FROM information_schema.triggers\n"
	"   WHERE event_object_schema = ? AND event_object_table = ?),\n"
	"  (SELECT MIN(CONCAT(constraint_schema, '.', table_name))\n"
	"   FROM information_schema.referential_constraints\n"
	"   WHERE unique_constraint_schema = ? AND referenced_table_name = "
	"?),\n"
	"  (SELECT COUNT(*) FROM information_schema.referential_constraints\n"
	"   WHERE constraint_schema = ? AND table_name = ?)\n"
	"FROM information_schema.tables\n"
	"WHERE table_schema = ? AND table_name = ?";

static const char columns_sql[] =
	"SELECT column_name, data_type, column_type, is_nullable,\n"
	"  column_default, extra, character_set_name,\n"
	"  collation_name, character_maximum_length, numeric_precision,\n"
	"  numeric_scale, datetime_precision\n"
	"FROM information_schema.columns\n"
	"WHERE table_schema = ? AND table_name = ?\n"
	"ORDER BY ordinal_position";

static const char unique_sql[] =
	"SELECT index_name, column_name, sub_part\n"
	"FROM information_schema.statistics\n"
	"WHERE table_schema = ? AND table_name = ? AND non_unique = 0\n"
	"ORDER BY index_name, seq_in_index";

void mysql_target_catalog_release(struct catalog_table *t)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		struct catalog_column *c = &t->columns[i];

		free(c->name);
		mysql_target_type_release(&c->type);
		free(c->charset);
		free(c->collation);
		free(c->default_text);
		free(c->clause);
	}
	free(t->columns);
	free(t->engine);
	free(t->referenced_by);
	memset(t, 0, sizeof(*t));
}

static int64_t catalog_number(const struct mysql_client_result *r, size_t row,
			      size_t column)
{
	const char *text = mysql_client_value(r, row, column);

	return text ? strtoll(text, NULL, 10) : -1;
}

static char *catalog_text(const struct mysql_client_result *r, size_t row,
			  size_t column)
{
	const char *text = mysql_client_value(r, row, column);

	return xstrdup(text ? text : "");
}

void mysql_target_catalog_foresee(struct mysql_client *db, const char *database,
				  const char *table, struct strlist *out)
{
	const char *params[] = { database, table, database, table,
				 database, table, database, table };

	mysql_client_foresee(db, out, relation_sql, ARRAY_SIZE(params), params);
	mysql_client_foresee(db, out, columns_sql, 2, params);
	mysql_client_foresee(db, out, unique_sql, 2, params);
}

static int catalog_relation(struct mysql_client *db, const char *database,
			    const char *table, struct catalog_table *out,
			    struct error *err)
{
	const char *params[] = { database, table, database, table,
				 database, table, database, table };
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, relation_sql, "ttt?t",
				    ARRAY_SIZE(params), params, err);

	if (!rc && mysql_client_rows(r)) {
		const char *kind = mysql_client_value(r, 0, 0);

		out->exists = true;
		out->is_view = strstr(kind, "VIEW") != NULL;
		out->plain = !strcmp(kind, "BASE TABLE") ||
			     !strcmp(kind, "SYSTEM VERSIONED");
		out->engine = catalog_text(r, 0, 1);
		out->triggers = catalog_number(r, 0, 2) > 0;
		out->referenced_by = xstrdup(mysql_client_value(r, 0, 3));
		out->references = catalog_number(r, 0, 4) > 0;
	}
	mysql_client_result_free(r);
	return rc;
}

/* MariaDB writes the default NULL as a word. */
static char *catalog_default(const struct mysql_client_result *r, size_t row,
			     bool not_null)
{
	const char *text = mysql_client_value(r, row, 4);

	return text && (not_null || strcmp(text, "NULL") != 0) ? xstrdup(text)
							       : NULL;
}

static void catalog_column(struct catalog_column *c,
			   const struct mysql_client_result *r, size_t row)
{
	const char *extra = mysql_client_value(r, row, 5);

	c->name = catalog_text(r, row, 0);
	mysql_target_type_read(
		&c->type, mysql_client_value(r, row, 1),
		mysql_client_value(r, row, 2), catalog_number(r, row, 8),
		catalog_number(r, row, 9), catalog_number(r, row, 10),
		catalog_number(r, row, 11));
	c->not_null = *mysql_client_value(r, row, 3) == 'N';
	c->default_text = catalog_default(r, row, c->not_null);
	c->generated = strstr(extra, " GENERATED") != NULL;
	c->auto_increment = strcasestr(extra, "auto_increment") != NULL;
	c->renewed = strcasestr(extra, "on update") != NULL;
	c->charset = catalog_text(r, row, 6);
	c->collation = catalog_text(r, row, 7);
}

static int catalog_columns(struct mysql_client *db, const char *const params[2],
			   struct catalog_table *out, struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, columns_sql, "tttt?t??????", 2,
				    params, err);

	if (rc)
		return rc;
	out->n_columns = mysql_client_rows(r);
	out->columns = xcalloc(out->n_columns + 1, sizeof(*out->columns));
	for (size_t i = 0; i < out->n_columns; i++)
		catalog_column(&out->columns[i], r, i);
	mysql_client_result_free(r);
	return 0;
}

static bool catalog_is_key(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->n_key; i++)
		if (!strcasecmp(s->columns[s->key[i]].name, name))
			return true;
	return false;
}

/* Rows [from, from + n) are one index. */
static void catalog_index(struct catalog_table *out, const struct schema *s,
			  const struct mysql_client_result *r, size_t from,
			  size_t n)
{
	bool key = n == s->n_key;

	for (size_t i = from; i < from + n; i++) {
		const char *name = mysql_client_value(r, i, 1);

		if (!name || mysql_client_value(r, i, 2) ||
		    !catalog_is_key(s, name))
			key = false;
	}
	if (key)
		out->has_key = true;
	else
		out->other_unique = true;
}

static int catalog_unique(struct mysql_client *db, const char *const params[2],
			  const struct schema *s, struct catalog_table *out,
			  struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, unique_sql, "t??", 2, params, err);
	size_t n;

	for (size_t i = 0; !rc && i < mysql_client_rows(r); i += n) {
		n = 1;
		while (i + n < mysql_client_rows(r) &&
		       !strcmp(mysql_client_value(r, i, 0),
			       mysql_client_value(r, i + n, 0)))
			n++;
		catalog_index(out, s, r, i, n);
	}
	mysql_client_result_free(r);
	return rc;
}

static size_t catalog_type_length(const char *text)
{
	bool quoted = false;
	size_t n = 0;
	int depth = 0;

	for (; text[n] && (depth || quoted || !strchr(" ,\n", text[n])); n++) {
		quoted ^= text[n] == '\'';
		if (!quoted)
			depth += (text[n] == '(') - (text[n] == ')');
	}
	while (!strncmp(text + n, " unsigned", 9) ||
	       !strncmp(text + n, " zerofill", 9))
		n += 9;
	return n;
}

/* A column is a line of SHOW CREATE TABLE: "  `name` type ...,". */
static void catalog_clause(struct catalog_column *c, const char *create)
{
	struct strbuf start = STRBUF_INIT;
	const char *at;
	size_t n;

	strbuf_addstr(&start, "\n  ");
	sql_quote_name(&start, c->name, '`');
	strbuf_addch(&start, ' ');
	at = strstr(create, start.data);
	if (at) {
		at += start.len;
		at += catalog_type_length(at);
		n = strcspn(at, "\n");
		if (n && at[n - 1] == ',')
			n--;
		free(c->clause);
		c->clause = xstrndup(at, n);
	}
	strbuf_release(&start);
}

int mysql_target_catalog_clauses(struct mysql_client *db, const char *table,
				 struct catalog_table *t, struct error *err)
{
	char *sql = xstrfmt("SHOW CREATE TABLE %s", table);
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, sql, "1tt", 0, NULL, err);

	for (size_t i = 0; !rc && i < t->n_columns; i++)
		catalog_clause(&t->columns[i], mysql_client_value(r, 0, 1));
	for (size_t i = 0; !rc && i < t->n_columns; i++)
		if (!t->columns[i].clause)
			rc = error_set(err, ERROR_SCHEMA,
				       "SHOW CREATE TABLE %s says nothing of "
				       "column %s: alter it by hand",
				       table, t->columns[i].name);
	mysql_client_result_free(r);
	free(sql);
	return rc;
}

int mysql_target_catalog_read(struct mysql_client *db, const char *database,
			      const char *table, const struct schema *schema,
			      struct catalog_table *out, struct error *err)
{
	const char *params[2] = { database, table };
	int rc;

	mysql_target_catalog_release(out);
	rc = catalog_relation(db, database, table, out, err);
	if (!rc && out->exists)
		rc = catalog_columns(db, params, out, err);
	/* MariaDB says nothing of a KILL QUERY in the middle of its catalog. */
	if (!rc && out->exists && *out->engine && !out->n_columns)
		rc = error_set(err, ERROR_TRANSIENT,
			       "the server shows none of its columns, as if "
			       "the question had been ended in the middle");
	if (!rc && out->exists && schema)
		rc = catalog_unique(db, params, schema, out, err);
	return rc;
}

const struct catalog_column *
mysql_target_catalog_find(const struct catalog_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (!strcasecmp(t->columns[i].name, name))
			return &t->columns[i];
	return NULL;
}

bool mysql_target_catalog_is_exact(const struct catalog_column *c)
{
	size_t n = strlen(c->collation);

	return !n || !strcmp(c->collation, "binary") ||
	       !strcmp(c->collation, "utf8mb4_0900_bin") ||
	       (n > 10 && !strcmp(c->collation + n - 10, "_nopad_bin"));
}

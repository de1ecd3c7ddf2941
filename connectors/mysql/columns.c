#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/common/tick.h"
#include "connectors/common/trouble.h"
#include "connectors/mysql/catalog.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* MariaDB keeps JSON as text with a check. It looks checks up by the two names
 * only if these come from parameters. With columns of another table it would
 * open all tables there are. */
static const char columns_mariadb_sql[] =
	"SELECT c.column_name, c.data_type, c.column_type, c.is_nullable,\n"
	"  c.numeric_precision, c.numeric_scale, c.datetime_precision,\n"
	"  c.character_maximum_length, c.character_set_name,\n"
	"  k.check_clause IS NOT NULL,\n"
	"  COALESCE(c.generation_expression, c.column_default)\n"
	"FROM information_schema.columns c LEFT JOIN (\n"
	"  SELECT DISTINCT check_clause\n"
	"  FROM information_schema.check_constraints\n"
	"  WHERE constraint_schema = ? AND table_name = ?) k\n"
	"  ON k.check_clause = CONCAT('json_valid(`', c.column_name, '`)')\n"
	"WHERE c.table_schema = ? AND c.table_name = ?\n"
	"ORDER BY c.ordinal_position";

static const char columns_mysql_sql[] =
	"SELECT column_name, data_type, column_type, is_nullable,\n"
	"  numeric_precision, numeric_scale, datetime_precision,\n"
	"  character_maximum_length, character_set_name, 0,\n"
	"  CASE WHEN extra LIKE '%DEFAULT_GENERATED%' THEN column_default\n"
	"    ELSE NULLIF(generation_expression, '') END\n"
	"FROM information_schema.columns\n"
	"WHERE table_schema = ? AND table_name = ?\n"
	"ORDER BY ordinal_position";

static const char *const columns_plain[] = {
	"ifnull",	 "if",	    "current_timestamp",
	"localtime",	 "sysdate", "localtimestamp",
	"utc_timestamp", NULL,
};

bool mysql_source_computed_is_plain(const struct source_column *c)
{
	return tick_is_plain(c->computed, &c->type, columns_plain);
}

/* 0, too, where the server tells what no int holds. */
static int columns_number(const char *text)
{
	long n = text ? strtol(text, NULL, 10) : 0;

	return n > 0 && n <= INT_MAX ? (int)n : 0;
}

static void columns_set_type(struct source_column *c,
			     const struct mysql_source_type *how)
{
	c->how = how;
	c->ordered = how->order != ORDER_NONE;
	c->type = (struct type){ .kind = how->kind };
}

/* Take precision and the like from the catalog. */
static void columns_describe(struct source_column *c,
			     const struct mysql_client_result *r, size_t row)
{
	const char *limit = mysql_client_value(r, row, 7);
	const char *name = mysql_source_how(c)->name;
	bool sized =
		name && (!strcmp(name, "char") || !strcmp(name, "varchar") ||
			 !strcmp(name, "binary") || !strcmp(name, "varbinary"));

	switch (c->type.kind) {
	case TYPE_TEXT:
	case TYPE_BYTES:
		if (sized)
			c->type.precision = columns_number(limit);
		break;
	default:
		mysql_source_type_set_digits(
			&c->type, columns_number(mysql_client_value(r, row, 4)),
			columns_number(mysql_client_value(r, row, 5)),
			columns_number(mysql_client_value(r, row, 6)));
	}
	c->type.native = xstrdup(mysql_client_value(r, row, 2));
}

static const struct mysql_source_type *
columns_type(const struct mysql_client_result *r, size_t row)
{
	const char *type = mysql_client_value(r, row, 1);
	const char *whole = mysql_client_value(r, row, 2);

	if (!strcmp(type, "bit"))
		return mysql_source_type_bits(
			columns_number(mysql_client_value(r, row, 4)));
	if (*mysql_client_value(r, row, 9) == '1')
		return mysql_source_type_find("json", false);
	return mysql_source_type_find(type, strstr(whole, " unsigned") != NULL);
}

/* Is `charset` one of these? */
static bool columns_among(const char *charset, const char *const *names)
{
	while (*names && strcmp(charset, *names) != 0)
		names++;
	return *names;
}

/* The server puts "?" for a code that the character set leaves open, and for
 * TIS-620 a U+FFFD. If the result has more of those than the column holds, the
 * query gives 0xFF instead, which is no text, so that we refuse it. Comparing
 * the way there and back would refuse good texts, since some sets have a
 * character twice. */
static char *columns_converted(const char *sql, bool has_fffd)
{
	char *text = xstrfmt("CONVERT(%s USING utf8mb4)", sql);
	char *output = xstrfmt(
		"CASE WHEN CHAR_LENGTH(%s) - CHAR_LENGTH(REPLACE(%s, '?', ''))"
		" <> CHAR_LENGTH(%s) - CHAR_LENGTH(REPLACE(%s, '?', ''))"
		" OR %s LOCATE(_utf8mb4 X'EFBFBD', %s) > 0"
		" OR (%s IS NULL) <> (%s IS NULL)"
		" THEN X'FF' ELSE CAST(%s AS BINARY) END",
		text, text, sql, sql, has_fffd ? "0 *" : "", text, text, sql,
		text);

	free(text);
	return output;
}

/* Bytes that are not valid in utf8mb3 or ascii are read as they are, and
 * checked here. The server would turn them into "?", on MariaDB 10.11 even
 * under a CAST AS BINARY. A type that we do not know is read as the server's
 * text. The library does not know VECTOR. */
static char *columns_output(const struct source_column *c, const char *charset)
{
	static const char *const raw[] = { "utf8", "utf8mb3", "ascii", NULL };
	static const char *const whole[] = { "utf8mb4", "latin1",  "ucs2",
					     "utf16",	"utf16le", "utf32",
					     "binary",	NULL };
	const char *name = mysql_source_how(c)->name;

	if (c->type.kind == TYPE_NATIVE)
		return xstrfmt("CAST(%s AS CHAR)", c->sql);
	if (name && !strcmp(name, "vector"))
		return xstrfmt("CAST(%s AS BINARY)", c->sql);
	if (!charset || columns_among(charset, whole))
		return xstrdup(c->sql);
	if (columns_among(charset, raw))
		return xstrfmt("CONVERT(%s USING binary)", c->sql);
	return columns_converted(c->sql, !strcmp(charset, "gb18030"));
}

static void columns_fill(struct source_column *c, const struct source_table *t,
			 const struct mysql_client_result *r, size_t row)
{
	struct strbuf sql = STRBUF_INIT;

	c->name = xstrdup(mysql_client_value(r, row, 0));
	strbuf_addf(&sql, "%s.", t->alias);
	sql_quote_name(&sql, c->name, '`');
	c->sql = strbuf_detach(&sql);
	columns_set_type(c, columns_type(r, row));
	columns_describe(c, r, row);
	c->output = columns_output(c, mysql_client_value(r, row, 8));
	c->nullable = *mysql_client_value(r, row, 3) == 'Y';
	c->computed = xstrdup(mysql_client_value(r, row, 10));
}

static void columns_fill_expression(struct source_column *c,
				    const struct source_expression *e,
				    const struct mysql_client_field *f)
{
	source_column_express(c, e);
	c->output = xstrdup(c->sql);
	columns_set_type(c, mysql_source_type_of_field(f));
	mysql_source_type_digits(f, &c->type);
	c->type.native = xstrdup(
		mysql_source_how(c)->name ? mysql_source_how(c)->name : "text");
	c->nullable = f->nullable;
}

/* The user's SQL ends at a line's end, so that a comment in it cannot swallow
 * the next part. */
static int columns_probe(struct mysql_client *db, const struct source_table *t,
			 const struct source_expression *e,
			 size_t n_expressions, const char *where,
			 struct mysql_client_field **fields, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	unsigned long parameters = 0;
	size_t n = 0;
	int rc;

	strbuf_addstr(&sql, "SELECT 1");
	for (size_t i = 0; i < n_expressions; i++)
		strbuf_addf(&sql, ", (%s\n)", e[i].sql);
	strbuf_addf(&sql, " FROM %s AS %s", t->sql, t->alias);
	if (where)
		strbuf_addf(&sql, " WHERE (%s\n)", where);
	rc = mysql_client_describe(db, sql.data, fields, &n, &parameters, err);
	strbuf_release(&sql);
	if (!rc && (parameters || n != n_expressions + 1)) {
		mysql_client_fields_free(*fields, n);
		*fields = NULL;
		rc = error_set(err, ERROR_CONFIG,
			       parameters ? "a \"?\" outside of quotes"
					  : "it gives more than one column");
	}
	return rc;
}

/* Find the key of the config that holds the failing SQL. */
static int columns_blame(struct mysql_client *db, const struct source_table *t,
			 const struct source_spec *source,
			 const struct error *first, struct error *err)
{
	struct error why = *first;
	char *key =
		xstrdup(source->where ? "source.where" : "source.expressions");
	bool found = false;

	for (size_t i = 0; !found && i < source->n_expressions; i++) {
		struct mysql_client_field *fields = NULL;
		struct error one = ERROR_INIT;
		found = columns_probe(db, t, &source->expressions[i], 1, NULL,
				      &fields, &one) != 0;
		mysql_client_fields_free(fields, found ? 0 : 2);
		if (!found)
			continue;
		why = one;
		free(key);
		key = xstrfmt("source.expressions.%s",
			      source->expressions[i].name);
	}
	refuse_sql(key, &why, err);
	free(key);
	return -(int)err->code;
}

void mysql_source_columns_foresee(struct mysql_client *db,
				  const char *const params[4],
				  struct strlist *out)
{
	bool mariadb = mysql_client_is_mariadb(db);

	mysql_client_foresee(db, out,
			     mariadb ? columns_mariadb_sql : columns_mysql_sql,
			     mariadb ? 4 : 2, params);
}

int mysql_source_columns_read(struct mysql_client *db,
			      const struct source_spec *source,
			      struct source_layout *l, struct error *err)
{
	const char *params[] = { l->table.schema, l->table.name,
				 l->table.schema, l->table.name };
	struct mysql_client_field *fields = NULL;
	struct mysql_client_result *r = NULL;
	struct error why = ERROR_INIT;
	size_t n = source->n_expressions, own;
	bool mariadb = mysql_client_is_mariadb(db);
	int rc = 0;

	if (n || source->where)
		rc = columns_probe(db, &l->table, source->expressions, n,
				   source->where, &fields, &why);
	if (rc)
		return columns_blame(db, &l->table, source, &why, err);
	rc = mysql_client_query(
		db, &r, mariadb ? columns_mariadb_sql : columns_mysql_sql,
		"tttt?????t?", mariadb ? 4 : 2, params, err);
	if (rc)
		goto out;
	own = mysql_client_rows(r);
	l->all = xcalloc(own + n + 1, sizeof(*l->all));
	for (size_t i = 0; i < own; i++)
		columns_fill(&l->all[l->n_all++], &l->table, r, i);
	for (size_t i = 0; fields && i < n; i++)
		columns_fill_expression(&l->all[l->n_all++],
					&source->expressions[i],
					&fields[i + 1]);
out:
	mysql_client_result_free(r);
	mysql_client_fields_free(fields, fields ? n + 1 : 0);
	return rc;
}

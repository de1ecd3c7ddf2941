#include "clients/mysql_explain.h"

#include <stdlib.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* Columns of EXPLAIN: MySQL has `partitions` and `filtered` beside MariaDB's
 * id, select_type, table, type, possible_keys, key, key_len, ref, rows,
 * Extra. */
#define EXPLAIN_MARIADB_COLUMNS 10

struct explain_columns {
	size_t table, type, key, rows;
};

static struct explain_columns
explain_columns(const struct mysql_client_result *r)
{
	size_t more = mysql_client_columns(r) > EXPLAIN_MARIADB_COLUMNS;

	return (struct explain_columns){ 2, 3 + more, 5 + more, 8 + more };
}

static const char *explain_cell(const struct mysql_client_result *r, size_t row,
				size_t column)
{
	const char *text = mysql_client_value(r, row, column);

	return text ? text : "-";
}

int mysql_client_explain(struct mysql_client *db, const char *sql, int n,
			 const char *const *params, const char *alias,
			 char **plan, char **index, struct error *err)
{
	struct strbuf lines = STRBUF_INIT;
	struct mysql_client_result *r = NULL;
	/* MySQL 9 has taken to trees. */
	char *text = xstrfmt(
		"EXPLAIN %s%s",
		mysql_client_is_mariadb(db) ? "" : "FORMAT=TRADITIONAL ", sql);
	int rc = mysql_client_query_user(db, &r, text, NULL, n, params, err);

	*plan = *index = NULL;
	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++) {
		struct explain_columns at = explain_columns(r);
		const char *table = explain_cell(r, i, at.table);

		strbuf_addf(&lines, "%s%s: %s, key %s, about %s rows",
			    i ? "\n" : "", table, explain_cell(r, i, at.type),
			    explain_cell(r, i, at.key),
			    explain_cell(r, i, at.rows));
		if (!*index && (alias ? !strcasecmp(table, alias) : !i))
			*index = xstrdup(mysql_client_value(r, i, at.key));
	}
	if (!rc)
		*plan = strbuf_detach(&lines);
	strbuf_release(&lines);
	mysql_client_result_free(r);
	free(text);
	return rc;
}

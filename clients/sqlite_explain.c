#include "clients/sqlite_explain.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

#define EXPLAIN_DETAIL 3 /* id, parent, notused, detail */

/* "SEARCH t USING COVERING INDEX orders_key (id=?)" */
static char *explain_index(const char *detail)
{
	static const char index[] = "INDEX ", rowid[] = "INTEGER PRIMARY KEY";
	const char *using = strstr(detail, " USING ");
	const char *at = using ? strstr(using, index) : NULL;
	const char *end;

	if (at) {
		at += strlen(index);
		end = strstr(at, " (");
		return xstrndup(at, end ? (size_t)(end - at) : strlen(at));
	}
	return using && strstr(using, rowid) ? xstrdup(rowid) : NULL;
}

int sqlite_explain(struct sqlite *db, const char *sql, char **plan,
		   char **index, struct error *err)
{
	struct sqlite_statement *st = NULL;
	struct strbuf lines = STRBUF_INIT;
	char *text = xstrfmt("EXPLAIN QUERY PLAN %s", sql);
	int rc = sqlite_prepare(db, &st, text, err);

	*plan = *index = NULL;
	while (!rc && (rc = sqlite_step(st, err)) == 1) {
		const char *detail = sqlite_str(st, EXPLAIN_DETAIL);

		strbuf_addf(&lines, "%s%s", lines.len ? "\n" : "", detail);
		if (!*index)
			*index = explain_index(detail);
		rc = 0;
	}
	if (!rc)
		*plan = strbuf_detach(&lines);
	strbuf_release(&lines);
	sqlite_finalize(st);
	free(text);
	return rc;
}

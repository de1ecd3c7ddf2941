#include "connectors/mysql/ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/number.h"
#include "core/data/table_name.h"

/* An expression has no name in the catalog, so no sequence gives its ids. */
static void ids_write_sql(const struct mysql_source *c, struct strbuf *sql)
{
	const struct source_table *t = &c->paged.layout.table;
	const struct source_column *mark = source_mark(&c->paged.layout);

	strbuf_addf(sql,
		    "SELECT (SELECT max(%s) FROM %s AS %s),\n"
		    "  @@GLOBAL.auto_increment_increment,\n"
		    "  (SELECT max(extra LIKE '%%auto_increment%%')\n"
		    "    FROM information_schema.columns\n"
		    "    WHERE table_schema = ",
		    mark->sql, t->sql, t->alias);
	mysql_client_quote(sql, t->schema);
	strbuf_addstr(sql, " AND table_name = ");
	mysql_client_quote(sql, t->name);
	strbuf_addstr(sql, " AND column_name = ");
	mysql_client_quote(sql, mark->expression ? "" : mark->name);
	strbuf_addstr(sql, "),\n"
			   "  (SELECT auto_increment FROM "
			   "information_schema.tables\n"
			   "    WHERE table_schema = ");
	mysql_client_quote(sql, t->schema);
	strbuf_addstr(sql, " AND table_name = ");
	mysql_client_quote(sql, t->name);
	strbuf_addstr(sql, ")");
}

void mysql_source_ids_foresee(const struct mysql_source *c, struct strlist *out)
{
	struct strbuf sql = STRBUF_INIT;

	ids_write_sql(c, &sql);
	mysql_client_foresee(c->db, out, sql.data, 0, NULL);
	strbuf_release(&sql);
}

int mysql_source_ids_read(struct mysql_source *c, struct mysql_source_ids *out,
			  struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct mysql_client_result *r = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	ids_write_sql(c, &sql);
	rc = mysql_client_query(c->db, &r, sql.data, "1?t??", 0, NULL, err);
	strbuf_release(&sql);
	if (!rc) {
		const char *given = mysql_client_value(r, 0, 2);
		out->greatest = xstrdup(mysql_client_value(r, 0, 0));
		out->step = strtoll(mysql_client_value(r, 0, 1), NULL, 10);
		const char *next = mysql_client_value(r, 0, 3);
		out->given = given && *given == '1';
		out->spent = next && out->greatest &&
			     !number_is_greater(next, out->greatest);
	}
	mysql_client_result_free(r);
	return rc;
}

void mysql_source_ids_release(struct mysql_source_ids *ids)
{
	free(ids->greatest);
	memset(ids, 0, sizeof(*ids));
}

static bool ids_are_unique(const struct source_layout *l)
{
	const char *name = source_mark(l)->name;

	for (size_t i = 0; i < l->n_indexes; i++) {
		const struct source_index *x = &l->indexes[i];
		if (x->unique && x->columns.n == 1 &&
		    !strcmp(x->columns.items[0], name))
			return true;
	}
	return false;
}

void mysql_source_ids_doubt(const struct mysql_source *c,
			    const struct mysql_source_ids *ids,
			    struct mysql_source_ids_doubt *out)
{
	const struct source_layout *l = &c->paged.layout;
	const char *column = source_mark(l)->name;

	memset(out, 0, sizeof(*out));
	if (!ids->given) {
		out->code = "ids-not-from-sequence";
		out->reason = xstrfmt("\"%s\" is not AUTO_INCREMENT, so an "
				      "application may use an id that the "
				      "mark has passed",
				      column);
		out->fix = xstrdup("set watermark.lag to more ids than writers "
				   "hold back, or use strategy timestamp");
	} else if (!ids_are_unique(l)) {
		struct strbuf fix = STRBUF_INIT;
		out->code = "mark-not-unique";
		out->reason = xstrfmt("no unique index is on \"%s\" alone, so "
				      "a row may come later with an id that "
				      "the mark has passed",
				      column);
		strbuf_addf(&fix, "ALTER TABLE %s ADD UNIQUE INDEX (",
			    l->table.sql);
		sql_quote_name(&fix, column, '`');
		strbuf_addch(&fix, ')');
		out->fix = strbuf_detach(&fix);
	} else if (ids->spent) {
		out->code = "sequence-spent";
		out->reason = xstrfmt("AUTO_INCREMENT has given out the last "
				      "id that the type of \"%s\" has, and "
				      "gives it again once its row is deleted",
				      column);
		out->fix = xstrfmt("ALTER TABLE %s MODIFY the column to a "
				   "wider type",
				   l->table.sql);
	} else if (ids->step != 1) {
		out->code = "sequence-increment";
		out->reason = xstrfmt("auto_increment_increment is %" PRId64
				      ": another server or an application "
				      "may use the ids between two steps late",
				      ids->step);
		out->fix = xstrfmt("SET GLOBAL auto_increment_increment = 1, "
				   "or set watermark.lag to %" PRId64
				   " times the sessions that write",
				   ids->step);
	}
}

void mysql_source_ids_doubt_release(struct mysql_source_ids_doubt *d)
{
	free(d->reason);
	free(d->fix);
	memset(d, 0, sizeof(*d));
}

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/mysql/internal.h"

#define ERRNO_REPEATED 1062

/* "... no right to": a database, a table, a column. */
static bool blame_is_right(const struct error *err)
{
	return mysql_client_failed_with(err, 1044) ||
	       mysql_client_failed_with(err, 1142) ||
	       mysql_client_failed_with(err, 1143);
}

/* "INSERT command denied to user ...": the server names the first right that
 * it has missed. */
static char *blame_denied(const char *message)
{
	const char *end = strstr(message, " command denied"), *start = end;

	while (start && start > message && start[-1] != ':')
		start--;
	return start ? xstrndup(start + 1, (size_t)(end - start) - 1) : NULL;
}

/* All of them at once, and what to type. */
static void blame_right(struct mysql_target *d, const struct target *target,
			struct error *err)
{
	struct strbuf rights = STRBUF_INIT, on = STRBUF_INIT;
	struct error ignored = ERROR_INIT;
	char *denied = blame_denied(err->message), *grant;

	if (!mysql_target_rights_missing(d, &d->place, target, &rights,
					 &ignored) &&
	    denied && !strstr(rights.data, denied + (*denied == ' ')))
		strbuf_addf(&rights, "%s%s", rights.len ? ", " : "",
			    denied + (*denied == ' '));
	if (rights.len) {
		sql_quote_name(&on, d->place.database, '`');
		strbuf_addstr(&on, ".*");
		grant = mysql_target_rights_grant(d->db, rights.data, on.data);
		error_hint(err, "As an administrator: %s", grant);
		free(grant);
	}
	free(denied);
	strbuf_release(&rights);
	strbuf_release(&on);
}

int mysql_target_blame(struct mysql_target *d, const struct target *target,
		       int rc, struct error *err)
{
	if (rc >= 0 || err->code == ERROR_STOPPED)
		return rc;
	if (blame_is_right(err) && d->place.database &&
	    mysql_client_alive(d->db))
		blame_right(d, target, err);
	if (!strstr(err->message, target->table))
		error_prefix(err, "table %s", target->table);
	return rc;
}

/* Let in whatever the table takes. It refuses the rows that are then still to
 * come. */
static int blame_find(struct mysql_target *d, const struct checkpoint *next,
		      struct mysql_client_result **out, struct error *err)
{
	bool append = d->target->mode == LOAD_APPEND;
	char *merge =
		append ? mysql_target_statement_append(d, next->batch_id,
						       d->mark.seen.rows_total)
		       : mysql_target_statement_merge(d, next->delivered);
	char *pending = mysql_target_statement_pending(d, next->delivered);
	int rc = mysql_target_execf(d->db, err, "INSERT IGNORE%s",
				    merge + strlen("INSERT"));

	if (!rc)
		rc = mysql_client_query(d->db, out, pending, "t", 0, NULL, err);
	free(merge);
	free(pending);
	return rc;
}

/* A repeated value of another unique index is in the server's text. */
int mysql_target_blame_row(struct mysql_target *d,
			   const struct checkpoint *next, struct error *err)
{
	struct error ignored = ERROR_INIT;
	struct mysql_client_result *r = NULL;

	if (err->code == ERROR_DATA && mysql_client_alive(d->db) &&
	    d->target->schema->n_key &&
	    !mysql_client_failed_with(err, ERRNO_REPEATED) &&
	    !blame_find(d, next, &r, &ignored) && mysql_client_rows(r))
		error_prefix(err, "row %s", mysql_client_value(r, 0, 0));
	mysql_client_result_free(r);
	return -(int)err->code;
}

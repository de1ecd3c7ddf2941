#include "clients/pg_lock.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Columns of other roles' sessions are NULL if our role may not see them. */
static const char holder_sql[] =
	"SELECT p.pid, a.application_name, host(a.client_addr), a.state\n"
	"FROM (%s) AS p(pid)\n"
	"LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = p.pid LIMIT 1";

bool pg_lock_missed(const struct error *err)
{
	return error_has_code(err, "55P03");
}

static char *lock_describe(const struct pg_result *r)
{
	const char *name = pg_value(r, 0, 1), *host = pg_value(r, 0, 2);
	const char *state = pg_value(r, 0, 3);

	return xstrfmt("PostgreSQL backend %s (%s%s%s%s%s)", pg_value(r, 0, 0),
		       name && *name ? name : "of another role",
		       host ? " from " : "", host ? host : "",
		       state ? ", " : "", state ? state : "");
}

char *pg_lock_holder(struct pg *pg, const char *pid_sql, int n,
		     const char *const *params)
{
	struct error ignored = ERROR_INIT;
	struct pg_result *r = NULL;
	char *sql = xstrfmt(holder_sql, pid_sql);
	char *holder = NULL;

	if (!pg_query(pg, &r, sql, "t???", n, params, &ignored) && pg_rows(r))
		holder = lock_describe(r);
	pg_result_free(r);
	free(sql);
	return holder;
}

int pg_lock_explain(struct pg *pg, const char *what, const char *pid_sql, int n,
		    const char *const *params, struct error *err)
{
	char *holder = pg_lock_holder(pg, pid_sql, n, params);
	int rc = -(int)err->code;

	if (holder) {
		error_clear(err);
		rc = error_set(err, ERROR_STATE,
			       "%s: %s holds it, and has not let go of it "
			       "for " PG_LOCK_WAIT
			       ". Wait for it, or stop it; if its "
			       "host is gone, pg_terminate_backend() ends it",
			       what, holder);
	}
	free(holder);
	return rc;
}

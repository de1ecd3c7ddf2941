#include <inttypes.h>
#include <stdlib.h>

#include "connectors/common/question.h"
#include "connectors/postgres/postgres.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/strbuf.h"
#include "core/base/units.h"
#include "core/data/table_name.h"

static const char pressure_active_sql[] =
	"SELECT count(*) FROM pg_stat_activity\n"
	"WHERE state IN ('active', 'fastpath function call')\n"
	"  AND backend_type = 'client backend' AND pid <> pg_backend_pid()\n"
	"  AND NOT (application_name LIKE 'tidemark/%' AND usename = "
	"session_user)";

/*
 * A server that only keeps the log (pg_receivewal, a base backup) replays
 * nothing. A standby that has replayed all there is is not behind, whatever it
 * said last. A standby that is behind and was never measured does not say how
 * far.
 */
static const char pressure_standbys_sql[] =
	"SELECT coalesce(nullif(application_name, ''), 'pid ' || pid),\n"
	"  CASE WHEN replay_lsn >= (CASE WHEN pg_is_in_recovery()\n"
	"      THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END)\n"
	"    THEN 0\n"
	"    ELSE (extract(epoch FROM replay_lag) * 1000000)::bigint END\n"
	"FROM pg_stat_replication\n"
	"WHERE replay_lsn IS NOT NULL AND state <> 'backup'\n"
	"ORDER BY 2 DESC NULLS FIRST LIMIT 1";

/* Only with a receiver at work is all that has come all there is. */
static const char pressure_standby_sql[] =
	"SELECT CASE WHEN EXISTS (SELECT FROM pg_stat_wal_receiver)\n"
	"      AND pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()\n"
	"    THEN 0\n"
	"    ELSE (extract(epoch FROM clock_timestamp()\n"
	"      - pg_last_xact_replay_timestamp()) * 1000000)::bigint END";

static const char pressure_server_sql[] =
	"SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),\n"
	"  pg_is_in_recovery(), current_user";

static int pressure_server(struct postgres *c, bool *standby, struct error *err)
{
	struct strbuf role = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, pressure_server_sql, "1ttt", 0, NULL, err);

	if (rc)
		return rc;
	*standby = *pg_value(r, 0, 1) == 't';
	if (*pg_value(r, 0, 0) != 't') {
		sql_quote_name(&role, pg_value(r, 0, 2), '"');
		rc = error_set(err, ERROR_ACCESS,
			       "the role cannot see the sessions of others: "
			       "GRANT pg_read_all_stats TO %s",
			       role.data);
		strbuf_release(&role);
	}
	pg_result_free(r);
	return rc;
}

static int pressure_active(struct postgres *c, struct pressure *out,
			   struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, pressure_active_sql, "1t", 0, NULL, err);

	if (!rc)
		out->active = strtoll(pg_value(r, 0, 0), NULL, 10);
	pg_result_free(r);
	return rc;
}

static int pressure_standby(struct postgres *c, struct pressure *out,
			    struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, pressure_standby_sql, "1?", 0, NULL, err);

	if (rc)
		return rc;
	if (pg_value(r, 0, 0))
		out->lag_us = units_bounded(pg_value(r, 0, 0), CLOCK_MOST_US);
	else
		rc = error_set(err, ERROR_TRANSIENT,
			       "the standby has replayed no transaction since "
			       "it was started, so how far it is behind is not "
			       "known");
	out->replica = xstrdup("the standby");
	pg_result_free(r);
	return rc;
}

static int pressure_standbys(struct postgres *c, bool needed,
			     struct pressure *out, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, pressure_standbys_sql, "t?", 0, NULL, err);
	int64_t lag_us;

	if (rc)
		return rc;
	if (!pg_rows(r) && needed) {
		rc = error_set(err, ERROR_TRANSIENT,
			       "no standby is connected, so how far it is "
			       "behind is not known");
	} else if (pg_rows(r) && !pg_value(r, 0, 1)) {
		rc = error_set(err, ERROR_TRANSIENT,
			       "standby %s is behind, and has not said yet how "
			       "far",
			       pg_value(r, 0, 0));
	} else if (pg_rows(r)) {
		lag_us = units_bounded(pg_value(r, 0, 1), CLOCK_MOST_US);
		if (lag_us >= out->lag_us) {
			out->lag_us = lag_us;
			free(out->replica);
			out->replica = xstrfmt("standby %s", pg_value(r, 0, 0));
		}
	}
	pg_result_free(r);
	return rc;
}

static int pressure_question(struct postgres *c,
			     const struct pressure_question *q,
			     struct pressure *out, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, q->query, NULL, 0, NULL, err);

	if (!rc)
		rc = question_take(q, (size_t)pg_rows(r), (size_t)pg_columns(r),
				   pg_rows(r) ? pg_value(r, 0, 0) : NULL,
				   &out->number, err);
	pg_result_free(r);
	return rc;
}

int postgres_pressure(struct connector *base, const struct pressure_question *q,
		      struct pressure *out, struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	bool standby = false;
	int rc = 0;

	if (q->active || q->lag)
		rc = pressure_server(c, &standby, err);
	if (!rc && q->active)
		rc = pressure_active(c, out, err);
	if (!rc && q->lag && standby)
		rc = pressure_standby(c, out, err);
	if (!rc && q->lag)
		rc = pressure_standbys(c, !standby, out, err);
	if (!rc && q->query)
		rc = pressure_question(c, q, out, err);
	return rc;
}

#include "destinations/postgres/postgres.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/common/connection.h"

/* The pinned session, and: the stage's schema last, so that nothing in it can
 * stand for a catalog. The merge looks keys up in the target's index, in the
 * stage's (key) order: a hash or merge join would read the whole target for
 * each batch, which the planner, knowing nothing about the stage, may well
 * choose. */
/* A process that is paused inside a transaction must not hold its locks for
 * ever: the server ends such a session, and the next run goes on. */
static const char session_sql[] = "SET search_path = pg_catalog, pg_temp;\n"
				  "SET idle_in_transaction_session_timeout = "
				  "'30s';\n"
				  "SET enable_hashjoin = off;\n"
				  "SET enable_mergejoin = off;\n"
				  "SET jit = off;\n"
				  "SET temp_buffers = '32MB'";

/* A server whose client has died in the middle of a statement notices, and
 * lets go of its locks. New in 14, and not on every system. */
static void postgres_set_check(struct pg *pg)
{
	struct error ignored = ERROR_INIT;

	if (pg_server_version(pg) >= 140000)
		pg_exec(pg, "SET client_connection_check_interval = '10s'",
			&ignored);
}

int postgres_session_start(struct postgres_destination *d, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(d->pg, &r,
			  "SELECT pid || ' ' || backend_start "
			  "FROM pg_stat_activity "
			  "WHERE pid = pg_backend_pid()",
			  "t", 0, NULL, err);

	if (!rc && pg_rows(r)) {
		free(d->session);
		d->session = xstrdup(pg_value(r, 0, 0));
	}
	pg_result_free(r);
	return rc;
}

/* The start guards against a pid that has been given out again. */
int postgres_session_end(struct pg *pg, const char *session, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r,
			  "SELECT pg_terminate_backend(pid) "
			  "FROM pg_stat_activity "
			  "WHERE pid || ' ' || backend_start = $1",
			  "?", 1, &session, err);

	pg_result_free(r);
	return rc;
}

int postgres_session_open(struct postgres_destination *d, struct pg **out,
			  struct error *err)
{
	struct pg_options options = { .pin = true, .application = "load" };
	struct pg *pg = NULL;
	int rc = pg_open(&pg, &d->conn, &options, err);

	if (!rc)
		rc = pg_exec(pg, session_sql, err);
	if (!rc)
		postgres_set_check(pg);
	if (rc) {
		pg_close(pg);
		return rc;
	}
	*out = pg;
	return 0;
}

void postgres_session_rollback(struct postgres_destination *d)
{
	struct error ignored = ERROR_INIT;

	if (pg_alive(d->pg))
		pg_exec(d->pg, "ROLLBACK", &ignored);
}

static void postgres_close(struct destination *base)
{
	struct postgres_destination *d = (struct postgres_destination *)base;

	if (!d)
		return;
	pg_close(d->pg);
	pthread_mutex_destroy(&d->swapping);
	connection_release(&d->conn);
	free(d->session);
	free(d->signature);
	free(d->replaced);
	sql_mark_release(&d->mark);
	free(d->refresh_key);
	postgres_place_release(&d->place);
	postgres_catalog_table_release(&d->table);
	postgres_encoder_release(&d->encoder);
	row_order_release(&d->order);
	strbuf_release(&d->columns);
	postgres_statements_release(d);
	free(d);
}

static int postgres_open(struct destination **out,
			 const struct connection *conn, struct error *err)
{
	struct postgres_destination *d = xcalloc(1, sizeof(*d));
	int rc;

	postgres_mark_init(d);
	d->encoder = (struct encoder)ENCODER_INIT;
	strbuf_init(&d->columns);
	postgres_catalog_table_init(&d->table);
	d->session = xstrdup("");
	pthread_mutex_init(&d->swapping, NULL);
	connection_copy(&d->conn, conn);
	rc = postgres_session_open(d, &d->pg, err);
	if (!rc)
		rc = postgres_session_start(d, err);
	if (rc)
		postgres_close(&d->mark.keeper.base);
	else
		*out = &d->mark.keeper.base;
	return rc;
}

static int postgres_inspect(struct destination *base,
			    const struct target *target, struct inspection *out,
			    struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place place = { .schema = NULL };
	struct plan plan;
	int rc;

	postgres_plan_init(&plan);
	rc = postgres_place_set(&place, d->pg, target, err);
	if (!rc)
		rc = postgres_plan_make(&plan, d->pg, &place, target, err);
	if (!rc && plan.table.filters)
		rc = postgres_watch_mark(d->pg, place.rows, target,
					 &plan.inspection.problems, err);
	if (!rc) {
		inspection_release(out);
		*out = plan.inspection;
		inspection_init(&plan.inspection);
	}
	postgres_plan_release(&plan);
	postgres_place_release(&place);
	return rc;
}

static const char *postgres_session(struct destination *base)
{
	return ((struct postgres_destination *)base)->session;
}

static void postgres_interrupt(struct destination *base)
{
	struct postgres_destination *d = (struct postgres_destination *)base;

	pthread_mutex_lock(&d->swapping);
	pg_interrupt(d->pg);
	pthread_mutex_unlock(&d->swapping);
}

static const struct url_option postgres_url_options[] = { { NULL, NULL,
							    NULL } };

const struct destination_ops postgres_destination = {
	.name = "postgres",
	.options = postgres_url_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.grants = postgres_destination_grants,
	.open = postgres_open,
	.inspect = postgres_inspect,
	.prepare = postgres_prepare,
	.recover = postgres_recover,
	.load = postgres_load,
	.remove = postgres_remove,
	.preview = postgres_preview,
	.explain = postgres_explain_load,
	.finish = postgres_finish,
	.set_watermark = mark_keeper_set,
	.forget = mark_keeper_forget,
	.others = mark_keeper_others,
	.raise = mark_keeper_raise,
	.identity = postgres_target_identity,
	.session = postgres_session,
	.interrupt = postgres_interrupt,
	.close = postgres_close,
};

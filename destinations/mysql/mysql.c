#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/common/connection.h"
#include "destinations/common/refusals.h"
#include "destinations/mysql/internal.h"

static void mysql_close_target(struct destination *base)
{
	struct mysql_target *d = (struct mysql_target *)base;

	if (!d)
		return;
	if (d->db && !d->used && !mysql_target_lock_is_held(d))
		mysql_client_holds_nothing(d->db);
	mysql_client_close(d->db);
	mysql_target_lock_forget(d);
	pthread_mutex_destroy(&d->swapping);
	connection_release(&d->conn);
	sql_mark_release(&d->mark);
	free(d->session);
	free(d->pull);
	mysql_target_place_release(&d->place);
	mysql_target_catalog_release(&d->table);
	mysql_target_catalog_release(&d->replaced);
	free(d->signature);
	row_order_release(&d->order);
	free(d->forms);
	free(d->columns);
	free(d->load_columns);
	free(d->insert_row);
	free(d);
}

static int mysql_open_target(struct destination **out,
			     const struct connection *conn, struct error *err)
{
	struct mysql_target *d = xcalloc(1, sizeof(*d));
	int rc;

	mysql_target_mark_init(d, &mysql_destination);
	d->idle_seconds = MYSQL_TARGET_IDLE_SECONDS;
	pthread_mutex_init(&d->swapping, NULL);
	connection_copy(&d->conn, conn);
	rc = mysql_target_session_open(d, &d->db, err);
	if (rc) {
		mysql_close_target(&d->mark.keeper.base);
		return rc;
	}
	d->session = xstrfmt("%lu", mysql_client_session(d->db));
	*out = &d->mark.keeper.base;
	return 0;
}

/* A prepared statement is one. MySQL prepares no BEGIN, and MariaDB does; a SET
 * autocommit or a procedure begins a transaction in both. */
static int mysql_execute(struct destination *base, const char *sql,
			 struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct mysql_client_result *r = NULL;
	struct error ignored = ERROR_INIT;
	int rc = mysql_client_query_user(d->db, &r, sql, NULL, 0, NULL, err);

	mysql_client_result_free(r);
	/* It may hold whatever the user wants. */
	d->used = true;
	if (rc || !mysql_client_in_transaction(d->db))
		return rc;
	mysql_client_exec(d->db, "ROLLBACK", &ignored);
	return target_refuse_open(err);
}

static int mysql_inspect(struct destination *base, const struct target *target,
			 struct inspection *out, struct error *err)
{
	struct mysql_client *db = ((struct mysql_target *)base)->db;
	struct place place = { .database = NULL };
	int rc = mysql_target_place_set(&place, db, target, err);

	if (!rc)
		rc = plan_inspect(&mysql_target_plan_engine, base, &place,
				  target, out, err);
	mysql_target_place_release(&place);
	return rc;
}

static const char *mysql_session_name(struct destination *base)
{
	return ((struct mysql_target *)base)->session;
}

static void mysql_interrupt_target(struct destination *base)
{
	struct mysql_target *d = (struct mysql_target *)base;

	pthread_mutex_lock(&d->swapping);
	mysql_client_interrupt(d->db);
	pthread_mutex_unlock(&d->swapping);
}

static const struct url_option mysql_url_options[] = {
	{ "tls", "verify-full off loopback",
	  "disabled, required, verify-ca or verify-full, where the "
	  "connection's tls.mode says nothing" },
	{ "ssl-ca", "the system's authorities",
	  "file with the authority that signed the server's certificate" },
	{ "socket", "", "path of the server's socket instead of TCP" },
	{ NULL, NULL, NULL },
};

const struct destination_ops mysql_destination = {
	.name = "mysql",
	.options = mysql_url_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.grants = mysql_target_destination_grants,
	.execute = mysql_execute,
	.open = mysql_open_target,
	.inspect = mysql_inspect,
	.prepare = mysql_target_prepare,
	.recover = mark_keeper_recover,
	.load = sql_load,
	.remove = sql_load_remove,
	.preview = sql_load_preview,
	.explain = mysql_target_explain_load,
	.finish = mysql_target_finish,
	.set_watermark = mark_keeper_set,
	.forget = mark_keeper_forget,
	.others = mark_keeper_others,
	.raise = mark_keeper_raise,
	.identity = mysql_target_identity,
	.session = mysql_session_name,
	.interrupt = mysql_interrupt_target,
	.close = mysql_close_target,
};

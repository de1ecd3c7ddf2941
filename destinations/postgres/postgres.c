#include "destinations/postgres/postgres.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/common/connection.h"
#include "destinations/common/refusals.h"
#include "destinations/postgres/ahead.h"

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

	postgres_mark_init(d, &postgres_destination);
	d->encoder = (struct encoder)ENCODER_INIT;
	strbuf_init(&d->columns);
	postgres_catalog_table_init(&d->table);
	d->session = xstrdup("");
	pthread_mutex_init(&d->swapping, NULL);
	connection_copy(&d->conn, conn);
	rc = postgres_session_open(d, &d->pg, err);
	if (rc)
		postgres_close(&d->mark.keeper.base);
	else
		*out = &d->mark.keeper.base;
	return rc;
}

/* The extended protocol takes one statement at a time. */
static int postgres_execute(struct destination *base, const char *sql,
			    struct error *err)
{
	struct pg *pg = ((struct postgres_destination *)base)->pg;
	struct pg_result *r = NULL;
	struct error ignored = ERROR_INIT;
	int rc = pg_query(pg, &r, sql, NULL, 0, NULL, err);

	pg_result_free(r);
	if (rc || !pg_in_transaction(pg))
		return rc;
	pg_exec(pg, "ROLLBACK", &ignored);
	return target_refuse_open(err);
}

static int postgres_inspect(struct destination *base,
			    const struct target *target, struct inspection *out,
			    struct error *err)
{
	struct pg *pg = ((struct postgres_destination *)base)->pg;
	struct place place = { .schema = NULL };
	int rc = postgres_place_set(&place, pg, target, err);

	if (!rc)
		rc = plan_inspect(&postgres_plan_engine, base, &place, target,
				  out, err);
	postgres_place_release(&place);
	return rc;
}

static const char *postgres_session(struct destination *base)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct error ignored = ERROR_INIT;

	if (!*d->session)
		postgres_session_start(d, &ignored);
	return d->session;
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

/* A name that is none is refused later. */
static int postgres_target_foresee(struct destination *base,
				   const struct target *const *targets,
				   size_t n, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place *places = xcalloc(n, sizeof(*places));
	const char **schemas = xcalloc(n, sizeof(*schemas));
	const char **tables = xcalloc(n, sizeof(*tables));
	size_t known = 0;
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct error ignored = ERROR_INIT;

		if (postgres_place_set(&places[i], d->pg, targets[i], &ignored))
			continue;
		schemas[known] = places[i].schema;
		tables[known++] = places[i].base;
	}
	rc = postgres_catalog_foresee(d->pg, schemas, tables, known, err);
	for (size_t i = 0; i < n; i++)
		postgres_place_release(&places[i]);
	free(places);
	free(schemas);
	free(tables);
	return rc;
}

static int postgres_warm(struct destination *base, const struct target *target,
			 struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct error ignored = ERROR_INIT;
	struct place place = { 0 };
	int rc = 0;

	if (!pg_is_new(d->pg))
		return 0;
	if (!postgres_place_set(&place, d->pg, target, &ignored))
		rc = postgres_ahead_warm(d, &place, err);
	postgres_place_release(&place);
	return rc;
}

const struct destination_ops postgres_destination = {
	.name = "postgres",
	.foresee = postgres_target_foresee,
	.warm = postgres_warm,
	.options = postgres_url_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.grants = postgres_destination_grants,
	.execute = postgres_execute,
	.open = postgres_open,
	.inspect = postgres_inspect,
	.prepare = postgres_prepare,
	.recover = mark_keeper_recover,
	.load = sql_load,
	.remove = sql_load_remove,
	.preview = sql_load_preview,
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

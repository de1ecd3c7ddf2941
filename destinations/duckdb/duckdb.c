#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/strbuf.h"
#include "core/data/table_identity.h"
#include "core/data/table_name.h"
#include "destinations/common/connection.h"
#include "destinations/common/names.h"
#include "destinations/common/refusals.h"
#include "destinations/duckdb/internal.h"

static struct duckdb_target_destination *duckdb_self(struct destination *d)
{
	return (struct duckdb_target_destination *)d;
}

static void duckdb_destination_close(struct destination *base)
{
	struct duckdb_target_destination *d = duckdb_self(base);

	if (!d)
		return;
	duckdb_target_known_leave(d);
	duck_close(d->db);
	pthread_mutex_destroy(&d->lock);
	duckdb_target_place_release(&d->place);
	sql_mark_release(&d->mark);
	free(d->types);
	free(d->not_null);
	free(d->matched);
	free(d->rows);
	free(d->path);
	free(d->memory_limit);
	free(d->threads);
	free(d->external_access);
	free(d->catalog);
	free(d->pull);
	free(d->previewed);
	free(d);
}

static int duckdb_destination_open(struct destination **out,
				   const struct connection *conn,
				   struct error *err)
{
	struct duckdb_target_destination *d = xcalloc(1, sizeof(*d));
	int rc;

	pthread_mutex_init(&d->lock, NULL);
	duckdb_target_mark_init(d, &duckdb_target_destination);
	d->path = xstrdup(conn->url.path);
	d->look = conn->look;
	rc = duckdb_target_open_options(d, conn->url.text, err);
	if (!rc && d->path[0] == ':')
		rc = error_set(err, ERROR_CONFIG,
			       "duckdb:%s would be gone after the run: name "
			       "a file",
			       d->path);
	if (!rc)
		rc = duckdb_target_open_database(d, false, err);
	if (rc)
		duckdb_destination_close(&d->mark.keeper.base);
	else
		*out = &d->mark.keeper.base;
	return rc;
}

static int duckdb_destination_inspect(struct destination *base,
				      const struct target *target,
				      struct inspection *out, struct error *err)
{
	struct duckdb_target_destination *d = duckdb_self(base);
	struct duckdb_target_place place;
	struct existing existing;
	struct duckdb_type *types = NULL;
	int rc;

	memset(&place, 0, sizeof(place));
	memset(&existing, 0, sizeof(existing));
	rc = duckdb_target_place_init(&place, d, target, err);
	if (!rc)
		rc = duckdb_target_existing_look_closely(&existing, d, &place,
							 target->pipeline, err);
	if (!rc) {
		types = duckdb_target_types_new(d, target->schema);
		rc = duckdb_target_inspect(d, target, &place, &existing, types,
					   out, err);
	}
	duckdb_target_place_release(&place);
	existing_release(&existing);
	free(types);
	return rc;
}

static int duckdb_destination_prepare(struct destination *base,
				      const struct target *target,
				      struct error *err)
{
	return duckdb_target_prepare_target(duckdb_self(base), target, err);
}

/* Several handles may have the file. One of them at a time writes, so that no
 * transaction meets another one, and a batch finds every row that is in. */
static int duckdb_destination_load(struct destination *base,
				   const struct batch *batch,
				   const struct checkpoint *next,
				   struct load_counts *out, struct error *err)
{
	struct duck *db = duckdb_self(base)->db;
	int rc;

	duck_turn_begin(db);
	rc = sql_load(base, batch, next, out, err);
	duck_turn_end(db);
	return rc;
}

static int duckdb_destination_remove(struct destination *base,
				     const struct batch *keys,
				     const struct checkpoint *next,
				     int64_t *removed, struct error *err)
{
	struct duck *db = duckdb_self(base)->db;
	int rc;

	duck_turn_begin(db);
	rc = sql_load_remove(base, keys, next, removed, err);
	duck_turn_end(db);
	return rc;
}

static int duckdb_destination_recover(struct destination *base,
				      const struct target *target,
				      struct checkpoint *out, struct error *err)
{
	struct duck *db = duckdb_self(base)->db;
	int rc;

	duck_turn_begin(db);
	rc = mark_keeper_recover(base, target, out, err);
	duck_turn_end(db);
	return rc;
}

static int duckdb_destination_forget(struct destination *base,
				     const struct target *target,
				     struct error *err)
{
	struct duck *db = duckdb_self(base)->db;
	int rc;

	duck_turn_begin(db);
	rc = mark_keeper_forget(base, target, err);
	duck_turn_end(db);
	return rc;
}

static int duckdb_destination_raise(struct destination *base,
				    const struct target *target,
				    const char *mark, struct error *err)
{
	struct duck *db = duckdb_self(base)->db;
	int rc;

	duck_turn_begin(db);
	rc = mark_keeper_raise(base, target, mark, err);
	duck_turn_end(db);
	return rc;
}

static int duckdb_destination_finish(struct destination *base,
				     const struct checkpoint *next,
				     struct error *err)
{
	struct duckdb_target_destination *d = duckdb_self(base);
	int rc = 0;

	duck_turn_begin(d->db);
	if (d->target->refresh)
		rc = sql_load_swap(&d->mark, next, err);
	duck_turn_end(d->db);
	return rc;
}

/* DuckDB prepares one statement at a time. A ROLLBACK succeeds only where a
 * transaction is open. */
static int duckdb_destination_execute(struct destination *base, const char *sql,
				      struct error *err)
{
	struct duck *db = duckdb_self(base)->db;
	struct error none_open = ERROR_INIT;
	bool open;
	int rc;

	duck_turn_begin(db);
	rc = duck_change(db, sql, NULL, 0, NULL, err);
	open = !duck_exec(db, "ROLLBACK", &none_open);
	duck_turn_end(db);
	return rc || !open ? rc : target_refuse_open(err);
}

static int duckdb_destination_identity(struct destination *base,
				       const struct target *target,
				       json_t **out, struct error *err)
{
	struct duckdb_target_destination *d = duckdb_self(base);
	struct duckdb_target_place place;
	struct strbuf table = STRBUF_INIT;
	int rc;

	memset(&place, 0, sizeof(place));
	rc = duckdb_target_place_init(&place, d, target, err);
	if (!rc) {
		sql_quote_name(&table, place.schema, '"');
		strbuf_addch(&table, '.');
		sql_quote_name(&table, place.name, '"');
		*out = json_pack("{s:s, s:s}", "engine", "duckdb", "table",
				 table.data);
		table_identity_add_file(*out, d->path);
	}
	strbuf_release(&table);
	duckdb_target_place_release(&place);
	return rc;
}

static void duckdb_destination_interrupt(struct destination *base)
{
	struct duckdb_target_destination *d = duckdb_self(base);

	pthread_mutex_lock(&d->lock);
	if (d->db)
		duck_interrupt_all(d->db);
	pthread_mutex_unlock(&d->lock);
}

const struct destination_ops duckdb_target_destination = {
	.name = "duckdb",
	.options = duckdb_target_url_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.batch_rows = DUCKDB_ROW_GROUP,
	.foresee = duckdb_target_foresee,
	.execute = duckdb_destination_execute,
	.open = duckdb_destination_open,
	.inspect = duckdb_destination_inspect,
	.prepare = duckdb_destination_prepare,
	.recover = duckdb_destination_recover,
	.load = duckdb_destination_load,
	.remove = duckdb_destination_remove,
	.preview = sql_load_preview,
	.explain = duckdb_target_destination_explain,
	.finish = duckdb_destination_finish,
	.set_watermark = mark_keeper_set,
	.forget = duckdb_destination_forget,
	.others = mark_keeper_others,
	.raise = duckdb_destination_raise,
	.identity = duckdb_destination_identity,
	.session = connection_no_session,
	.interrupt = duckdb_destination_interrupt,
	.close = duckdb_destination_close,
};

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/strbuf.h"
#include "core/data/table_identity.h"
#include "core/data/table_name.h"
#include "destinations/common/connection.h"
#include "destinations/common/names.h"
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
	duck_close(d->db);
	pthread_mutex_destroy(&d->lock);
	duckdb_target_place_release(&d->place);
	sql_mark_release(&d->mark);
	free(d->types);
	free(d->not_null);
	duckdb_target_known_release(&d->known);
	free(d->matched);
	free(d->rows);
	free(d->path);
	free(d->memory_limit);
	free(d->threads);
	free(d->external_access);
	free(d->catalog);
	free(d->refresh_id);
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

static int duckdb_move_mark(struct duckdb_target_destination *d,
			    const struct checkpoint *next, struct error *err)
{
	int rc;

	if (!d->target->refresh)
		return sql_mark_write(
			&d->mark, d->target, next,
			next->rows_total - d->mark.seen.rows_total, err);
	rc = failpoint("before_watermark", err);
	return rc ? rc : failpoint("after_watermark", err);
}

/* A commit that failed may have been written all the same: what the row says
 * now decides. */
static bool duckdb_committed(struct duckdb_target_destination *d,
			     const struct checkpoint *next)
{
	struct existing existing;
	bool same = false;

	if (!duckdb_target_existing_look(&existing, d, &d->place,
					 d->target->pipeline, NULL))
		same = next->batch_id && *next->batch_id &&
		       sql_mark_is_there(&d->mark, next, &existing.mark);
	existing_release(&existing);
	return same;
}

/* Ends the transaction either way. */
static int duckdb_commit(struct duckdb_target_destination *d,
			 const struct checkpoint *next, struct error *err)
{
	struct error refused = ERROR_INIT;
	int rc = writer_check(&d->target->writer, err);

	if (!rc)
		rc = failpoint("commit_sent", err);
	if (rc) {
		duck_exec(d->db, "ROLLBACK", NULL);
		return rc;
	}
	rc = duck_exec(d->db, "COMMIT", &refused);
	if (rc)
		duck_exec(d->db, "ROLLBACK", NULL);
	if (rc && !duckdb_committed(d, next))
		return error_set(err, refused.code, "%s", refused.message);
	sql_mark_remember(&d->mark, next->batch_id, next->fence,
			  next->rows_total);
	return failpoint("commit_acked", err);
}

/* BEGIN, and `next` as it is to be written. Of a row that another transaction
 * changes before this one does, the engine ends one of the two. */
static int duckdb_begin(struct duckdb_target_destination *d,
			const struct checkpoint *next, struct checkpoint *kept,
			struct error *err)
{
	bool refresh = d->target->refresh;
	int rc = duck_exec(d->db, "BEGIN", err);

	if (rc)
		return rc;
	rc = refresh ? duckdb_target_mark_hold(d, err)
		     : duckdb_target_mark_stand(d, err);
	checkpoint_keep(kept, next, refresh ? NULL : d->mark.stands);
	return rc;
}

static int duckdb_end(struct duckdb_target_destination *d,
		      const struct checkpoint *kept, int rc, struct error *err)
{
	if (!rc)
		rc = duckdb_move_mark(d, kept, err);
	if (!rc)
		return duckdb_commit(d, kept, err);
	duck_exec(d->db, "ROLLBACK", NULL);
	return rc;
}

static int duckdb_destination_load(struct destination *base,
				   const struct batch *batch,
				   const struct checkpoint *next,
				   struct load_counts *out, struct error *err)
{
	struct duckdb_target_destination *d = duckdb_self(base);
	struct checkpoint kept;
	int rc;

	checkpoint_init(&kept);
	rc = duckdb_begin(d, next, &kept, err);
	if (!rc)
		rc = duckdb_target_load_batch(d, batch, &kept, out, err);
	rc = duckdb_end(d, &kept, rc, err);
	checkpoint_release(&kept);
	if (!rc && d->target->refresh)
		d->built += out->inserted;
	if (!rc && batch->n_rows)
		rc = duckdb_target_load_drop_stages(d, err);
	return rc ? rc : failpoint("stage_dropped", err);
}

static int duckdb_destination_remove(struct destination *base,
				     const struct batch *keys,
				     const struct checkpoint *next,
				     int64_t *removed, struct error *err)
{
	struct duckdb_target_destination *d = duckdb_self(base);
	struct checkpoint kept;
	int rc = soft_delete_check(d->target, d->soft_delete, "TIMESTAMPTZ",
				   err);

	*removed = 0;
	if (rc)
		return rc;
	checkpoint_init(&kept);
	rc = duckdb_begin(d, next, &kept, err);
	if (!rc)
		rc = duckdb_target_remove_rows(d, keys, removed, err);
	rc = duckdb_end(d, &kept, rc, err);
	checkpoint_release(&kept);
	return rc ? rc : duckdb_target_load_drop_stages(d, err);
}

static int duckdb_destination_finish(struct destination *base,
				     const struct checkpoint *next,
				     struct error *err)
{
	struct duckdb_target_destination *d = duckdb_self(base);
	int rc;

	if (!d->target->refresh)
		return 0;
	rc = duck_exec(d->db, "BEGIN", err);
	if (rc)
		return rc;
	rc = duckdb_target_refresh_swap(d, next, err);
	if (rc) {
		duck_exec(d->db, "ROLLBACK", NULL);
		return rc;
	}
	return duckdb_commit(d, next, err);
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
	.open = duckdb_destination_open,
	.inspect = duckdb_destination_inspect,
	.prepare = duckdb_destination_prepare,
	.recover = duckdb_target_recover,
	.load = duckdb_destination_load,
	.remove = duckdb_destination_remove,
	.preview = duckdb_target_destination_preview,
	.explain = duckdb_target_destination_explain,
	.finish = duckdb_destination_finish,
	.set_watermark = mark_keeper_set,
	.forget = mark_keeper_forget,
	.others = mark_keeper_others,
	.raise = mark_keeper_raise,
	.identity = duckdb_destination_identity,
	.session = connection_no_session,
	.interrupt = duckdb_destination_interrupt,
	.close = duckdb_destination_close,
};

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/bigquery/internal.h"
#include "destinations/common/connection.h"

static const char *const bigquery_options[] = { "location", "credentials",
						"partition", "cluster", NULL };

static const struct url_option bigquery_url_options[] = {
	{ "location", "",
	  "where the dataset is, as in EU; empty: asked of the dataset" },
	{ "credentials", "",
	  "file of a service account; empty: $GOOGLE_APPLICATION_CREDENTIALS, "
	  "or the machine's own account" },
	{ "partition", "none",
	  "partition new tables by the mark column: hour, day, month, year" },
	{ "cluster", "key", "cluster new tables by the key: key, none" },
	{ NULL, NULL, NULL },
};

static struct bigquery_destination *bigquery_self(struct destination *d)
{
	return (struct bigquery_destination *)d;
}

/* A refresh that did not come to its end leaves the way free. */
static void bigquery_give_back(struct bigquery_destination *d)
{
	struct error ignored = ERROR_INIT;

	if (d->refresh_id && d->target)
		bigquery_mark_release(d, &d->place, d->target->pipeline,
				      d->refresh_id, &ignored);
}

static void bigquery_destination_close(struct destination *base)
{
	struct bigquery_destination *d = bigquery_self(base);

	if (!d)
		return;
	bigquery_give_back(d);
	bigquery_stage_drop(d);
	bigquery_close(d->client);
	bigquery_place_release(&d->place);
	checkpoint_release(&d->seen);
	free(d->layout.partition);
	free(d->types);
	free(d->not_null);
	existing_release(&d->prepared);
	free(d->signature);
	free(d->stage);
	free(d->quoted_stage);
	free(d->soft_type);
	free(d->refresh_id);
	free(d->copy);
	free(d->quoted_copy);
	free(d->pull);
	free(d->previewed);
	strbuf_release(&d->kept);
	strbuf_release(&d->kept_names);
	free(d);
}

static int bigquery_choice(const char *name, const char *value,
			   const char *const *allowed, struct error *err)
{
	for (size_t i = 0; allowed[i]; i++)
		if (!strcmp(value, allowed[i]))
			return 0;
	return error_set(err, ERROR_CONFIG,
			 "bigquery: %s=%s in the URL: allowed are %s, %s%s%s",
			 name, value, allowed[0], allowed[1],
			 allowed[2] ? ", " : "",
			 allowed[2] ? "day, month, year" : "");
}

static int bigquery_read_layout(struct bigquery_destination *d,
				const struct url *url, struct error *err)
{
	static const char *const units[] = { "none",  "hour", "day",
					     "month", "year", NULL };
	static const char *const clusters[] = { "none", "key", NULL };
	char *partition = url_query_value(url, "partition");
	char *cluster = url_query_value(url, "cluster");
	int rc = 0;

	if (partition)
		rc = bigquery_choice("partition", partition, units, err);
	if (!rc && cluster)
		rc = bigquery_choice("cluster", cluster, clusters, err);
	d->layout.cluster = !cluster || !strcmp(cluster, "key");
	if (!rc && partition && strcmp(partition, "none") != 0) {
		d->layout.partition = xstrdup(partition);
		for (char *p = d->layout.partition; *p; p++)
			*p = (char)(*p - 'a' + 'A');
	}
	free(partition);
	free(cluster);
	return rc;
}

static int bigquery_destination_open(struct destination **out,
				     const struct connection *conn,
				     struct error *err)
{
	struct bigquery_destination *d = xcalloc(1, sizeof(*d));
	int rc = bigquery_read_layout(d, &conn->url, err);

	d->keeper.base.ops = &bigquery_destination;
	d->keeper.engine = &bigquery_mark_keeper;
	strbuf_init(&d->kept);
	strbuf_init(&d->kept_names);
	if (!rc)
		rc = bigquery_open(&d->client, conn, bigquery_options, err);
	if (rc)
		bigquery_destination_close(&d->keeper.base);
	else
		*out = &d->keeper.base;
	return rc;
}

static int bigquery_destination_inspect(struct destination *base,
					const struct target *target,
					struct inspection *out,
					struct error *err)
{
	struct bigquery_destination *d = bigquery_self(base);
	struct bigquery_type *types = bigquery_types_of(target->schema);
	struct existing existing;
	struct bigquery_place place;
	int rc = bigquery_find(d, target, &place, &existing, err);

	if (!rc)
		rc = bigquery_inspect(d, target, &place, &existing, types, out,
				      err);
	if (rc && d->marks_unsafe) {
		problems_add_error(&out->problems, "unsafe-marks", err);
		error_clear(err);
		rc = 0;
	}
	bigquery_place_release(&place);
	existing_release(&existing);
	free(types);
	return rc;
}

static int bigquery_destination_prepare(struct destination *base,
					const struct target *target,
					struct error *err)
{
	return bigquery_prepare_target(bigquery_self(base), target, err);
}

static int bigquery_destination_load(struct destination *base,
				     const struct batch *batch,
				     const struct checkpoint *next,
				     struct load_counts *out, struct error *err)
{
	struct bigquery_destination *d = bigquery_self(base);
	bool refresh = d->target->refresh;
	struct checkpoint kept;
	int rc;

	checkpoint_init(&kept);
	checkpoint_keep(&kept, next, refresh ? NULL : d->seen.watermark);
	rc = bigquery_load_batch(d, batch, &kept, out, err);
	if (rc) {
		rc = bigquery_mark_follow(d, rc, err);
	} else if (refresh) {
		d->built += out->inserted;
		d->seen.rows_total = next->rows_total;
	} else {
		checkpoint_copy(&d->seen, &kept);
	}
	checkpoint_release(&kept);
	return rc;
}

static int bigquery_destination_remove(struct destination *base,
				       const struct batch *keys,
				       const struct checkpoint *next,
				       int64_t *removed, struct error *err)
{
	struct bigquery_destination *d = bigquery_self(base);
	int rc = soft_delete_check(d->target, d->soft_delete, "TIMESTAMP", err);

	struct checkpoint kept;

	*removed = 0;
	if (rc)
		return rc;
	checkpoint_init(&kept);
	checkpoint_keep(&kept, next, d->seen.watermark);
	rc = bigquery_remove_rows(d, keys, &kept, removed, err);
	if (rc)
		rc = bigquery_mark_follow(d, rc, err);
	else
		checkpoint_copy(&d->seen, &kept);
	checkpoint_release(&kept);
	return rc;
}

static int bigquery_destination_finish(struct destination *base,
				       const struct checkpoint *next,
				       struct error *err)
{
	struct bigquery_destination *d = bigquery_self(base);
	int rc;

	if (!d->target->refresh)
		return 0;
	rc = bigquery_refresh_swap(d, next, err);
	if (!rc) {
		free(d->refresh_id);
		d->refresh_id = NULL;
	}
	return rc;
}

static int bigquery_destination_identity(struct destination *base,
					 const struct target *target,
					 json_t **out, struct error *err)
{
	struct bigquery_destination *d = bigquery_self(base);
	struct bigquery_place place;
	struct strbuf table = STRBUF_INIT;
	int rc = bigquery_place_init(&place, d, target, err);

	if (!rc) {
		sql_quote_name(&table, place.dataset, '"');
		strbuf_addch(&table, '.');
		sql_quote_name(&table, place.name, '"');
		*out = json_pack("{s:s, s:s, s:s, s:s}", "engine", "bigquery",
				 "project", bigquery_project(d->client),
				 "database", place.dataset, "table",
				 table.data);
	}
	strbuf_release(&table);
	bigquery_place_release(&place);
	return rc;
}

static void bigquery_destination_interrupt(struct destination *base)
{
	bigquery_interrupt(bigquery_self(base)->client);
}

static int bigquery_destination_grants(const struct connection *conn,
				       const char *table, enum load_mode mode,
				       struct grants *out, struct error *err)
{
	(void)conn;
	(void)table;
	(void)mode;
	(void)err;
	grants_add(out, "runs jobs: roles/bigquery.jobUser on the project",
		   NULL);
	grants_add(out,
		   "makes and loads tables: roles/bigquery.dataEditor on the "
		   "dataset",
		   NULL);
	return 0;
}

/* A script of several statements is one job. */
static int bigquery_destination_execute(struct destination *base,
					const char *sql, struct error *err)
{
	const struct bigquery_query query = { .sql = sql };
	struct bigquery_rows *rows = NULL;
	int rc = bigquery_run(bigquery_self(base)->client, &query, 1, &rows,
			      NULL, err);

	bigquery_rows_free(rows);
	return rc;
}

const struct destination_ops bigquery_destination = {
	.name = "bigquery",
	.options = bigquery_url_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.grants = bigquery_destination_grants,
	.execute = bigquery_destination_execute,
	.open = bigquery_destination_open,
	.inspect = bigquery_destination_inspect,
	.prepare = bigquery_destination_prepare,
	.recover = mark_keeper_recover,
	.load = bigquery_destination_load,
	.remove = bigquery_destination_remove,
	.preview = bigquery_destination_preview,
	.explain = bigquery_destination_explain,
	.finish = bigquery_destination_finish,
	.set_watermark = mark_keeper_set,
	.forget = mark_keeper_forget,
	.others = mark_keeper_others,
	.raise = mark_keeper_raise,
	.identity = bigquery_destination_identity,
	.session = connection_no_session,
	.interrupt = bigquery_destination_interrupt,
	.close = bigquery_destination_close,
};

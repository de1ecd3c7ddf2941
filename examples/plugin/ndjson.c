/*
 * A destination outside of Tidemark's tree. Each batch becomes a file of
 * newline-delimited JSON, DIRECTORY/TABLE/PIPELINE-<microseconds>.ndjson, which
 * is there whole or not at all. The URL is ndjson:DIRECTORY.
 *
 * Rows are only ever added, so mode append is the only one. Among the lines of
 * one key, the one in the last file is the newest. Files know no transactions.
 * The mark makes them one: it names the batch's file, and its rename commits.
 *
 * 1. The rows go to .tidemark/PIPELINE-NUMBER.stage, and to the disk.
 * 2. .tidemark/PIPELINE.json, the mark with the number of its file, is replaced
 *    by a rename. From here on the batch has been loaded.
 * 3. The stage gets the file's name.
 *
 * If a run is killed before step 2, the mark does not have the number of its
 * stage, and the next run removes the stage. If a run is killed before step 3,
 * the mark has the number of its stage, and prepare() or recover() does the
 * rest. A missing file says nothing: whoever reads files may take them away.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts.h"
#include "files.h"
#include "mark.h"

struct ndjson {
	struct destination base; /* first: the engine knows no more of us */
	char *directory; /* the URL's */
	const struct target *target; /* since prepare */
	struct mark mark; /* as recover or load last saw it */
	atomic_bool interrupted;
	bool look; /* a dry run */
};

/* Step 3 of a run that was killed before it; with the lock. */
static int ndjson_roll_forward(struct ndjson *d, const struct target *target,
			       struct error *err)
{
	struct names n;
	int rc = names_make(&n, d->directory, target, d->mark.number, err);

	if (!rc && d->mark.number && !access(n.stage, F_OK))
		rc = rename_file(n.stage, n.file, n.table, err);
	names_release(&n);
	return rc;
}

static int ndjson_open(struct destination **out, const struct connection *conn,
		       struct error *err)
{
	struct stat st;
	struct ndjson *d;

	if (stat(conn->url.path, &st) || !S_ISDIR(st.st_mode))
		return error_set(err, ERROR_ACCESS,
				 "connection %s: %s is no directory; make it, "
				 "or correct the URL",
				 conn->name, conn->url.path);
	d = xcalloc(1, sizeof(*d));
	d->base.ops = tidemark_plugin.destination;
	d->directory = xstrdup(conn->url.path);
	d->look = conn->look;
	*out = &d->base;
	return 0;
}

static void ndjson_columns(const struct schema *schema, struct inspection *out)
{
	out->n_columns = schema->n_columns;
	out->columns = xcalloc(schema->n_columns, sizeof(*out->columns));
	for (size_t i = 0; i < schema->n_columns; i++) {
		out->columns[i].name = xstrdup(schema->columns[i].name);
		out->columns[i].destination_type = xstrdup("json");
		out->columns[i].mapping = MAPPING_EXACT;
	}
}

/* Files that are written are not changed again. */
static void ndjson_refuse(const struct target *target, struct problems *out)
{
	if (target->mode != LOAD_APPEND)
		problems_add(out, SEVERITY_ERROR, ERROR_CONFIG, "append-only",
			     "write load: { mode: append }",
			     "table %s: files that are written are not changed "
			     "again, so mode %s is not possible",
			     target->table, load_mode_name(target->mode));
	else if (target->refresh)
		problems_add(out, SEVERITY_ERROR, ERROR_CONFIG, "append-only",
			     "to have all rows again, take the files away and "
			     "use tidemark watermark reset",
			     "table %s: files that are written are not "
			     "replaced, so --full-refresh is not possible",
			     target->table);
	if (target->soft_delete)
		problems_add(out, SEVERITY_ERROR, ERROR_CONFIG, "append-only",
			     "leave load.soft_delete out",
			     "table %s: files that are written are not changed "
			     "again, so soft_delete is not possible",
			     target->table);
}

static int ndjson_inspect(struct destination *base, const struct target *target,
			  struct inspection *out, struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;
	struct names n;
	int rc = names_make(&n, d->directory, target, 0, err);

	if (!rc) {
		ndjson_columns(target->schema, out);
		out->table_exists = !access(n.marks, F_OK);
		out->anew = access(n.mark, F_OK) != 0;
		ndjson_refuse(target, &out->problems);
	}
	names_release(&n);
	return rc;
}

/* From here on a run that does not know that it is over finds a fence that is
 * higher than its own. */
static int ndjson_claim(struct ndjson *d, const struct names *n,
			const struct target *target, struct error *err)
{
	int lock;
	int rc = lock_names(n, &d->interrupted, &lock, err);

	if (rc)
		return rc;
	rc = ndjson_mark_read(&d->mark, n->mark, err);
	if (!rc)
		rc = writer_check_fence(&target->writer, target->pipeline,
					d->mark.seen.fence, err);
	if (!rc)
		rc = ndjson_roll_forward(d, target, err);
	if (!rc)
		rc = remove_stages(n, err);
	if (!rc && target->writer.claim)
		rc = ndjson_mark_write(
			n, d->mark.seen.watermark,
			d->mark.seen.batch_id ? d->mark.seen.batch_id : "",
			target->writer.fence, d->mark.seen.rows_total,
			d->mark.number, err);
	close(lock);
	return rc;
}

static int ndjson_prepare(struct destination *base, const struct target *target,
			  struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;
	struct inspection found;
	struct names n;
	int rc;

	inspection_init(&found);
	rc = ndjson_inspect(base, target, &found, err);
	if (!rc)
		rc = problems_to_error(&found.problems, err);
	inspection_release(&found);
	if (rc)
		return rc;
	d->target = target;
	if (target->preview)
		return 0;
	rc = names_make(&n, d->directory, target, 0, err);
	if (!rc)
		rc = make_directory(n.table, d->directory, err);
	if (!rc)
		rc = make_directory(n.marks, n.table, err);
	if (!rc)
		rc = ndjson_claim(d, &n, target, err);
	names_release(&n);
	return rc;
}

/* A writer may be amid its steps: what was left is told apart from what is
 * being done by the lock alone. */
static int ndjson_finish_load(struct ndjson *d, const struct names *n,
			      const struct target *target, struct error *err)
{
	int lock;
	int rc = lock_names(n, &d->interrupted, &lock, err);

	if (rc)
		return rc;
	rc = ndjson_mark_read(&d->mark, n->mark, err);
	if (!rc)
		rc = ndjson_roll_forward(d, target, err);
	close(lock);
	return rc;
}

static int ndjson_recover(struct destination *base, const struct target *target,
			  struct checkpoint *out, struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;
	struct names n;
	int rc = names_make(&n, d->directory, target, 0, err);

	if (!rc)
		rc = ndjson_mark_read(&d->mark, n.mark, err);
	if (!rc && d->mark.seen.found && target->schema && !d->look)
		rc = ndjson_finish_load(d, &n, target, err);
	if (!rc)
		checkpoint_copy(out, &d->mark.seen);
	if (!rc && !d->target)
		rc = ndjson_mark_others(&n, &out->others, err);
	names_release(&n);
	return rc;
}

/* Write a line a row. A destination for many millions of rows would write
 * straight from the vectors instead (core/data/batch.h). */
static int ndjson_stage(const struct names *n, const struct batch *b,
			struct error *err)
{
	FILE *file = fopen(n->stage, "we");
	struct error ignored = ERROR_INIT;
	int rc = 0;

	if (!file)
		return failed("write", n->stage, err);
	for (size_t row = 0; !rc && row < b->n_rows; row++)
		rc = write_json(file, value_row_json(b, row, SIZE_MAX),
				n->stage, err);
	if (rc)
		close_file(file, n->stage, &ignored);
	else
		rc = close_file(file, n->stage, err);
	if (rc)
		unlink(n->stage); /* the disk may be full */
	return rc;
}

/* Between our last look and this one another run may have loaded. */
static int ndjson_check_mark(struct ndjson *d, const struct names *n,
			     struct error *err)
{
	char *expected =
		xstrdup(d->mark.seen.batch_id ? d->mark.seen.batch_id : "");
	int rc = ndjson_mark_read(&d->mark, n->mark, err);

	if (!rc)
		rc = writer_check_fence(&d->target->writer, d->target->pipeline,
					d->mark.seen.fence, err);
	if (!rc &&
	    strcmp(expected,
		   d->mark.seen.batch_id ? d->mark.seen.batch_id : "") != 0)
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: another run has loaded batch %s "
			       "into %s",
			       d->target->pipeline, d->mark.seen.batch_id,
			       d->target->table);
	free(expected);
	return rc;
}

static int ndjson_commit(struct ndjson *d, const struct names *n,
			 const struct batch *b, const struct checkpoint *next,
			 int64_t number, struct error *err)
{
	const char *batch_id = next->batch_id ? next->batch_id : "";
	int64_t rows = d->mark.seen.rows_total + (int64_t)b->n_rows;
	int rc = b->n_rows ? ndjson_stage(n, b, err) : 0;

	if (!rc)
		rc = writer_check(&d->target->writer, err);
	if (!rc)
		rc = ndjson_mark_write(
			n, next->watermark, batch_id, next->fence, rows,
			b->n_rows ? number : d->mark.number, err);
	if (!rc && b->n_rows)
		rc = rename_file(n->stage, n->file, n->table, err);
	return rc ? rc : ndjson_mark_read(&d->mark, n->mark, err);
}

static int ndjson_load(struct destination *base, const struct batch *batch,
		       const struct checkpoint *next, struct load_counts *out,
		       struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;
	int64_t number = next_number(d->mark.number);
	struct names n;
	int lock;
	int rc = names_make(&n, d->directory, d->target, number, err);

	if (!rc)
		rc = lock_names(&n, &d->interrupted, &lock, err);
	if (!rc) {
		rc = ndjson_check_mark(d, &n, err);
		if (!rc)
			rc = ndjson_commit(d, &n, batch, next, number, err);
		close(lock);
	}
	if (!rc)
		*out = (struct load_counts){
			.inserted = (int64_t)batch->n_rows,
		};
	names_release(&n);
	return rc;
}

static int ndjson_preview(struct destination *base, const struct batch *batch,
			  const struct checkpoint *next,
			  struct load_counts *out, struct error *err)
{
	(void)base;
	(void)next;
	(void)err;
	*out = (struct load_counts){ .inserted = (int64_t)batch->n_rows };
	return 0;
}

static int ndjson_explain(struct destination *base, struct explanation *out,
			  struct error *err)
{
	(void)base;
	(void)out;
	(void)err;
	return 0;
}

static int ndjson_cannot(struct destination *base, struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;

	return error_set(err, ERROR_CONFIG,
			 "table %s: files that are written are not changed "
			 "again: rows can neither be removed nor replaced",
			 d->target ? d->target->table : d->directory);
}

static int ndjson_remove(struct destination *base, const struct batch *keys,
			 const struct checkpoint *next, int64_t *removed,
			 struct error *err)
{
	(void)keys;
	(void)next;
	*removed = 0;
	return ndjson_cannot(base, err);
}

static int ndjson_finish(struct destination *base,
			 const struct checkpoint *next, struct error *err)
{
	(void)next;
	return ndjson_cannot(base, err);
}

static int ndjson_set_watermark(struct destination *base,
				const struct target *target,
				const char *watermark, struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;
	struct names n;
	int lock;
	int rc = names_make(&n, d->directory, target, 0, err);

	if (!rc && access(n.marks, F_OK))
		rc = error_set(err, ERROR_SCHEMA, "table %s is not there",
			       target->table);
	if (!rc)
		rc = lock_names(&n, &d->interrupted, &lock, err);
	if (!rc) {
		rc = ndjson_mark_read(&d->mark, n.mark, err);
		if (!rc)
			rc = ndjson_roll_forward(d, target, err);
		if (!rc)
			rc = ndjson_mark_write(
				&n, watermark, "", d->mark.seen.fence,
				d->mark.seen.rows_total, d->mark.number, err);
		close(lock);
	}
	names_release(&n);
	return rc;
}

static int ndjson_drop_mark(struct ndjson *d, const struct names *n,
			    const struct target *target, struct error *err)
{
	int rc = ndjson_mark_read(&d->mark, n->mark, err);

	if (!rc)
		rc = writer_check_fence(&target->writer, target->pipeline,
					d->mark.seen.fence, err);
	if (!rc)
		rc = ndjson_roll_forward(d, target, err);
	return rc ? rc : remove_file(n->mark, n->marks, err);
}

/* Its files stay: the rows are the user's. */
static int ndjson_forget(struct destination *base, const struct target *target,
			 struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;
	struct names n;
	int lock;
	int rc = names_make(&n, d->directory, target, 0, err);

	if (!rc && !access(n.mark, F_OK)) {
		rc = lock_names(&n, &d->interrupted, &lock, err);
		if (!rc) {
			rc = ndjson_drop_mark(d, &n, target, err);
			close(lock);
		}
	}
	names_release(&n);
	return rc;
}

static int ndjson_others(struct destination *base, const struct target *target,
			 struct strlist *out, struct error *err)
{
	struct ndjson *d = (struct ndjson *)base;
	struct names n;
	int rc = names_make(&n, d->directory, target, 0, err);

	if (!rc)
		rc = ndjson_mark_others(&n, out, err);
	names_release(&n);
	return rc;
}

static int ndjson_identity(struct destination *base,
			   const struct target *target, json_t **out,
			   struct error *err)
{
	(void)err;
	*out = json_pack("{s:s, s:s}", "engine", "ndjson", "table",
			 target->table);
	table_identity_add_file(*out, ((struct ndjson *)base)->directory);
	return 0;
}

/* A file has no server that could end it. */
static const char *ndjson_session(struct destination *base)
{
	(void)base;
	return "";
}

/* The lock is all that we wait for. */
static void ndjson_interrupt(struct destination *base)
{
	struct ndjson *d = (struct ndjson *)base;

	atomic_store(&d->interrupted, true);
}

static void ndjson_close(struct destination *base)
{
	struct ndjson *d = (struct ndjson *)base;

	if (!d)
		return;
	ndjson_mark_release(&d->mark);
	free(d->directory);
	free(d);
}

static const struct url_option ndjson_options[] = {
	{ NULL, NULL, NULL },
};

static const struct destination_ops ndjson_destination = {
	.name = "ndjson",
	.options = ndjson_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.open = ndjson_open,
	.inspect = ndjson_inspect,
	.prepare = ndjson_prepare,
	.recover = ndjson_recover,
	.load = ndjson_load,
	.preview = ndjson_preview,
	.explain = ndjson_explain,
	.remove = ndjson_remove,
	.finish = ndjson_finish,
	.set_watermark = ndjson_set_watermark,
	.forget = ndjson_forget,
	.others = ndjson_others,
	.raise = ndjson_raise,
	.identity = ndjson_identity,
	.session = ndjson_session,
	.interrupt = ndjson_interrupt,
	.close = ndjson_close,
};

/* The one symbol that Tidemark looks for. */
const struct plugin tidemark_plugin = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "ndjson",
	.version = "1",
	.destination = &ndjson_destination,
	.engine = &ndjson_engine,
};

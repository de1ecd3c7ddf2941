#include "destination_world.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/data/value.h"
#include "core/plugin/registry.h"
#include "destination_client.h"
#include "scratch.h"

static struct strbuf world_output = STRBUF_INIT;

static struct world *world_skip(struct world *w, const char *why)
{
	fprintf(stderr, "# SKIP %s: %s\n", w->quirks->engine, why);
	world_free(w);
	return NULL;
}

static char *world_place(struct world *w)
{
	if (w->quirks->variable)
		return xstrdup(getenv(w->quirks->variable));
	w->directory = mkdtemp(scratch_template("contract"));
	assert_non_null(w->directory);
	return xstrfmt("%s/target.db", w->directory);
}

/* Does the client run at all? */
static bool world_has_client(struct world *w)
{
	bool works =
		!client_run(w->quirks, w->place, "SELECT 1;", &world_output);

	if (w->directory)
		unlink(w->place);
	return works;
}

struct world *world_new(const struct quirks *quirks)
{
	struct world *w = xcalloc(1, sizeof(*w));
	char *url;

	w->quirks = quirks;
	schema_init(&w->schema);
	checkpoint_init(&w->seen);
	w->place = world_place(w);
	if (!w->place)
		return world_skip(w, quirks->variable);
	if (registry_destination(quirks->plugin ? quirks->plugin
						: quirks->engine,
				 &w->ops, &w->err))
		return world_skip(w, w->err.message);
	if (!world_has_client(w))
		return world_skip(w, "its client does not run");
	url = w->directory ? xstrfmt("%s:%s", quirks->engine, w->place)
			   : xstrdup(w->place);
	assert_int_equal(url_parse(&w->conn.url, url, &w->err), 0);
	free(url);
	w->conn.name = xstrdup("warehouse");
	w->conn.connect_timeout_us = 10000000;
	w->conn.silence_timeout_us = 60000000;
	w->target = (struct target){
		.pipeline = "contract",
		.schema = &w->schema,
		.drift = { DRIFT_ADD, DRIFT_WIDEN, DRIFT_KEEP },
	};
	return w;
}

void world_free(struct world *w)
{
	char *command;

	if (!w)
		return;
	world_close(w);
	if (w->directory) {
		command = xstrfmt("rm -rf '%s'", w->directory);
		if (system(command))
			fprintf(stderr, "# cannot remove %s\n", w->directory);
		free(command);
	}
	schema_release(&w->schema);
	checkpoint_release(&w->seen);
	url_release(&w->conn.url);
	free(w->conn.name);
	free(w->directory);
	free(w->place);
	free(w);
}

static enum type_kind world_kind(const char *name)
{
	for (int kind = 0; kind < TYPE_KINDS; kind++)
		if (!strcmp(type_kind_name((enum type_kind)kind), name))
			return (enum type_kind)kind;
	fail_msg("no kind %s", name);
	return TYPE_KINDS;
}

static void world_column(struct world *w, char *word)
{
	struct type type = { .kind = TYPE_TEXT };
	char *colon = strchr(word, ':'), *paren = strchr(word, '(');
	bool key = strchr(word, '!'), mark = strchr(word, '@');
	size_t at = w->schema.n_columns;

	assert_non_null(colon);
	*colon = '\0';
	if (paren) {
		sscanf(paren, "(%d,%d)", &type.precision, &type.scale);
		*paren = '\0';
	}
	colon[1 + strcspn(colon + 1, "!@")] = '\0';
	type.kind = world_kind(colon + 1);
	if (type.kind >= TYPE_TIME && type.kind <= TYPE_TIMESTAMPTZ)
		type.digits = 6;
	type.native = (char *)type_kind_name(type.kind);
	schema_add(&w->schema, word, &type, !key);
	if (key) {
		size_t keys[8];
		size_t n = w->schema.n_key;

		for (size_t i = 0; i < n; i++)
			keys[i] = w->schema.key[i];
		keys[n] = at;
		schema_set_key(&w->schema, keys, n + 1);
	}
	if (mark)
		w->schema.mark = (long)at;
}

void world_schema(struct world *w, const char *spec)
{
	char *copy = xstrdup(spec), *rest = NULL;

	schema_release(&w->schema);
	schema_init(&w->schema);
	w->schema.engine = xstrdup("elsewhere");
	w->schema.table = xstrdup("source");
	w->schema.mark = -1;
	for (char *word = strtok_r(copy, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		world_column(w, word);
	free(copy);
}

void world_open(struct world *w)
{
	world_close(w);
	error_clear(&w->err);
	if (w->ops->open(&w->destination, &w->conn, &w->err))
		fail_msg("open: %s", w->err.message);
}

void world_close(struct world *w)
{
	if (w->destination)
		w->ops->close(w->destination);
	w->destination = NULL;
}

int world_begin(struct world *w)
{
	int rc;

	world_open(w);
	checkpoint_release(&w->seen);
	checkpoint_init(&w->seen);
	rc = w->ops->prepare(w->destination, &w->target, &w->err);
	if (!rc && !w->target.preview)
		rc = w->ops->recover(w->destination, &w->target, &w->seen,
				     &w->err);
	return -rc;
}

/* "MONTHS DAYS MICROSECONDS" */
static void world_interval(struct vector *v, size_t row, const char *text)
{
	struct interval_value i = { 0 };
	char *rest;

	i.months = (int32_t)strtol(text, &rest, 10);
	i.days = (int32_t)strtol(rest, &rest, 10);
	i.microseconds = strtoll(rest, &rest, 10);
	assert_true(rest > text && !*rest);
	vector_set_fixed(v, row, &i);
}

static void world_fixed(struct vector *v, size_t row, const char *text)
{
	int64_t i64 = 0;
	int32_t i32 = 0;
	double f64;
	float f32;

	switch (v->kind) {
	case TYPE_BOOL:
		vector_set_fixed(v, row, &(uint8_t){ *text == 't' });
		break;
	case TYPE_INT16:
		vector_set_fixed(v, row,
				 &(int16_t){ (int16_t)strtol(text, NULL, 10) });
		break;
	case TYPE_INT32:
		vector_set_fixed(v, row,
				 &(int32_t){ (int32_t)strtol(text, NULL, 10) });
		break;
	case TYPE_INT64:
	case TYPE_TIME:
		i64 = strtoll(text, NULL, 10);
		vector_set_fixed(v, row, &i64);
		break;
	case TYPE_UINT64:
		vector_set_fixed(v, row,
				 &(uint64_t){ strtoull(text, NULL, 10) });
		break;
	case TYPE_FLOAT32:
		f32 = strtof(text, NULL);
		vector_set_fixed(v, row, &f32);
		break;
	case TYPE_FLOAT64:
		f64 = strtod(text, NULL);
		vector_set_fixed(v, row, &f64);
		break;
	case TYPE_DATE:
		assert_true(value_parse_date(text, &i32));
		vector_set_fixed(v, row, &i32);
		break;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		assert_true(value_parse_timestamp(text, &i64));
		vector_set_fixed(v, row, &i64);
		break;
	case TYPE_INTERVAL:
		world_interval(v, row, text);
		break;
	default:
		fail_msg("no text form for kind %d", (int)v->kind);
	}
}

static void world_row(struct batch *b, char *line)
{
	struct error err = ERROR_INIT;
	char *field;

	batch_reserve_row(b);
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		struct vector *v = &b->vectors[i];

		field = strsep(&line, "|");
		assert_non_null(field);
		if (!strcmp(field, "NULL"))
			vector_set_null(v, b->n_rows);
		else if (type_is_variable(v->kind))
			vector_set_bytes(v, b->n_rows, field, strlen(field),
					 &err);
		else
			world_fixed(v, b->n_rows, field);
	}
	batch_row_done(b);
}

static void world_next(struct world *w, struct checkpoint *next,
		       const char *mark)
{
	checkpoint_init(next);
	next->watermark = xstrdup(mark);
	next->batch_id = xstrfmt("batch-%d-%d", (int)getpid(), ++w->n_batches);
	next->fence =
		w->target.writer.fence ? w->target.writer.fence : w->seen.fence;
	next->delivered = xstrdup(w->delivered);
	next->rows_total = w->seen.rows_total;
}

static void world_rows(struct world *w, struct batch *b, const char *rows)
{
	char *copy = xstrdup(rows), *rest = copy, *line;

	batch_init(b, &w->schema);
	while ((line = strsep(&rest, "\n")))
		if (*line)
			world_row(b, line);
	free(copy);
}

/* A dry run counts beforehand, in a session of its own. It must leave nothing
 * behind, or the load would count otherwise. */
static void world_preview(struct world *w, const struct batch *batch,
			  const struct checkpoint *next,
			  struct load_counts *out)
{
	struct target target = w->target;
	struct explanation plan = { NULL, 0, 0 };
	struct destination *d = NULL;
	struct error err = ERROR_INIT;
	int rc = w->ops->open(&d, &w->conn, &err);

	target.preview = true;
	memset(&target.writer, 0, sizeof(target.writer));
	if (!rc)
		rc = w->ops->prepare(d, &target, &err);
	if (!rc)
		rc = w->ops->explain(d, &plan, &err);
	if (!rc)
		rc = w->ops->preview(d, batch, next, out, &err);
	w->previewed = -rc;
	w->ops->close(d);
	explanation_release(&plan);
	snprintf(w->preview_said, sizeof(w->preview_said), "%s", err.message);
}

static void world_expect_previewed(struct world *w, const struct load_counts *p)
{
	if (w->previewed)
		fail_msg("preview: %s, and the load: nothing", w->preview_said);
	assert_int_equal(p->inserted, w->counts.inserted);
	assert_int_equal(p->updated, w->counts.updated);
	assert_int_equal(p->unchanged, w->counts.unchanged);
}

int world_load(struct world *w, const char *rows, const char *mark)
{
	bool rehearsed = w->rehearse && *rows && !w->target.refresh &&
			 !w->target.preview;
	struct load_counts before = { -1, -1, -1, -1, -1 };
	struct checkpoint next;
	struct batch batch;
	int rc;

	world_rows(w, &batch, rows);
	world_next(w, &next, mark);
	next.cut = w->cut;
	next.rows_total += (int64_t)batch.n_rows - w->cut;
	w->counts = (struct load_counts){ -1, -1, -1, -1, 0 };
	error_clear(&w->err);
	if (rehearsed)
		world_preview(w, &batch, &next, &before);
	rc = w->target.preview ? w->ops->preview(w->destination, &batch, &next,
						 &w->counts, &w->err)
			       : w->ops->load(w->destination, &batch, &next,
					      &w->counts, &w->err);
	if (!rc && rehearsed)
		world_expect_previewed(w, &before);
	if (!rc)
		w->seen.rows_total = next.rows_total;
	checkpoint_release(&next);
	batch_release(&batch);
	return -rc;
}

int64_t world_remove(struct world *w, const char *rows, const char *mark)
{
	struct checkpoint next;
	struct batch batch;
	int64_t removed = -1;
	int rc;

	world_rows(w, &batch, rows);
	world_next(w, &next, mark);
	error_clear(&w->err);
	rc = w->ops->remove(w->destination, &batch, &next, &removed, &w->err);
	checkpoint_release(&next);
	batch_release(&batch);
	return rc ? rc : removed;
}

int world_finish(struct world *w, const char *mark)
{
	struct checkpoint next;
	int rc;

	world_next(w, &next, mark);
	error_clear(&w->err);
	rc = w->ops->finish(w->destination, &next, &w->err);
	checkpoint_release(&next);
	return -rc;
}

void world_sync(struct world *w, const char *rows, const char *mark)
{
	if (world_begin(w))
		fail_msg("begin: %s", w->err.message);
	if (world_load(w, rows, mark))
		fail_msg("load: %s", w->err.message);
	world_close(w);
}

const char *world_query(struct world *w, const char *sql)
{
	if (client_run(w->quirks, w->place, sql, &world_output))
		fail_msg("%s: %s", sql, world_output.data);
	return world_output.data;
}

void world_exec(struct world *w, const char *sql)
{
	world_query(w, sql);
}

const char *world_mark(struct world *w)
{
	return world_query(w, "SELECT watermark FROM _tidemark_watermark "
			      "WHERE pipeline = 'contract';");
}

void world_expect_counts(struct world *w, int inserted, int updated,
			 int unchanged)
{
	assert_int_equal(w->counts.inserted, inserted);
	assert_int_equal(w->counts.updated, updated);
	assert_int_equal(w->counts.unchanged, unchanged);
}

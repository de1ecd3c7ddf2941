/*
 * Read a table through its connector, as a first run does, and throw the rows
 * away: read_source URL TABLE STRATEGY COLUMN. Prints rows, seconds of wall
 * clock, seconds of the processor.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/plugin/registry.h"

struct reading {
	const struct connector_ops *ops;
	struct connector *connector;
	struct connection conn;
	struct source_spec source;
	struct watermark_spec mark;
	struct schema schema;
	struct watermark from;
	struct settled settled;
	json_t *identity;
};

static int reading_open(struct reading *r, char **argv, struct error *err)
{
	static struct strlist none = STRLIST_INIT;
	int rc = url_parse(&r->conn.url, argv[1], err);

	r->conn.name = (char *)"source";
	r->conn.connect_timeout_us = 10 * US_PER_SECOND;
	r->conn.silence_timeout_us = 300 * US_PER_SECOND;
	r->source.table = argv[2];
	r->source.columns = r->source.key = &none;
	r->mark.column = argv[4];
	r->mark.time_zone = "auto";
	r->mark.settle = true;
	if (!rc && !strategy_parse(argv[3], &r->mark.strategy))
		rc = error_set(err, ERROR_CONFIG, "no strategy: %s", argv[3]);
	schema_init(&r->schema);
	watermark_init(&r->from);
	settled_init(&r->settled);
	r->from.strategy = r->mark.strategy;
	if (!rc)
		rc = registry_connector(r->conn.url.engine, &r->ops, err);
	return rc ? rc : r->ops->open(&r->connector, &r->conn, err);
}

static int reading_begin(struct reading *r, struct error *err)
{
	int rc = r->ops->describe(r->connector, &r->source, &r->mark,
				  &r->schema, err);

	if (!rc)
		rc = r->ops->identity(r->connector, &r->source, &r->identity,
				      err);
	return rc ? rc
		  : r->ops->settle(r->connector, &r->source, &r->schema,
				   &r->mark, &r->from, &r->settled, err);
}

/* The most that the main job takes for a batch. */
static int reading_drain(struct reading *r, int64_t *rows, struct error *err)
{
	const struct scan scan = { .source = &r->source,
				   .schema = &r->schema,
				   .mark = &r->mark,
				   .from = &r->from,
				   .settled = &r->settled,
				   .identity = r->identity };
	struct batch batch;
	int rc = r->ops->scan(r->connector, &scan, err);

	batch_init(&batch, &r->schema);
	while (!rc) {
		batch_reset(&batch);
		batch.max_rows = 160000;
		batch.max_bytes = (size_t)32 << 20;
		rc = r->ops->next(r->connector, &batch, err);
		if (!batch.n_rows)
			break;
		*rows += (int64_t)batch.n_rows;
	}
	batch_release(&batch);
	return rc;
}

int main(int argc, char **argv)
{
	struct reading r = { .connector = NULL };
	struct error err = ERROR_INIT;
	struct rusage used;
	int64_t rows = 0, begun;
	int rc;

	if (argc != 5) {
		fprintf(stderr, "usage: read_source URL TABLE STRATEGY "
				"COLUMN\n");
		return 2;
	}
	rc = reading_open(&r, argv, &err);
	if (!rc)
		rc = reading_begin(&r, &err);
	begun = clock_monotonic_us();
	if (!rc)
		rc = reading_drain(&r, &rows, &err);
	if (rc) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	getrusage(RUSAGE_SELF, &used);
	printf("%" PRId64 " %.3f %.3f\n", rows,
	       (double)(clock_monotonic_us() - begun) / US_PER_SECOND,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) /
			       US_PER_SECOND);
	r.ops->close(r.connector);
	return 0;
}

#include "core/sync/report/show.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/stop.h"
#include "core/plugin/naming.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/about.h"
#include "core/sync/parts/range.h"
#include "core/sync/parts/range_value.h"
#include "core/sync/parts/stopper.h"

struct showing {
	const struct pipeline_settings *p;
	const struct show_options *options;
	struct connector *source;
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	char *column, *since; /* owned */
	struct range range;
	struct watermark from; /* without a value */
	struct scan scan;
};

static int showing_check(const struct showing *s, struct error *err)
{
	if (!s->options->since || strategy_has_column(s->p->strategy))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "--since needs a column that marks the rows of %s, "
			 "and strategy %s has none" ERROR_FIX
			 ": leave it out, or take --limit",
			 s->p->source_table, strategy_name(s->p->strategy));
}

/* No row is held back or left out for its mark. */
static void showing_mark(struct showing *s)
{
	settings_watermark_spec(s->p, &s->mark);
	s->mark.lag_us = s->mark.lag_count = 0;
	s->mark.tail = TAIL_HOLD;
	s->mark.nulls = NULLS_INCLUDE;
	s->mark.keyless = true;
}

/* The key alone puts rows in an order that nothing else changes. */
static void showing_by_key(struct showing *s)
{
	const struct column *key = &s->schema.columns[s->schema.key[0]];

	s->column = xstrdup(column_source(key));
	s->mark.strategy = STRATEGY_SEQUENCE;
	s->mark.any_type = true;
	s->mark.column = s->column;
}

static int showing_since(struct showing *s, struct error *err)
{
	const char *column = s->mark.column;
	enum range_kind kind = range_value_kind(&s->mark, &s->schema);
	long at = schema_find_source(&s->schema, column);
	int rc = range_value_read(kind, column, "--since", s->options->since,
				  &s->since, err);

	if (!rc && kind == RANGE_TIME && at >= 0)
		rc = range_value_time(s->schema.columns[at].type.kind,
				      engine_has(s->p->source->url.engine,
						 ENGINE_SHORT_YEARS),
				      column, "--since", &s->since, err);
	s->range.from = s->since;
	return rc;
}

static int showing_describe(struct showing *s, struct error *err)
{
	int rc;

	showing_mark(s);
	rc = source_describe(s->source, &s->spec,
			     s->options->since ? &s->mark : NULL, &s->schema,
			     err);
	if (rc || (!s->options->since && !s->schema.n_key))
		return rc;
	if (s->options->since) {
		rc = showing_since(s, err);
	} else {
		showing_by_key(s);
		schema_release(&s->schema);
		rc = source_describe(s->source, &s->spec, &s->mark, &s->schema,
				     err);
	}
	s->from.strategy = s->mark.strategy;
	s->scan.mark = &s->mark;
	s->scan.from = &s->from;
	s->scan.range = &s->range;
	s->scan.unordered = !s->schema.n_key;
	return rc ? rc
		  : range_settle(s->source, &s->spec, &s->mark, &s->schema,
				 err);
}

static int showing_open(struct showing *s, struct error *err)
{
	int rc = showing_describe(s, err);

	s->scan.source = &s->spec;
	s->scan.schema = &s->schema;
	if (!rc)
		rc = s->source->ops->scan(s->source, &s->scan, err);
	if (rc)
		about_table(err, s->p->source_table);
	return rc;
}

static int showing_read(struct showing *s, struct error *err)
{
	const struct show_options *o = s->options;
	int64_t left = o->limit ? o->limit : INT64_MAX;
	struct batch b;
	bool more = o->begin(o->ctx, &s->schema);
	int rc = 0;

	batch_init(&b, &s->schema);
	while (!rc && more && left > 0) {
		batch_reset(&b);
		b.max_rows =
			(size_t)(left < s->p->batch_rows ? left
							 : s->p->batch_rows);
		b.max_bytes = (size_t)s->p->batch_bytes;
		rc = s->source->ops->next(s->source, &b, err);
		if (rc || !b.n_rows)
			break;
		left -= (int64_t)b.n_rows;
		more = o->rows(o->ctx, &b);
		if (stop_requested())
			rc = error_set(err, ERROR_STOPPED, "stopped");
	}
	batch_release(&b);
	return rc;
}

int show_rows(const struct pipeline_settings *p, const struct show_options *o,
	      struct error *err)
{
	struct showing s = { .p = p, .options = o };
	struct stopper stopper = { .source = NULL };
	int rc = showing_check(&s, err);

	schema_init(&s.schema);
	watermark_init(&s.from);
	settings_source_spec(p, &s.spec);
	if (!rc)
		rc = registry_open_connector(p->source, &s.source, err);
	if (!rc) {
		stopper_start(&stopper, s.source);
		rc = showing_open(&s, err);
	}
	if (!rc)
		rc = showing_read(&s, err);
	stopper_end(&stopper);
	if (s.source)
		s.source->ops->close(s.source);
	schema_release(&s.schema);
	watermark_release(&s.from);
	free(s.column);
	free(s.since);
	return rc;
}

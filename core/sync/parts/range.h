/*
 * A range of a pipeline's rows, in the form of a question to the source. It
 * goes by the values of the mark column (xmin: of the first key column).
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_RANGE_H
#define TIDEMARK_CORE_SYNC_PARTS_RANGE_H

#include "core/plugin/connector.h"
#include "core/settings/settings.h"

/* Find the column that orders a pipeline's rows for a range, and their schema
 * for a load. `*column` is owned by the caller, and `mark` points to it.
 * SCHEMA, CONFIG, or an error of the source. */
int range_describe(struct connector *source, const struct pipeline_settings *p,
		   const struct source_spec *spec, struct watermark_spec *mark,
		   char **column, struct schema *schema, struct error *err);

/* Some sources have to look at their rows before they know how marks are
 * written: before a cut, or the scan of a range. */
int range_settle(struct connector *source, const struct source_spec *spec,
		 const struct watermark_spec *mark, const struct schema *schema,
		 struct error *err);

#endif

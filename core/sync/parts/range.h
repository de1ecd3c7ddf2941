/*
 * A range of a pipeline's rows, by the values of its mark column (xmin: of its
 * first key column): how the source is to be asked for it.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_RANGE_H
#define TIDEMARK_CORE_SYNC_PARTS_RANGE_H

#include "core/plugin/connector.h"
#include "core/settings/settings.h"

/* What puts a pipeline's rows in order for a range, and their schema as a load
 * of them needs it. `*column` is owned by the caller, and `mark` points to it.
 * SCHEMA, CONFIG, and whatever the source says. */
int range_describe(struct connector *source, const struct pipeline_settings *p,
		   const struct source_spec *spec, struct watermark_spec *mark,
		   char **column, struct schema *schema, struct error *err);

/* Some sources have to look at their rows before they know how marks are
 * written: before a cut, or the scan of a range. */
int range_settle(struct connector *source, const struct source_spec *spec,
		 const struct watermark_spec *mark, const struct schema *schema,
		 struct error *err);

#endif

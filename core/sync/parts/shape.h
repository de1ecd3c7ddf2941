/*
 * The settings that shape the rows of a pipeline, as digests in its mark. When
 * one of them has changed, rows up to the mark would be other rows now, and all
 * are read again. In JSON, the mark's member "shape":
 *
 *   {"config":"/etc/tidemark.yaml",   where the config was, or "copy"
 *    "columns":"...","where":"...","zero_dates":"...","logic_version":1,
 *    "expressions":{"NAME":"..."},    the config's
 *    "view":"...",                    its query, if the source is one
 *    "query":"...",                   the same, if the config has it
 *    "types":{"NAME":"..."},          each column's type, modifier, labels
 *    "sources":{"NAME":"..."},        the source's name of a renamed column
 *    "before":"...","turns":1}        the config's digest before this one, and
 *                                     how often the two have followed another
 *
 * Sizes, paces, limits and connections shape no row: they only say how rows
 * travel.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_SHAPE_H
#define TIDEMARK_CORE_SYNC_PARTS_SHAPE_H

#include <jansson.h>

#include "core/base/strbuf.h"
#include "core/data/schema.h"
#include "core/settings/settings.h"

/* New reference. */
json_t *shape_of(const struct pipeline_settings *p, const struct schema *s);
/* Compare `now` with the mark's `seen` (NULL: of an older version, which counts
 * as the same). True if all rows are to be read again. Appends the changes to
 * `what`, for messages. Completes `now` by the shape that it follows. */
bool shape_follow(json_t *now, const json_t *seen, struct strbuf *what);
/* SCHEMA: another config that is still there, or one that changes back and
 * forth, brings other rows under the pipeline's name. After shape_follow(). */
int shape_check(const struct pipeline_settings *p, const json_t *now,
		const json_t *seen, struct error *err);
/* SCHEMA: another column of the source fills one of the key than under `seen`
 * (NULL: as above). Rows that are there would stay beside those that come. */
int shape_check_key(const struct pipeline_settings *p, const struct schema *s,
		    const json_t *seen, struct error *err);

/* The same for `check`: what a run would do about the mark's `seen`. True if
 * it would read all rows again. */
bool shape_inspect(const struct pipeline_settings *p, const struct schema *s,
		   const json_t *seen, struct problems *out);

#endif

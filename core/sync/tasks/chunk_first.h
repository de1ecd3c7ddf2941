/* Steps of a chunk that is a range of a first load (streams.h). */
#ifndef TIDEMARK_CORE_SYNC_TASKS_CHUNK_FIRST_H
#define TIDEMARK_CORE_SYNC_TASKS_CHUNK_FIRST_H

#include "core/store/chunks.h"
#include "core/sync/run/run.h"

/* Before the range is described, with strategy xmin: TRANSIENT if this
 * session's server has not come as far as the load's begin. A replica that is
 * behind may have answered. Its range would lack rows that the run, which goes
 * on from the begin, does not read again. */
int chunk_first_server(struct run *r, const struct chunk *c, struct error *err);
/* The position of the range's last row, whichever attempt has loaded it: the
 * text of a mark, or NULL. `last` is that of the pass's end. `*out` is freed
 * first. */
void chunk_first_position(const struct run *r, const struct watermark *last,
			  char **out);

#endif

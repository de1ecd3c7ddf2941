/*
 * The pipelines of a round that have not been asked about yet. The first of
 * several that use the same connection asks for those behind it, too:
 * `foresee` of connectors and destinations. All functions may be called by any
 * thread.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_FORESIGHT_H
#define TIDEMARK_CORE_SYNC_PARTS_FORESIGHT_H

#include "core/settings/settings.h"

/* So many are asked about at once: the answers are used within seconds. */
#define FORESIGHT_MOST 32

struct foresight;

enum foresight_end { FORESIGHT_SOURCE, FORESIGHT_DESTINATION };

/* `pipelines` in the order in which they begin; the list is copied. */
struct foresight *
foresight_new(const struct pipeline_settings *const *pipelines, size_t n);
void foresight_free(struct foresight *f); /* NULL is fine */
/* `p` and those behind it that have the same connection at this end, at most
 * FORESIGHT_MOST, into `out`: ask about them, then foresight_told(). 0: another
 * asked, and this waits for it; or there is nobody behind it. `f` may be
 * NULL. */
size_t foresight_take(struct foresight *f, enum foresight_end end,
		      const struct pipeline_settings *p,
		      const struct pipeline_settings **out);
void foresight_told(struct foresight *f, enum foresight_end end,
		    const struct pipeline_settings *const *taken, size_t n);

#endif

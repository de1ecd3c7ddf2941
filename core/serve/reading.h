/*
 * A reading of the config beside the scheduler, in a thread of its own. Sources
 * of wildcards may take their time to answer, or never do.
 */
#ifndef TIDEMARK_CORE_SERVE_READING_H
#define TIDEMARK_CORE_SERVE_READING_H

#include "core/serve/serve.h"

struct reading;
/* `options` outlives it. NULL: the system has no thread for it. */
struct reading *reading_begin(const struct serve_options *options,
			      enum serve_reading why);
enum serve_reading reading_why(const struct reading *r);
bool reading_is_over(struct reading *r);
/* Waits for its end, and frees it. The generation is the caller's; NULL and an
 * error: it could not be read. */
struct generation *reading_end(struct reading *r, struct error *err);

#endif

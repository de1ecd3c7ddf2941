/*
 * The owner of a refresh. From the making of the stage to the swap, the
 * pipeline's row in _tidemark_watermark carries a word as batch_id. No other
 * attempt has this word, and it names the process. So a live refresh is told
 * from one that was killed.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_REFRESH_H
#define TIDEMARK_DESTINATIONS_COMMON_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

#define REFRESH_PREFIX "refresh-"

/* A new one, of this process. Caller frees. */
char *refresh_id_new(void);
/* Is a refresh under way, or was it killed? NULL is fine. */
bool refresh_id_is(const char *batch_id);
/* STATE naming the process when `batch_id` is the refresh of another process
 * that is alive on this host. About another host nobody can tell: 0. */
int refresh_id_check_free(const char *batch_id, const char *pipeline,
			  struct error *err);
/* The cause of a wrong number of rows, and the advice. */
#define REFRESH_MISCOUNT                                                       \
	". A trigger or another session has changed rows of the new "          \
	"one" ERROR_FIX "; find out which, stop it, and run again"
/* DATA unless the table that a refresh has filled `has` what was `built`. */
int refresh_check_built(const char *table, int64_t has, int64_t built,
			struct error *err);
/* Can another run that has taken over be the cause of `rc`? Such are final
 * errors: a table that is not there, or that has gone while it was written. */
static inline bool refresh_may_be_overtaken(int rc)
{
	return rc == -ERROR_SCHEMA || rc == -ERROR_DATA || rc == -ERROR_BUG ||
	       rc == -ERROR_UNKNOWN;
}

#endif

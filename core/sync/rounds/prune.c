#include "core/sync/rounds/prune.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/store/history.h"
#include "core/sync/letters/desk.h"

#define PRUNE_KEEP_US (3600 * US_PER_SECOND)

void prune_idle(struct store *store)
{
	struct error err = ERROR_INIT;

	if (store_history_thin(store, PRUNE_KEEP_US, 2 * PRUNE_THIN_US, &err))
		log_debug("%s", err.message);
}

void prune_history(const struct settings *s, struct store *store,
		   const struct pipeline_settings *const *pipelines, size_t n)
{
	struct error err = ERROR_INIT;
	int rc = s->state_keep_us
			 ? store_history_prune(store, s->state_keep_us, &err)
			 : 0;

	for (size_t i = 0; !rc && s->state_letters_us && i < n; i++)
		rc = letter_desk_expire(store, pipelines[i]->name,
					s->state_letters_us, &err);
	if (rc)
		log_debug("%s", err.message);
}

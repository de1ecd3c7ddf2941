#include "core/sync/parts/load.h"

#include <inttypes.h>

#include "core/sync/parts/stamp.h"

static int load_account(const struct batch *b, const struct load_counts *counts,
			struct error *err)
{
	int64_t sum = counts->inserted + counts->updated + counts->unchanged;

	if (sum == (int64_t)b->n_rows)
		return 0;
	return error_set(err, ERROR_BUG,
			 "accounting: %zu rows read but %" PRId64
			 " inserted + %" PRId64 " updated + %" PRId64
			 " unchanged",
			 b->n_rows, counts->inserted, counts->updated,
			 counts->unchanged);
}

/* A deadlock is nobody's fault, and its loser has lost one transaction only.
 * The conflicts of batches that do not last do not add up. */
int load_batch(struct destination *d, const struct target *target,
	       const struct batch *b, const struct checkpoint *next, bool lasts,
	       struct tries *tries, struct load_counts *out, struct error *err)
{
	struct tries now = *tries;
	struct stamped s;
	int rc;

	stamp_begin(&s, target->schema, b);
	do {
		error_clear(err);
		rc = target->preview
			     ? d->ops->preview(d, s.batch, next, out, err)
			     : d->ops->load(d, s.batch, next, out, err);
	} while (rc == -ERROR_CONFLICT && tries_again(&now, err));
	stamp_end(&s);
	if (rc)
		*tries = now;
	else
		tries_progress(tries, lasts && !target->preview);
	return rc ? rc : load_account(b, out, err);
}

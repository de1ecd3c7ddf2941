#include "core/serve/clocks.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/store/leases.h"

/* Clocks that drift are no clocks that were set. */
#define CLOCKS_DRIFT_US US_PER_SECOND

int64_t clocks_store_now(const struct clocks *c)
{
	return clock_now_us() + c->ahead_us;
}

bool clocks_look(struct clocks *c)
{
	int64_t ours = clock_now_us() - clock_boot_us();
	bool first = !c->ours_us;
	bool was_set = llabs(ours - c->ours_us) > CLOCKS_DRIFT_US;

	if (was_set && !first)
		log_warn("this machine's clock was set by %+.1f s",
			 (double)(ours - c->ours_us) / 1e6);
	c->ours_us = ours;
	c->set |= was_set;
	return was_set;
}

int clocks_compare(struct clocks *c, struct store *store, bool *was_set,
		   struct error *err)
{
	int64_t before = clock_now_us(), there = 0, stores;
	int rc = store_clock(store, &there, err);

	if (rc)
		return rc;
	c->ahead_us = there - before - (clock_now_us() - before) / 2;
	stores = clocks_store_now(c) - clock_boot_us();
	*was_set = c->set || llabs(stores - c->stores_us) > CLOCKS_DRIFT_US;
	c->stores_us = stores;
	c->set = false;
	return 0;
}

/*
 * The heartbeats of this process: one thread with one session of the state
 * store renews the leases of all keepers.
 */
#ifndef TIDEMARK_CORE_SYNC_LEDGER_BEAT_H
#define TIDEMARK_CORE_SYNC_LEDGER_BEAT_H

#include "core/base/error.h"

struct lease_keeper;

/* Renew its lease from now on, until it is lost. ACCESS if there is no thread
 * for it. */
int beat_begin(struct lease_keeper *k, struct error *err);
/* No more. Waits for a renewal that is under way. Harmless if not begun. */
void beat_end(struct lease_keeper *k);

#endif

/*
 * One session of the state store for many threads: each statement, and each
 * transaction from its begin to its end, is alone.
 */
#ifndef TIDEMARK_CORE_STORE_SHARED_H
#define TIDEMARK_CORE_STORE_SHARED_H

#include "core/plugin/store.h"

/* A handle that any number of threads may use, over `inner`, which nobody else
 * uses from now on. To close it closes both. NULL is fine. */
struct store *store_share(struct store *inner);

#endif

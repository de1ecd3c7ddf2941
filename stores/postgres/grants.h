/* The rights that the state store takes at its server. */
#ifndef TIDEMARK_STORES_POSTGRES_GRANTS_H
#define TIDEMARK_STORES_POSTGRES_GRANTS_H

#include "core/plugin/store.h"

/* store_ops.grants */
int postgres_store_grants(const struct connection *conn, struct grants *out,
			  struct error *err);

#endif

/* A standby that has not replayed as far as a mark that was taken elsewhere. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_REPLAY_H
#define TIDEMARK_CONNECTORS_POSTGRES_REPLAY_H

#include <stdint.h>

#include "connectors/postgres/postgres.h"

/* The mark is ahead of where this server stands, `at`. 0: the server is no
 * standby, so that is no reason. Else SCHEMA, with how far it has replayed. */
int postgres_source_replay_check(const struct postgres *c, const char *mark,
				 const char *at, struct error *err);
/* The mark of strategy xmin is ahead of the server, which is at `xmax`: SCHEMA,
 * and the reason. */
int postgres_source_replay_refuse_xid(const struct postgres *c, uint64_t mark,
				      uint64_t xmax, struct error *err);

#endif

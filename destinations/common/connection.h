/* A connection of one's own, for destinations that reconnect. */
#ifndef TIDEMARK_DESTINATIONS_COMMON_CONNECTION_H
#define TIDEMARK_DESTINATIONS_COMMON_CONNECTION_H

#include "core/base/connection.h"
#include "core/plugin/destination.h"

/* `dst` is overwritten: it holds nothing before. */
void connection_copy(struct connection *dst, const struct connection *src);
void connection_release(struct connection *c);

/* For destination_ops.session, where no server could end it: a file's, or one
 * whose requests stand for themselves. */
const char *connection_no_session(struct destination *d);

#endif

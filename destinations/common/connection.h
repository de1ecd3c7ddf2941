/* A connection of one's own, for destinations that reconnect. */
#ifndef TIDEMARK_DESTINATIONS_COMMON_CONNECTION_H
#define TIDEMARK_DESTINATIONS_COMMON_CONNECTION_H

#include "core/base/connection.h"

/* `dst` is overwritten: it holds nothing before. */
void connection_copy(struct connection *dst, const struct connection *src);
void connection_release(struct connection *c);

#endif

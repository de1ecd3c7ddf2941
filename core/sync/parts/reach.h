/*
 * The connections of a round, as far as pipelines could reach them. The first
 * one that is refused tries on for all. Its last word holds for the others, for
 * a time or until the round ends. All functions may be called by any thread.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_REACH_H
#define TIDEMARK_CORE_SYNC_PARTS_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/error.h"

struct reach;
/* `changed` is called when another may go on, or has to end; it may not call
 * back. A last word holds for `keep_us`; 0: to the end. */
struct reach *reach_new(int64_t keep_us, void (*changed)(void *ctx), void *ctx);
void reach_free(struct reach *r);

/* The error of a connection that is given up, told as another's; its code is
 * as it was. 0: it may be tried. Connections are told apart by their address.
 * `r` may be NULL, in all of these. */
int reach_check(struct reach *r, const struct connection *c, struct error *err);
/* Somebody else is trying on whether it can be reached. */
bool reach_is_doubted(struct reach *r, const struct connection *c,
		      const void *who);
/* `who` could not open a session: TRANSIENT, UNKNOWN or ACCESS, or it is passed
 * over. The first of them tries on for all. */
void reach_refused(struct reach *r, const struct connection *c, const void *who,
		   const struct error *why);
void reach_opened(struct reach *r, const struct connection *c);
/* `who` tries no more. Connections for which it was trying on are given up for
 * the reason that was last, or if it was not `failed` then anybody tries. */
void reach_end(struct reach *r, const void *who, bool failed);

#endif

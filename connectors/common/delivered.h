/*
 * The tail is delivered ahead of the mark. Its highest value is kept as
 * pending.delivered for as long as it is beyond the mark's own value. A
 * transaction that began early and commits late may leave the newest version of
 * a row with an older mark than the one delivered. So up to this value the
 * source's present version wins, whatever the row's mark.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_DELIVERED_H
#define TIDEMARK_CONNECTORS_COMMON_DELIVERED_H

#include "core/data/number.h"
#include "core/data/watermark.h"

/* Take over the value that earlier runs left. */
void delivered_begin(struct watermark *now, const struct watermark *from);
/* A row of the tail with this mark was delivered. */
void delivered_tail(struct watermark *now, const char *last);
/* The value has moved. */
void delivered_settle(struct watermark *now);

/* `text` less a count. A number of too many digits for the computation becomes
 * a lower one. Caller frees. */
char *number_less(const char *text, int64_t less);

#endif

/* The table that a refusal is about: a connector's message need not name it. */
#ifndef TIDEMARK_CORE_SYNC_PARTS_ABOUT_H
#define TIDEMARK_CORE_SYNC_PARTS_ABOUT_H

#include "core/base/error.h"

/* Put the table before a refusal (CONFIG, SCHEMA, DATA) that does not name it.
 */
void about_table(struct error *err, const char *table);

#endif

/*
 * The tables that hold a table's rows (partitions, heirs), as a mark lists
 * them. A leaf that the mark does not know was attached since, and may hold
 * rows of any age. The list stands in the mark's pending part, under "leaves".
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_LEAF_LIST_H
#define TIDEMARK_CONNECTORS_POSTGRES_LEAF_LIST_H

#include <jansson.h>

#include "connectors/postgres/relation.h"
#include "core/data/watermark.h"

#define LEAF_LIST "leaves"

/* Has the table leaves to tell apart? */
bool postgres_source_leaf_list_applies(const struct relation *relation);
/* All of them, in their order; or NULL: none to tell apart. New reference. */
json_t *postgres_source_leaf_list_new(const struct relation *relation,
				      const struct leaves *leaves);
/* The leaves that `from` has read, as its pending `member` says; NULL: all
 * there are. New reference. */
json_t *postgres_source_leaf_list_known(const struct relation *relation,
					const struct watermark *from,
					const char *member);
bool postgres_source_leaf_list_has(const json_t *known,
				   uint32_t oid); /* NULL: any */

#endif

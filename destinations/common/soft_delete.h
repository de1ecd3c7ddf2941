/*
 * The column that marks rows which the source has no longer: what is written
 * there depends on its type. Used by the statements of every engine.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_SOFT_DELETE_H
#define TIDEMARK_DESTINATIONS_COMMON_SOFT_DELETE_H

#include "core/plugin/destination.h"

enum soft_delete {
	SOFT_DELETE_NONE, /* not asked for, or the table has no such column */
	SOFT_DELETE_TIME, /* when it was marked; NULL: it is not */
	SOFT_DELETE_FLAG /* true; false or NULL: it is not */
};

/* `type`: of the column named by the target, as the table's catalog spells it;
 * NULL: it is not there. */
enum soft_delete soft_delete_of(const struct target *target, const char *type);
/* As SQL behind the column's name, where it is one of the two. */
const char *soft_delete_is(enum soft_delete kind); /* marked */
const char *soft_delete_is_not(enum soft_delete kind);
const char *soft_delete_clears(enum soft_delete kind); /* " = ..." */
/* For remove(): SCHEMA if rows are to be marked and cannot be. `example`: what
 * the engine calls an instant. */
int soft_delete_check(const struct target *target, enum soft_delete kind,
		      const char *example, struct error *err);

#endif

/*
 * Both ends of a pipeline, open before its run begins. `copy` asks them for the
 * pipeline's name, and the run's first attempt goes on with the same sessions.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_ENDS_H
#define TIDEMARK_CORE_SYNC_PARTS_ENDS_H

#include "core/plugin/connector.h"
#include "core/plugin/destination.h"

struct ends {
	struct connector *source;
	struct destination *destination;
};

/* NULL if there is none, or `e` is NULL. The caller closes what it took. */
struct connector *ends_take_source(struct ends *e);
struct destination *ends_take_destination(struct ends *e);
/* Close what nobody took. */
void ends_close(struct ends *e);

#endif

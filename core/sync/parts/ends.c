#include "core/sync/parts/ends.h"

#include <stddef.h>

struct connector *ends_take_source(struct ends *e)
{
	struct connector *source = e ? e->source : NULL;

	if (e)
		e->source = NULL;
	return source;
}

struct destination *ends_take_destination(struct ends *e)
{
	struct destination *destination = e ? e->destination : NULL;

	if (e)
		e->destination = NULL;
	return destination;
}

void ends_close(struct ends *e)
{
	struct connector *source = ends_take_source(e);
	struct destination *destination = ends_take_destination(e);

	if (source)
		source->ops->close(source);
	if (destination)
		destination->ops->close(destination);
}

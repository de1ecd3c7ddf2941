#include "core/sync/parts/opening.h"

#include <string.h>

#include "core/base/log.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/marks.h"

static void *opening_main(void *arg)
{
	struct opening *o = arg;

	struct target target;

	log_place_use(o->place);
	if (registry_open_destination(o->to, &o->destination, &o->error)) {
		o->destination = NULL;
		return NULL;
	}
	if (o->destination->ops->warm) {
		marks_target(o->p, &target);
		o->destination->ops->warm(o->destination, &target, &o->error);
	}
	return NULL;
}

void opening_begin(struct opening *o, const struct pipeline_settings *p,
		   const struct connection *to)
{
	memset(o, 0, sizeof(*o));
	o->p = p;
	o->to = to;
	o->place = log_place_copy(p->name);
	o->started = !pthread_create(&o->thread, NULL, opening_main, o);
	if (!o->started)
		opening_main(o);
}

int opening_end(struct opening *o, struct destination **out, struct error *err)
{
	if (o->started)
		pthread_join(o->thread, NULL);
	*out = o->destination;
	if (o->error.code)
		*err = o->error;
	return -(int)o->error.code;
}

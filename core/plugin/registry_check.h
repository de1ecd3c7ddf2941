/*
 * The registry's checks of a plug-in before anyone calls it. The ABI, the size
 * and the name must fit, and no slot of an ops table may be NULL. Built-in
 * engines and modules are checked alike. A module has to have facts besides.
 */
#ifndef TIDEMARK_CORE_PLUGIN_REGISTRY_CHECK_H
#define TIDEMARK_CORE_PLUGIN_REGISTRY_CHECK_H

#include "core/plugin/registry.h"

/* `where` ("built in", or the module's file) is for the message. CONFIG
 * saying which ABI, size or name; BUG: which table and slot. */
int registry_check(const struct plugin *plugin, const char *engine,
		   const char *where, struct error *err);
/* Add the facts of a module; CONFIG if they are wrong, or there are none. */
int registry_check_engine(const struct plugin *plugin, const char *file,
			  struct error *err);

#endif

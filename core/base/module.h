/*
 * Modules of engines that are not built in: files `tidemark-<engine>.so` in the
 * directories of $TIDEMARK_PLUGIN_PATH, beside the binary, and in
 * libdir/tidemark. The registry loads them; here they are only found.
 */
#ifndef TIDEMARK_CORE_BASE_MODULE_H
#define TIDEMARK_CORE_BASE_MODULE_H

#include <stdbool.h>

#include "core/base/strlist.h"

/* The directories, in the order in which they are searched. */
void module_directories(struct strlist *dirs);
/* The file of an engine's module, the first one found, or NULL. Caller
 * frees. */
char *module_find(const char *engine);
/* The engine's name in a module's file name, or NULL if it is no module's name.
 * Caller frees. */
char *module_engine(const char *file);
/* Does the file lie where this binary's own modules do? */
bool module_is_own(const char *file);

#endif

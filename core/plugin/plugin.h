/*
 * The header that a plug-in includes, as <tidemark/plugin.h>: the contracts,
 * and those of Tidemark's own helpers that an engine is likely to need. Not
 * included within the tree.
 */
#ifndef TIDEMARK_CORE_PLUGIN_PLUGIN_H
#define TIDEMARK_CORE_PLUGIN_PLUGIN_H

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/strbuf.h"
#include "core/base/strlist.h"
#include "core/base/url.h"
#include "core/data/batch.h"
#include "core/data/table_identity.h"
#include "core/data/table_name.h"
#include "core/data/value.h"
#include "core/plugin/registry.h"

/* The symbol that a module exports. All others are to be hidden
 * (-fvisibility=hidden): one that the binary has, too, would be taken from
 * there. */
extern const struct plugin tidemark_plugin
	__attribute__((visibility("default")));

#endif

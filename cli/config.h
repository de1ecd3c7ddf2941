/* Steps that commands with a config file share: find it, load it, pick
 * pipelines. */
#ifndef TIDEMARK_CLI_CONFIG_H
#define TIDEMARK_CLI_CONFIG_H

#include "cli/args.h"
#include "core/settings/settings.h"

/* The config file that a command reads, if it was given `path` (NULL: none);
 * NULL: there is none. */
const char *config_path(const char *path);

/* -c, else tidemark.yaml if it is there, else $TIDEMARK_CONFIG. `out` is
 * released by the caller only if 0 is returned. */
int config_load(const struct arguments *args, struct settings *out,
		struct error *err);

/* The same, and the pipelines of its wildcards are known: as the command needs
 * them, for the state store alone may tell (core/sync/report/expand.h). */
int config_open(const struct arguments *args, struct settings *out,
		struct error *err);
/* Another look at the wildcards, and the pipelines as config_select() gives
 * them; none if what the operands name is gone. With an error those that there
 * were still are. */
int config_renew(const struct arguments *args, struct settings *s,
		 const struct pipeline_settings *const **out, size_t *n,
		 struct error *err);

/* Pipelines of the operands from number `first` on, each once, in config
 * order; all of them if there are no such operands. The name of a wildcard
 * stands for all of its own. Caller frees `*out`, the
 * array only. CONFIG error with the nearest name. */
int config_select(const struct arguments *args, size_t first,
		  const struct settings *s,
		  const struct pipeline_settings *const **out, size_t *n,
		  struct error *err);

/* A command's work on the pipelines that are its operands. */
typedef int (*config_user)(const struct arguments *args,
			   const struct settings *s,
			   const struct pipeline_settings *const *pipelines,
			   size_t n, struct error *err);
/* Load, select from the first operand on, use, release; what `use` returns. */
int config_use(const struct arguments *args, config_user use,
	       struct error *err);

#endif

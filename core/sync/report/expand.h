/*
 * Wildcards of a config, made into pipelines. The source is asked for its
 * tables. A table that is new gets what `init` would choose for it. The state
 * store keeps the choices: a pipeline goes on as it began, and a table that is
 * gone is missed.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_EXPAND_H
#define TIDEMARK_CORE_SYNC_REPORT_EXPAND_H

#include "core/settings/settings.h"

enum expand_mode {
	/* Nobody is asked where the state store knows tables already. */
	EXPAND_KNOWN,
	/* Sources are asked once. Where one does not answer, the state store
	 * tells. */
	EXPAND_TRY,
	/* Sources are asked, and nothing is written. */
	EXPAND_LOOK,
	/* The same, and what is new is kept. */
	EXPAND_KEEP,
	/* The same, and sources are asked once: somebody soon looks again. */
	EXPAND_KEEP_ONCE,
};

/* settings_expand() of what each wildcard has caught; nothing without any. An
 * error of one table, or of a source that cannot be reached, is a fault of the
 * pipelines concerned. CONFIG: a wildcard that catches nothing, and the errors
 * of settings_expand(). With EXPAND_KEEP and EXPAND_KEEP_ONCE, the state
 * store's error. The pipelines are as they were if there is an error. */
int expand_wildcards(struct settings *s, enum expand_mode mode,
		     struct error *err);

/* The next run chooses again for this pipeline of a wildcard. */
int expand_forget(const struct settings *s, const struct pipeline_settings *p,
		  struct error *err);

#endif

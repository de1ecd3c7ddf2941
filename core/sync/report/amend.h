/*
 * `init --add`: pipelines for the tables that a config does not have yet, put
 * behind those that it has. Every byte that a person wrote stays.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_AMEND_H
#define TIDEMARK_CORE_SYNC_REPORT_AMEND_H

#include "core/sync/report/propose.h"

/* `source` and `destination`: names of connections of the config, or their
 * URLs. NULL: the ones that init has named so. Writes the file, as a whole and
 * with its mode, if there is something to add: `out->pipelines`. CONFIG: the
 * file cannot be added to, with the reason and another way. */
int amend(const char *path, const char *source, const char *destination,
	  const struct wish *wish, struct proposal *out, struct error *err);

/* For tests: `text` with the pipelines of `body` (each line indented by 2)
 * behind its own. `name` is for messages. */
int amend_text(const char *name, const char *text, const char *body,
	       size_t n_pipelines, struct strbuf *out, struct error *err);

#endif

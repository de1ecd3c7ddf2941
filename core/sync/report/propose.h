/*
 * `init`: look at a source and write a config for it, one pipeline a table.
 * Strategy and key are chosen, and a comment explains each choice. Passwords of
 * the URLs are not written: a variable takes their place.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_PROPOSE_H
#define TIDEMARK_CORE_SYNC_REPORT_PROPOSE_H

#include "core/base/strbuf.h"
#include "core/base/strlist.h"
#include "core/settings/settings.h"
#include "core/sync/report/wish.h"

/* The schema of the config beside it, which its first line names. */
#define PROPOSE_SCHEMA "tidemark.schema.json"

struct proposal {
	struct strbuf yaml;
	struct strlist pipelines; /* names */
	struct strlist skipped; /* "TABLE: why" */
	struct strlist variables; /* now in the place of passwords */
};

void proposal_init(struct proposal *p);
void proposal_release(struct proposal *p);

/* The URLs as the user wrote them, ${VAR} not expanded. SCHEMA error if the
 * source has no table that can be synced. */
int propose(const char *source_url, const char *destination_url,
	    const struct wish *wish, struct proposal *out, struct error *err);
/* The same for tables that a config has not, as the body of its `pipelines:`,
 * indented by 2; nothing if there are none. The connections are the config's.
 */
int propose_more(const struct settings *s, const struct connection *source,
		 const struct connection *destination, const struct wish *wish,
		 struct proposal *out, struct error *err);

/* Copy a URL into `out` without a literal password (user:PASSWORD@ or
 * ?password=); returns whether there was one. Other secrets of the query become
 * variables, named by `end` ("SOURCE") and their key, and are added to
 * `variables`. */
bool propose_hide_password(const char *url, const char *end, struct strbuf *out,
			   struct strlist *variables);

/* The strategy and column that the source suggests for a table, as `copy
 * --watermark` takes them ("timestamp:updated_at", "xmin"), and why. Caller
 * frees both. */
int propose_watermark(const struct pipeline_settings *p, const char *table,
		      char **watermark, char **reason, struct error *err);

/* The tables of a source but Tidemark's own, as init takes them. */
int propose_list(struct connector *source, struct table_list *out,
		 struct error *err);
/* The keys of a pipeline that init would write for a table: key, watermark. A
 * `key` that is not empty is the table's. A new reference; NULL for a raw table
 * of ours, of which init does not speak. An error says why it cannot be
 * synced. */
int propose_choose(struct connector *source, const char *table,
		   const struct strlist *key, json_t **out, struct error *err);

#endif

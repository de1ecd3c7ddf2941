/*
 * Pipelines that a config does not name one by one: `tables: "public.*"`. The
 * tables of a source tell which ones they are, so that settings_load() knows
 * none of them yet. settings_expand() makes them once it is told what was
 * caught. The head of core/sync/report/expand.h says who finds that out.
 */
#ifndef TIDEMARK_CORE_SETTINGS_WILDCARD_H
#define TIDEMARK_CORE_SETTINGS_WILDCARD_H

#include "core/data/table_pattern.h"
#include "core/settings/settings.h"

/* A pattern and where it was written. */
struct wildcard_pattern {
	struct table_pattern pattern;
	char *text;
	struct config_place at;
	const struct config_node *node; /* an override's map; else NULL */
};
struct wildcard_patterns {
	struct wildcard_pattern *items;
	size_t n;
};

struct wildcard {
	char *name;
	struct config_place at;
	const struct connection *source, *destination; /* owned by settings */
	struct wildcard_patterns tables, exclude, overrides;
	char *schema; /* the targets'; NULL: none */
	bool skip_missing;
	struct retry_policy retry;
	struct config_node *body; /* its map, with the defaults */
};

/* The table is one of its tables, whether or not it is excluded. */
bool wildcard_names(const struct wildcard *w, const struct table_name *name);
/* The table is caught: one of its tables, and not excluded. */
bool wildcard_catches(const struct wildcard *w, const struct table_name *name);

/* The keys that would be chosen for a table, as far as the config says them:
 * key, watermark, load. A new reference to an object. */
json_t *wildcard_said(const struct wildcard *w, const char *table);

/* A table that a wildcard has caught. Owned texts. */
struct caught {
	char *pipeline; /* its name */
	char *table; /* as the config takes it */
	/* Keys of a pipeline that hold where the config has none of them: key,
	 * watermark, load; or NULL. */
	json_t *chosen;
	bool known; /* it was there under this name before */
	struct error fault; /* why it cannot run; or ERROR_NONE */
};
/* The tables of one wildcard. */
struct catch
{
	struct caught *items;
	size_t n, capacity;
	/* An override for a table that is not among them is no mistake: not all
	 * are known. */
	bool partial;
};
/* `table` and `pipeline` are copied; `chosen` is stolen. */
struct caught *catch_add(struct catch *c, const char *pipeline,
			 const char *table, json_t *chosen);
void catch_release(struct catch *c);

/* Make the pipelines anew, those of wildcards from `catches`, one for each of
 * `s->wildcards`. One of a table that cannot run has a `fault`, which speaks of
 * it alone. CONFIG: two have one name, two new ones write to one table, or an
 * override is for nothing; the pipelines stay as they were. Else pointers to
 * them are void. */
int settings_expand(struct settings *s, const struct catch *catches,
		    struct error *err);

/* The place, for messages: "file:line". Caller frees. */
char *wildcard_place(const struct settings *s, const struct wildcard *w);

#endif

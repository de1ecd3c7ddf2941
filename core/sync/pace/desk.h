/*
 * The pace of a pipeline as a person sees and changes it while it runs
 * (`tidemark pace`). Settings made there are kept in the state store, and
 * override the config until they are cleared.
 */
#ifndef TIDEMARK_CORE_SYNC_PACE_DESK_H
#define TIDEMARK_CORE_SYNC_PACE_DESK_H

#include <jansson.h>

#include "core/plugin/store.h"
#include "core/settings/settings.h"

struct pace_view {
	const struct pipeline_settings *p;
	struct pace_limits limits; /* in force */
	json_t *set; /* texts by key, or NULL: the config's alone */
	int64_t changed_at;
	char *changed_by; /* "": not known */
};
void pace_view_release(struct pace_view *v);

/* CONFIG if what is kept in the store is no pace for this config. */
int pace_desk_look(struct store *store, const struct pipeline_settings *p,
		   struct pace_view *out, struct error *err);
/* Set each KEY=VALUE, after forgetting all that was set if `clear`; CONFIG,
 * and nothing is changed, if one is wrong. `who` is kept with it. */
int pace_desk_change(struct store *store, const struct pipeline_settings *p,
		     bool clear, char *const *words, size_t n, const char *who,
		     struct error *err);
/* {"pipeline","pace":{...},"set":{...}|null,"changed_at",
 * "changed_by"}; new reference. */
json_t *pace_view_json(const struct pace_view *v);
/* The keys in the order of the config, each as it would be written there:
 * called for each. */
void pace_view_each(const struct pace_view *v,
		    void (*each)(void *ctx, const char *key, const char *value,
				 bool set),
		    void *ctx);

#endif

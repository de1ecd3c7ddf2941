/* The rights that one pipeline takes at each of its servers. */
#ifndef TIDEMARK_CORE_SYNC_REPORT_GRANTS_H
#define TIDEMARK_CORE_SYNC_REPORT_GRANTS_H

#include "core/plugin/grants.h"
#include "core/settings/settings.h"

enum grants_role {
	GRANTS_SOURCE,
	GRANTS_REPLICA, /* for pace.replicas */
	GRANTS_DESTINATION,
	GRANTS_STATE
};
const char *grants_role_name(enum grants_role role); /* "source" */

/* The use of one connection. */
struct grants_part {
	enum grants_role role;
	const struct connection *connection; /* not owned */
	bool has_users; /* false: a file, and `grants` is empty */
	struct grants grants;
};

struct grants_list {
	struct grants_part *items;
	size_t n;
	size_t capacity;
};

/* Connects to nothing. `state` NULL: no store. CONFIG as of the engines' own;
 * `out` is to be released in any case. */
int grants_list_find(const struct pipeline_settings *p,
		     const struct connection *state, struct grants_list *out,
		     struct error *err);
void grants_list_release(struct grants_list *list);

#endif

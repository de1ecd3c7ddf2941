/*
 * Statements as a dry run shows them: what each is for, its text, and by which
 * index the server would go. Filled by connectors and destinations.
 */
#ifndef TIDEMARK_CORE_PLUGIN_EXPLANATION_H
#define TIDEMARK_CORE_PLUGIN_EXPLANATION_H

#include <stddef.h>

struct explained {
	char *purpose; /* "read", "update", "insert" ... */
	char *sql; /* as it will be sent, with placeholders */
	char *index; /* NULL: none is used, or the engine does not say */
	char *plan; /* the server's own words, in lines; or NULL */
};

struct explanation {
	struct explained *items;
	size_t n;
	size_t capacity;
};

/* Texts copied; `index` and `plan` may be NULL. */
void explanation_add(struct explanation *e, const char *purpose,
		     const char *sql, const char *index, const char *plan);
void explanation_release(struct explanation *e);

#endif

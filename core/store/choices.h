/*
 * The tables that wildcards of the config have caught: the name of each one's
 * pipeline, and what was chosen for it.
 */
#ifndef TIDEMARK_CORE_STORE_CHOICES_H
#define TIDEMARK_CORE_STORE_CHOICES_H

#include "core/plugin/store.h"

/* Owned texts. */
struct choice {
	char *pipeline, *wildcard, *table;
	char *chosen; /* JSON object, or NULL: to be chosen again */
};
struct choice_list {
	struct choice *items;
	size_t n, capacity;
};
/* Texts copied. */
void choice_add(struct choice_list *list, const char *pipeline,
		const char *wildcard, const char *table, const char *chosen);
/* Leave the first `n`. */
void choice_list_cut(struct choice_list *list, size_t n);
void choice_list_release(struct choice_list *list);

/* By pipeline. `out` empty before. */
int store_choices_list(struct store *s, struct choice_list *out,
		       struct error *err);
/* All of them in one transaction. A choice of another process that came first
 * stays. */
int store_choices_save(struct store *s, const struct choice_list *list,
		       struct error *err);
/* Let it be chosen again; the name stays. */
int store_choice_forget(struct store *s, const char *pipeline,
			struct error *err);

#endif

/*
 * Dead letters as a person asks for them: by pipeline or by id, or, for
 * state.letters_keep, by age.
 */
#ifndef TIDEMARK_CORE_SYNC_LETTERS_DESK_H
#define TIDEMARK_CORE_SYNC_LETTERS_DESK_H

#include "core/settings/settings.h"
#include "core/store/letters.h"

struct letter_wish {
	/* Both empty: all there are; both given: the ids must be of the first
	 * pipeline. */
	const struct strlist *pipelines, *ids;
	int64_t limit; /* for each pipeline, the newest; 0: all */
	bool rows; /* with their rows */
	bool some; /* none of a pipeline is an error, too */
};

/* CONFIG: no letter has that id, or no pipeline that name, neither in the
 * config nor on a letter. To be released in any case. */
int letter_desk_find(struct dead_letter_list *out, const struct settings *s,
		     const struct letter_wish *wish, struct error *err);
/* Keep who has done what to them, "replay". */
int letter_desk_note(struct store *store,
		     const struct dead_letter_list *letters, const char *who,
		     const char *what, struct error *err);
/* It is kept who has done it. */
int letter_desk_discard(const struct settings *s,
			const struct dead_letter_list *letters, const char *who,
			struct error *err);
/* Delete those of a pipeline whose row was last refused more than `keep_us`
 * ago, and say so in the log. */
int letter_desk_expire(struct store *store, const char *pipeline,
		       int64_t keep_us, struct error *err);
/* Pipelines that the letters are of, in config order; caller frees the array.
 * CONFIG: one is not in the config any more, or is loaded whole every time. */
int letter_desk_pipelines(const struct settings *s,
			  const struct dead_letter_list *letters,
			  const struct pipeline_settings ***out, size_t *n,
			  struct error *err);

#endif

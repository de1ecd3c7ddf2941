/* The dead letters in the state store: rows that a destination refused. */
#ifndef TIDEMARK_CORE_STORE_LETTERS_H
#define TIDEMARK_CORE_STORE_LETTERS_H

#include "core/plugin/store.h"

/* A row that the destination refused. Owned texts, none NULL but as said. */
struct dead_letter {
	char *id; /* made of pipeline and key, or of the row without a key */
	char *pipeline, *run_id, *attempt_id, *batch_id;
	char *key; /* JSON object: value_key_json() */
	char *key_digest; /* "": there is no key */
	char *row; /* JSON object; NULL in a list of just the names */
	bool truncated; /* long values keep only their beginning */
	char *row_digest;
	char *category; /* permanent, transient, unknown */
	char *error_code, *server_code, *error_message; /* server_code: "" */
	char *checkpoint; /* the mark before its batch, JSON; or NULL */
	int64_t attempts; /* how often it was refused */
	int64_t next_try_at; /* 0: not by itself */
	int64_t created_at, updated_at; /* first and last refused */
};
struct dead_letter_list {
	struct dead_letter *items;
	size_t n;
	size_t capacity;
};
void dead_letter_list_release(struct dead_letter_list *list);

/* A choice of letters; NULL: any. */
struct dead_letter_filter {
	const char *pipeline, *id;
	int64_t limit; /* 0: all */
	bool names; /* without their rows */
};

/* In one transaction. One that is there already (the same id) counts an attempt
 * more and takes all but created_at from the new. */
int store_letters_save(struct store *s, const struct dead_letter_list *letters,
		       struct error *err);
/* Newest first, by created_at; `out` empty before. */
int store_letters_list(struct store *s, const struct dead_letter_filter *filter,
		       struct dead_letter_list *out, struct error *err);
int store_letters_count(struct store *s, const char *pipeline, int64_t *out,
			struct error *err);
/* Delete letters by id, in one transaction, and only while they belong to the
 * attempt that `letters` names. A letter that was refused anew meanwhile stays.
 * Harmless where there is none; the other fields are not looked at. */
int store_letters_delete(struct store *s,
			 const struct dead_letter_list *letters,
			 struct error *err);

#endif

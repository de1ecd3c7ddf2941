/* Steps with files and directories for ndjson.c. Nothing in here knows of marks
 * or batches. Paths are whole, and errors name them. */
#ifndef NDJSON_FILES_H
#define NDJSON_FILES_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <tidemark/plugin.h>

/* Every name that a pipeline has; all owned. */
struct names {
	char *table, *marks; /* directories */
	char *mark, *next_mark, *lock; /* in `marks` */
	char *stage, *file; /* for the batch of that number */
	char *pipeline; /* as file names have it */
};

/* `number`: of a batch. CONFIG for a name that is too long for a file. Released
 * in any case. */
int names_make(struct names *n, const char *directory,
	       const struct target *target, int64_t number, struct error *err);
void names_release(struct names *n);

/* Set `err` from errno; returns -ERROR_ACCESS. */
int failed(const char *what, const char *path, struct error *err);
int make_directory(const char *path, const char *parent, struct error *err);
/* Wait for n->lock; close(*fd) lets it go. STATE after 10 s, STOPPED soon after
 * `interrupted`. */
int lock_names(const struct names *n, atomic_bool *interrupted, int *fd,
	       struct error *err);
/* A line; `value` is given away. */
int write_json(FILE *file, json_t *value, const char *path, struct error *err);
/* Onto the disk, and close. */
int close_file(FILE *file, const char *path, struct error *err);
/* Within `directory`, which goes to the disk, too. */
int rename_file(const char *from, const char *to, const char *directory,
		struct error *err);
/* Harmless if it has gone. */
int remove_file(const char *path, const char *directory, struct error *err);
/* Remove all stages of the pipeline. */
int remove_stages(const struct names *n, struct error *err);
/* A number for a file behind file `last`. */
int64_t next_number(int64_t last);

#endif

/* What ndjson.c does with files and directories; nothing in here knows of marks
 * or batches. Paths are whole, errors name them. */
#ifndef NDJSON_FILES_H
#define NDJSON_FILES_H

#include <stdint.h>
#include <stdio.h>

#include <tidemark/plugin.h>

/* Every name that a pipeline has; all owned. */
struct names {
	char *table, *marks; /* directories */
	char *mark, *next_mark, *stage, *lock; /* in `marks` */
	char *file; /* of the batch of that number */
};

/* `file`: the number of a batch's file. CONFIG for a table whose name cannot be
 * that of a directory. Released in any case. */
int names_make(struct names *n, const char *directory,
	       const struct target *target, int64_t file, struct error *err);
void names_release(struct names *n);

/* Set `err` from errno; returns -ERROR_ACCESS. */
int failed(const char *what, const char *path, struct error *err);
int make_directory(const char *path, struct error *err);
/* Wait for n->lock; close(*fd) lets it go. */
int lock_names(const struct names *n, int *fd, struct error *err);
/* A line; `value` is given away. */
int write_json(FILE *file, json_t *value, const char *path, struct error *err);
/* Onto the disk, and close. */
int close_file(FILE *file, const char *path, struct error *err);
/* Within `directory`, which goes to the disk, too. */
int rename_file(const char *from, const char *to, const char *directory,
		struct error *err);
/* Of a file behind that of number `last`. */
int64_t next_number(int64_t last);

#endif

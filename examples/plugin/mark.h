/* The mark of a pipeline: how far its rows are in the files. */
#ifndef NDJSON_MARK_H
#define NDJSON_MARK_H

#include "files.h"

/* All zero: none. */
struct mark {
	struct checkpoint seen;
	int64_t number; /* the number of the mark's batch and its file */
};

void ndjson_mark_release(struct mark *m);
/* Read the mark in the file; without a file there is none. STATE: it is no
 * mark. */
int ndjson_mark_read(struct mark *m, const char *path, struct error *err);
/* Replace it, by a rename. `watermark` may be NULL. */
int ndjson_mark_write(const struct names *n, const char *watermark,
		      const char *batch_id, int64_t fence, int64_t rows,
		      int64_t number, struct error *err);
/* As destination_ops.others. */
int ndjson_mark_others(const struct names *n, struct strlist *out,
		       struct error *err);

/* Rows are only added, and no version is held against another. */
int ndjson_raise(struct destination *base, const struct target *target,
		 const char *mark, struct error *err);

#endif

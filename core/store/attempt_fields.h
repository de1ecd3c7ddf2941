/*
 * The columns of an attempt as text parameters and back. One table serves
 * writing and reading, in the order of the statements of history.c and
 * history_save.c.
 */
#ifndef TIDEMARK_CORE_STORE_ATTEMPT_FIELDS_H
#define TIDEMARK_CORE_STORE_ATTEMPT_FIELDS_H

#include "core/store/history.h"
#include "core/store/session.h"

#define ATTEMPT_FIELDS 28

#define ATTEMPT_COLUMNS                                                        \
	"attempt_id, run_id, pipeline, tenant, state, outcome, host, pid, "    \
	"logic_version, started_at, ended_at, heartbeat_at, batches, "         \
	"rows_read, rows_inserted, rows_updated, rows_unchanged, "             \
	"rows_deleted, rows_dead_lettered, watermark_before, "                 \
	"watermark_after, guarantee, guarantee_reason, error_code, "           \
	"error_message, paused, progress, aside"

/* Shapes that they are read as, see clients/answer.h. */
#define ATTEMPT_SHAPE "ttttttttttttttttttt??tt???tt"

struct field_texts {
	const char *values[ATTEMPT_FIELDS];
	char numbers[ATTEMPT_FIELDS][STORE_NUMBER_SIZE];
	char *owned[ATTEMPT_FIELDS]; /* texts that were scrubbed of secrets */
};

/* Values borrow from `a`; release frees what was copied. */
void attempt_to_texts(const struct attempt *a, struct field_texts *out);
void field_texts_release(struct field_texts *t);
/* `out` fresh from attempt_init; texts are copied. */
void attempt_from_texts(struct attempt *out, const char *const *values);

#endif

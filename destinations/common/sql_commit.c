#include "destinations/common/sql_commit.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"

#define RESOLVE_TRIES	 20
#define RESOLVE_PAUSE_US (US_PER_SECOND / 2)

/* A server that restarts takes some seconds. */
static int commit_reconnect(struct sql_mark *m,
			    const struct sql_commit_engine *engine,
			    struct error *err)
{
	int rc = -ERROR_TRANSIENT;

	for (int try = 0; try < RESOLVE_TRIES; try++) {
		error_clear(err);
		rc = engine->reconnect(m, err);
		if (rc != -ERROR_TRANSIENT || clock_sleep_us(RESOLVE_PAUSE_US))
			break;
	}
	return rc;
}

/* The connection was lost between COMMIT and its answer: only the row knows
 * what happened. */
static int commit_resolve(struct sql_mark *m,
			  const struct sql_commit_engine *engine,
			  const struct target *target,
			  const struct checkpoint *next, struct error *err)
{
	struct error lost = *err;
	struct checkpoint now;
	int rc;

	checkpoint_init(&now);
	log_warn("%s: the answer to COMMIT was lost; asking what happened",
		 target->table);
	rc = commit_reconnect(m, engine, err);
	if (!rc)
		rc = engine->settle(m, target, &now, err);
	if (!rc && sql_mark_is_there(m, next, &now)) {
		rc = 1;
	} else if (!rc && now.found && strcmp(now.batch_id, m->seen.batch_id)) {
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: another writer has loaded batch "
			       "%s into %s",
			       target->pipeline, now.batch_id, target->table);
	} else if (!rc) {
		*err = lost;
		err->code = ERROR_TRANSIENT;
		error_prefix(err, "the batch was not committed");
		rc = -ERROR_TRANSIENT;
	}
	checkpoint_release(&now);
	return rc;
}

int sql_commit(struct sql_mark *m, const struct sql_commit_engine *engine,
	       const struct target *target, const struct checkpoint *next,
	       struct error *err)
{
	int rc = writer_check(&target->writer, err);
	bool unclear;

	if (rc)
		return rc;
	rc = engine->send(m, err);
	unclear = !engine->alive(m);

	/* Between the question and its answer. */
	if (!rc) {
		rc = failpoint("commit_sent", err);
		unclear = rc != 0;
	}
	if (!rc) {
		rc = engine->answer(m, err);
		unclear = rc < 0 && !engine->alive(m);
	}
	if (unclear)
		rc = commit_resolve(m, engine, target, next, err);
	return rc;
}

#include "connectors/postgres/replay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "connectors/common/settle.h"
#include "core/base/alloc.h"

static const char replay_sql[] =
	"SELECT COALESCE(pg_last_wal_replay_lsn()::text, 'nothing'),\n"
	"  COALESCE(' of ' || pg_last_xact_replay_timestamp(), '')\n"
	"WHERE pg_is_in_recovery()";

int postgres_source_replay_check(const struct postgres *c, const char *mark,
				 const char *at, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, replay_sql, "tt", 0, NULL, err);

	if (!rc && pg_rows(r)) {
		error_set(err, ERROR_SCHEMA,
			  "the mark, %s, is ahead of this server, which is at "
			  "%s: it is a standby and has not replayed the log up "
			  "to there (it has replayed %s%s). " ERROR_FIX
			  "Wait until it has, or read from the primary. If it "
			  "is a standby of another server:",
			  mark, at, pg_value(r, 0, 0), pg_value(r, 0, 1));
		rc = settle_way_out(c->described, err);
	}
	pg_result_free(r);
	return rc;
}

int postgres_source_replay_refuse_xid(const struct postgres *c, uint64_t mark,
				      uint64_t xmax, struct error *err)
{
	char *of_mark = xstrfmt("transaction %" PRIu64, mark);
	char *at = xstrfmt("transaction %" PRIu64, xmax);
	int rc = postgres_source_replay_check(c, of_mark, at, err);

	if (!rc) {
		error_set(err, ERROR_SCHEMA,
			  "the mark, %s, has not happened yet: the source is "
			  "at %" PRIu64 " (another server, or a restored "
			  "backup?)",
			  of_mark, xmax);
		rc = settle_way_out(c->described, err);
	}
	free(of_mark);
	free(at);
	return rc;
}

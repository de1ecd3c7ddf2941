/*
 * Who else has a transaction open on this server: what a mark must wait for.
 * Read before any snapshot that serves rows.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_ACTIVITY_H
#define TIDEMARK_CONNECTORS_MYSQL_ACTIVITY_H

#include <jansson.h>

#include "clients/mysql.h"
#include "core/base/strbuf.h"

struct mysrc_activity {
	int64_t now_us; /* the server's clock, taken first */
	int64_t oldest_us; /* start of the oldest; INT64_MAX: none is open */
	int64_t statements_us; /* of the statements alone */
	bool may_see; /* PROCESS: all sessions and transactions */
	bool lists; /* statements: we are in the list ourselves */
	bool may_see_xa; /* XA_RECOVER_ADMIN, where the server asks for it */
	bool xa; /* an XA transaction is prepared */
	bool applies; /* a thread applies another server's changes */
	bool stale; /* the list of transactions did not become fresh */
	char *user; /* ours, quoted for GRANT */
	json_t *held_by; /* the oldest, or NULL */
	json_t *open; /* each transaction as text, stable over its life, and
		       * the session of each statement that has none yet */
	json_t *writers; /* those that have written: text -> start, µs */
	json_t *sessions; /* of all transactions and statements: id -> true */
};

/* `statements`: also those that run without a transaction yet, which have
 * taken their NOW() already. */
int mysrc_activity_read(struct mydb *db, bool statements,
			struct mysrc_activity *out, struct error *err);
void mysrc_activity_release(struct mysrc_activity *a);
/* Is one of the transactions of `set` open still? */
bool mysrc_activity_has_any(const struct mysrc_activity *a, const json_t *set);
/* Why transactions may go unseen, each with what to do; false: they cannot. */
bool mysrc_activity_explain(const struct mysrc_activity *a,
			    struct strbuf *reason);

#endif

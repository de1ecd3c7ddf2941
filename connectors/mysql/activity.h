/*
 * Open transactions of others on this server, for which a mark must wait. Read
 * before any snapshot that serves rows.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_ACTIVITY_H
#define TIDEMARK_CONNECTORS_MYSQL_ACTIVITY_H

#include <jansson.h>

#include "clients/mysql.h"
#include "core/base/strbuf.h"

/* Do transactions show that have not touched a table yet? */
enum mysql_source_begun {
	BEGUN_SHOWS,
	BEGUN_OFF, /* there is no performance schema */
	BEGUN_DENIED, /* no right to read it */
	BEGUN_DISABLED, /* it does not record transactions */
	BEGUN_UNWATCHED, /* nor those of one session */
	BEGUN_LOSES, /* it had no room for all sessions */
};

struct mysql_source_activity {
	int64_t now_us; /* the server's clock, taken first */
	int64_t oldest_us; /* start of the oldest; INT64_MAX: none is open */
	int64_t statements_us; /* the same for statements alone */
	bool may_see; /* PROCESS: all sessions and transactions */
	bool lists; /* statements: we are in the list ourselves */
	bool may_see_xa; /* XA_RECOVER_ADMIN, where the server asks for it */
	bool xa; /* an XA transaction is prepared */
	bool applies; /* a thread applies another server's changes */
	bool stale; /* the list of transactions did not become fresh */
	bool mariadb;
	enum mysql_source_begun begun; /* BEGUN_SHOWS: or was not asked for */
	int64_t unwatched; /* a session of BEGUN_UNWATCHED */
	char *user; /* ours, quoted for GRANT */
	json_t *held_by; /* the oldest, or NULL */
	json_t *open; /* each transaction as text, stable over its life, and
		       * the session of each statement that has none yet */
	json_t *writers; /* writers' transactions: text -> start, µs */
	json_t *sessions; /* all transactions' and statements' sessions: id ->
			   * true */
};

/* `clocks`: also transactions that InnoDB does not know yet, and running
 * statements, which may have taken their NOW() already. `denied`: the session
 * has no right to read performance_schema; remembered from call to call. */
int mysql_source_activity_read(struct mysql_client *db, bool clocks,
			       bool *denied, struct mysql_source_activity *out,
			       struct error *err);
/* The same in steps, where other questions travel with it: gather its questions
 * (`begun`: `clocks`, and not denied), then mysql_client_ask_ahead(). A
 * question that is not ahead any more is asked anew. Gives what sets the look
 * apart; caller frees. */
char *mysql_source_activity_foresee(struct mysql_client *db, bool begun,
				    struct strlist *out);
int mysql_source_activity_take(struct mysql_client *db, bool clocks,
			       bool *denied, const char *look,
			       struct mysql_source_activity *out,
			       struct error *err);
void mysql_source_activity_release(struct mysql_source_activity *a);
/* Is one of the transactions of `set` open still? */
bool mysql_source_activity_has_any(const struct mysql_source_activity *a,
				   const json_t *set);
/* Reasons why transactions may go unseen, each with a remedy; false: none. */
bool mysql_source_activity_explain(const struct mysql_source_activity *a,
				   struct strbuf *reason);

#endif

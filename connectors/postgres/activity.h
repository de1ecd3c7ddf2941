/*
 * Open transactions of others in this database, for which a mark must wait.
 * Read before any snapshot that serves rows.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_ACTIVITY_H
#define TIDEMARK_CONNECTORS_POSTGRES_ACTIVITY_H

#include <jansson.h>

#include "clients/pg.h"
#include "core/base/clock.h"
#include "core/base/strbuf.h"
#include "core/plugin/connector.h"

struct activity {
	int64_t now_us; /* the server's clock, taken first */
	int64_t oldest_us; /* start of the oldest; INT64_MAX: none is open */
	/* When the oldest prepared transaction was prepared; INT64_MAX: none
	 * is. When it began is not recorded. */
	int64_t prepared_us;
	int64_t replayed_us; /* standby: last commit replayed; INT64_MIN: none
			      */
	bool may_see; /* our role sees all sessions */
	bool standby;
	char *hidden; /* a role whose session has track_activities off, or NULL
		       */
	char *role; /* ours */
	json_t *held_by; /* the oldest session's, or NULL */
	json_t *prepared_by; /* the oldest prepared one, or NULL */
	json_t *open; /* each, as postgres_source_activity_left() knows it again
		       */
};

/* Ask ahead for a look. */
void postgres_source_activity_ahead(struct pg *pg);
int postgres_source_activity_read(struct pg *pg, struct activity *out,
				  struct error *err);
void postgres_source_activity_release(struct activity *a);
/* The transactions of `set` (from an earlier look's `open`) that are not over.
 * If a transaction has left its session, it may have been prepared, and is
 * known again by its xid. If it had no xid yet, it may be any that was prepared
 * since, so all of these take its place. New reference; an empty array: all are
 * over. */
json_t *postgres_source_activity_left(const struct activity *a,
				      const json_t *set);
/* Short transactions are often over at once: look again a few times. `set`
 * becomes what is left of it. */
int postgres_source_activity_wait(struct pg *pg, json_t **set,
				  struct error *err);
/* Why transactions may go unseen, each with what to do; false: they cannot. */
bool postgres_source_activity_explain(const struct activity *a,
				      struct strbuf *reason);

#endif

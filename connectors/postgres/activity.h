/*
 * Who else has a transaction open in this database: what a mark must wait for.
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
	int64_t prepared_us; /* oldest prepared transaction; INT64_MAX: none */
	int64_t replayed_us; /* standby: last commit replayed; INT64_MIN: none
			      */
	bool may_see; /* our role sees all sessions */
	bool standby;
	bool hidden; /* a session with track_activities off */
	char *role; /* ours */
	json_t *held_by; /* the oldest, or NULL */
	json_t *open; /* each as text, stable over its life */
};

int activity_read(struct pg *pg, struct activity *out, struct error *err);
void activity_release(struct activity *a);
/* Is one of the transactions of `set` open still? */
bool activity_has_any(const struct activity *a, const json_t *set);
/* Why transactions may go unseen, each with what to do; false: they cannot. */
bool activity_explain(const struct activity *a, struct strbuf *reason);

#endif

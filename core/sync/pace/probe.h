/*
 * The servers' side of a pace. It asks the source for its active sessions, asks
 * it or its replicas how far they are behind, and asks the user's own question.
 * It uses connections of its own, in one thread at a time.
 */
#ifndef TIDEMARK_CORE_SYNC_PACE_PROBE_H
#define TIDEMARK_CORE_SYNC_PACE_PROBE_H

#include "core/settings/settings.h"

struct probe {
	/* A shallow copy with little patience. */
	struct connection conn;
	struct pressure_question question;
	struct connector *connector; /* NULL: not open */
};

struct probes {
	const struct pace_settings *settings;
	const struct pace_limits *limits;
	struct probe *items;
	size_t n;
};

/* A reason against going on; `by` NULL: none. */
struct probe_answer {
	const char *by; /* a key of `pace` */
	char *reason;
	bool failed; /* nobody knows: no leave to go on */
};
void probe_answer_release(struct probe_answer *a);

/* `settings` and `limits` outlive it. */
void probes_init(struct probes *p, const struct pipeline_settings *settings,
		 const struct pace_limits *limits);
void probes_release(struct probes *p);
/* Takes a few seconds at most. CONFIG if one of them can never answer; any
 * other failure is the answer. */
int probes_ask(struct probes *p, struct probe_answer *out, struct error *err);

#endif

#include "core/sync/pace/probe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/plugin/registry.h"

/* A server that takes longer is busy enough. */
#define PROBE_PATIENCE_US (3 * US_PER_SECOND)

static int64_t probe_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void probes_add(struct probes *p, const struct connection *conn,
		       struct pressure_question question)
{
	struct probe *probe;

	if (!question.active && !question.lag && !question.query)
		return;
	p->items = xreallocarray(p->items, p->n + 1, sizeof(*p->items));
	probe = &p->items[p->n++];
	*probe = (struct probe){ .conn = *conn, .question = question };
	probe->conn.connect_timeout_us =
		probe_least(conn->connect_timeout_us, PROBE_PATIENCE_US);
	probe->conn.silence_timeout_us =
		probe_least(conn->silence_timeout_us, PROBE_PATIENCE_US);
}

void probes_init(struct probes *p, const struct pipeline_settings *settings,
		 const struct pace_limits *limits)
{
	const struct pace_settings *s = &settings->pace;
	bool lag = limits->replica_lag_us > 0;

	memset(p, 0, sizeof(*p));
	p->settings = s;
	p->limits = limits;
	probes_add(p, settings->source,
		   (struct pressure_question){ .active = limits->max_active > 0,
					       .lag = lag && !s->n_replicas });
	for (size_t i = 0; i < s->n_replicas; i++)
		probes_add(p, s->replicas[i],
			   (struct pressure_question){ .lag = lag });
	if (s->probe)
		probes_add(
			p, s->probe,
			(struct pressure_question){ .query = s->probe_query });
}

static void probe_close(struct probe *p)
{
	if (p->connector)
		p->connector->ops->close(p->connector);
	p->connector = NULL;
}

void probes_release(struct probes *p)
{
	for (size_t i = 0; i < p->n; i++)
		probe_close(&p->items[i]);
	free(p->items);
	memset(p, 0, sizeof(*p));
}

void probe_answer_release(struct probe_answer *a)
{
	free(a->reason);
	memset(a, 0, sizeof(*a));
}

static int probe_once(struct probe *p, struct pressure *out, struct error *err)
{
	struct connector *c = p->connector;
	int rc = c ? 0 : registry_open_connector(&p->conn, &c, err);

	p->connector = c;
	if (!rc)
		rc = c->ops->pressure(c, &p->question, out, err);
	if (rc)
		probe_close(p);
	return rc;
}

/* A connection that was lost since the last time is no answer yet. */
static int probe_ask(struct probe *p, struct pressure *out, struct error *err)
{
	bool was_open = p->connector != NULL;
	int rc = probe_once(p, out, err);

	if (!rc || !was_open || rc != -ERROR_TRANSIENT)
		return rc;
	pressure_release(out);
	error_clear(err);
	return probe_once(p, out, err);
}

static char *probe_too_far(const struct probe *probe,
			   const struct pressure *seen, int64_t most_us)
{
	struct strbuf is = STRBUF_INIT, most = STRBUF_INIT;
	char *reason;

	units_print_duration(&is, seen->lag_us / 1000 * 1000);
	units_print_duration(&most, most_us);
	reason = xstrfmt("connection %s: %s is %s behind, more than %s",
			 probe->conn.name,
			 seen->replica ? seen->replica : "the replica", is.data,
			 most.data);
	strbuf_release(&is);
	strbuf_release(&most);
	return reason;
}

static void probe_judge(const struct probes *p, const struct probe *probe,
			const struct pressure *seen, struct probe_answer *out)
{
	const struct pressure_question *q = &probe->question;
	const struct pace_limits *most = p->limits;
	double below = (double)p->settings->probe_below;

	if (q->active && seen->active > most->max_active) {
		out->by = "max_active";
		out->reason = xstrfmt("%" PRId64 " sessions are active at "
				      "connection %s, more than %" PRId64,
				      seen->active, probe->conn.name,
				      most->max_active);
	} else if (q->lag && seen->lag_us > most->replica_lag_us) {
		out->by = "replica_lag";
		out->reason = probe_too_far(probe, seen, most->replica_lag_us);
	} else if (q->query && !(seen->number < below)) {
		out->by = "probe";
		out->reason = xstrfmt("the query says %g at connection %s, "
				      "which is not below %" PRId64,
				      seen->number, probe->conn.name,
				      p->settings->probe_below);
	}
}

/* Any other failure may pass, and holds the run until it has; what a user has
 * written may be put right at the server. */
static int probe_failed(const struct probe *probe, struct probe_answer *out,
			struct error *err)
{
	const struct pressure_question *q = &probe->question;
	const char *by = q->query    ? "probe"
			 : q->active ? "max_active"
				     : "replica_lag";

	/* SQL that no server takes is the user's, and nothing that passes. */
	if (err->code == ERROR_BUG && q->query) {
		err->code = ERROR_CONFIG;
		error_prefix(err, "pace.%s: no query of one statement", by);
		return -ERROR_CONFIG;
	}
	if (err->code == ERROR_STOPPED || err->code == ERROR_BUG ||
	    (err->code == ERROR_CONFIG && !q->query)) {
		error_prefix(err, "pace.%s", by);
		return -(int)err->code;
	}
	out->by = by;
	out->failed = true;
	out->reason = xstrfmt("connection %s could not be asked, which counts "
			      "as pressure: %s",
			      probe->conn.name, err->message);
	error_clear(err);
	return 0;
}

int probes_ask(struct probes *p, struct probe_answer *out, struct error *err)
{
	int rc = 0;

	probe_answer_release(out);
	for (size_t i = 0; !rc && !out->by && i < p->n; i++) {
		struct pressure seen = { 0 };

		rc = probe_ask(&p->items[i], &seen, err);
		if (rc)
			rc = probe_failed(&p->items[i], out, err);
		else
			probe_judge(p, &p->items[i], &seen, out);
		pressure_release(&seen);
	}
	return rc;
}

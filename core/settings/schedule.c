#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/units.h"
#include "core/settings/input.h"

/* "5m" is "every 5m"; the bare text may be a cron expression, too. */
static int settings_parse_every(struct option_context *ctx,
				const struct config_node *node,
				const char *text, struct schedule *out)
{
	struct error why = ERROR_INIT;
	int64_t us;
	char *every = units_parse_duration(text, &us)
			      ? xstrfmt("every %s", text)
			      : xstrdup(text);
	int rc = schedule_parse(every, out, &why);

	if (rc)
		rc = settings_fail(ctx, node, "schedule",
				   "expected every 5m, manual, or a map with "
				   "every or cron; %s",
				   why.message);
	error_clear(&why);
	free(every);
	return rc;
}

static int settings_parse_cron(struct option_context *ctx,
			       const struct config_node *node,
			       const struct pipeline_input *in,
			       struct schedule *out)
{
	struct error why = ERROR_INIT;
	const char *path = "schedule.cron";
	int rc = schedule_parse(in->cron, out, &why);

	if (!rc && out->kind != SCHEDULE_CRON)
		rc = error_set(&why, ERROR_CONFIG,
			       "\"%.40s\" is no cron expression", in->cron);
	if (!rc && strcmp(in->cron_zone, "UTC") != 0) {
		path = "schedule.time_zone";
		rc = schedule_set_zone(out, in->cron_zone, &why);
	}
	if (rc)
		rc = settings_fail(ctx, node, path, "%s", why.message);
	error_clear(&why);
	return rc;
}

int settings_check_schedule(struct option_context *ctx,
			    const struct config_node *node,
			    struct pipeline_input *in)
{
	struct schedule *s = &in->p.schedule;
	int rc;

	if (in->every && in->cron)
		return settings_fail(ctx, node, "schedule",
				     "has both every and cron; leave out one");
	if (in->cron)
		rc = settings_parse_cron(ctx, node, in, s);
	else
		rc = settings_parse_every(ctx, node,
					  in->every ? in->every : "5m", s);
	if (rc)
		return rc;
	s->jitter_us = in->jitter_us;
	s->said = in->every || in->cron;
	if (s->kind == SCHEDULE_EVERY && s->jitter_us >= s->every_us)
		return settings_fail(ctx, node, "schedule.jitter",
				     "must be less than the time between two "
				     "runs");
	if (s->kind != SCHEDULE_CRON && strcmp(in->cron_zone, "UTC") != 0)
		return settings_fail(ctx, node, "schedule.time_zone",
				     "goes with cron alone");
	return 0;
}

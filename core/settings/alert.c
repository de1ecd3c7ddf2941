#include "core/base/units.h"
#include "core/settings/input.h"

static int alert_parse_late(struct option_context *ctx,
			    const struct option *option,
			    const struct config_node *node,
			    struct alert_settings *out)
{
	struct alert_settings late = { 0, 0 };

	if (units_parse_count(node->text, &late.late_schedules) ||
	    units_parse_duration(node->text, &late.late_us)) {
		*out = late;
		return 0;
	}
	return option_fail(ctx, node->at, "expected %s, found \"%.40s\"",
			   option_expects(option), node->text);
}

int settings_parse_late(struct option_context *ctx, const struct option *option,
			const struct config_node *node, void *base)
{
	struct pipeline_input *in = base;

	return alert_parse_late(ctx, option, node, &in->p.alert);
}

int settings_parse_late_of_all(struct option_context *ctx,
			       const struct option *option,
			       const struct config_node *node, void *base)
{
	struct settings_input *in = base;

	return alert_parse_late(ctx, option, node, &in->alert);
}

int64_t alert_late_us(const struct alert_settings *alert, int64_t interval_us)
{
	int64_t us;

	if (alert->late_us)
		return alert->late_us;
	if (interval_us <= 0 ||
	    __builtin_mul_overflow(alert->late_schedules, interval_us, &us))
		return 0;
	return us;
}

#include <ctype.h>
#include <string.h>

#include "core/base/units.h"
#include "core/settings/input.h"

#define MILLION INT64_C(1000000)
/* Sessions at either end. */
#define SETTINGS_STREAMS_MOST 32
#define SHARE_FRACTIONS	      4 /* digits behind the point of a percentage */

/* "0.1%" as parts per million; at most 100%. */
static bool row_limit_parse_share(const char *text, int64_t *out)
{
	int64_t value = 0;
	int digits = 0, fractions = -1;

	for (; isdigit((unsigned char)*text) || *text == '.'; text++) {
		if (*text == '.') {
			if (fractions >= 0 || !digits)
				return false;
			fractions = 0;
			continue;
		}
		if (++digits > 3 + SHARE_FRACTIONS ||
		    (fractions >= 0 && ++fractions > SHARE_FRACTIONS))
			return false;
		value = value * 10 + (*text - '0');
	}
	if (!digits || !fractions || strcmp(text, "%") != 0)
		return false;
	for (int i = fractions < 0 ? 0 : fractions; i < SHARE_FRACTIONS; i++)
		value *= 10;
	*out = value;
	return value <= MILLION;
}

bool row_limit_parse(struct row_limit *out, const char *text)
{
	int64_t value;

	if (units_parse_count(text, &value)) {
		out->rows = value;
		out->share = -1;
		return true;
	}
	if (!row_limit_parse_share(text, &value))
		return false;
	out->rows = 0;
	out->share = value;
	return true;
}

int64_t row_limit_allowed(const struct row_limit *limit, int64_t rows)
{
	if (limit->share < 0)
		return limit->rows;
	return rows / MILLION * limit->share +
	       rows % MILLION * limit->share / MILLION;
}

int settings_parse_bad_rows(struct option_context *ctx,
			    const struct option *option,
			    const struct config_node *node, void *base)
{
	struct pipeline_input *in = base;

	in->bad_rows_said = true;
	if (row_limit_parse(&in->p.bad_rows.limit, node->text))
		return 0;
	return option_fail(ctx, node->at,
			   "expected %s (of at most 100%%), found \"%.40s\"",
			   option_expects(option), node->text);
}

void settings_default_bad_rows(struct pipeline_input *in)
{
	if (!in->bad_rows_said)
		row_limit_parse(&in->p.bad_rows.limit, SETTINGS_BAD_ROWS);
}

int settings_parse_streams(struct option_context *ctx,
			   const struct option *option,
			   const struct config_node *node, void *base)
{
	struct pipeline_input *in = base;

	if (!strcmp(node->text, "auto")) {
		in->p.streams = 0;
		return 0;
	}
	if (units_parse_count(node->text, &in->p.streams) &&
	    in->p.streams >= 1 && in->p.streams <= SETTINGS_STREAMS_MOST)
		return 0;
	return option_fail(ctx, node->at, "expected %s, found \"%.40s\"",
			   option_expects(option), node->text);
}

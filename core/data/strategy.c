#include <string.h>

#include "core/base/alloc.h"
#include "core/data/watermark.h"

static const char *const strategy_names[] = {
	[STRATEGY_TIMESTAMP] = "timestamp",
	[STRATEGY_XMIN] = "xmin",
	[STRATEGY_SEQUENCE] = "sequence",
	[STRATEGY_NONE] = "none",
};

const char *strategy_name(enum strategy s)
{
	return strategy_names[s];
}

bool strategy_has_column(enum strategy s)
{
	return s == STRATEGY_TIMESTAMP || s == STRATEGY_SEQUENCE;
}

bool strategy_parse(const char *text, enum strategy *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(strategy_names); i++) {
		if (!strcmp(text, strategy_names[i])) {
			*out = (enum strategy)i;
			return true;
		}
	}
	return false;
}

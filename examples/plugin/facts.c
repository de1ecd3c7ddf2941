#include "facts.h"

static const char *const ndjson_schemes[] = { "ndjson", "jsonl", NULL };

/* A directory counts as a file. The lock of a pipeline lets one process write
 * at a time. */
const struct engine ndjson_engine = {
	.name = "ndjson",
	.schemes = ndjson_schemes,
	.traits = ENGINE_FILE | ENGINE_ONE_WRITER,
};

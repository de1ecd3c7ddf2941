#include "destinations/common/refresh.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/process.h"
#include "core/base/retry.h"

#define REFRESH_DIGITS 16

char *refresh_id_new(void)
{
	int64_t pid = getpid();
	char *start = process_start(pid);
	char *id = xstrfmt(REFRESH_PREFIX "%016" PRIx64 "-%" PRId64 "-%s",
			   retry_random(), pid, start);

	free(start);
	return id;
}

bool refresh_id_is(const char *batch_id)
{
	return batch_id &&
	       !strncmp(batch_id, REFRESH_PREFIX, strlen(REFRESH_PREFIX));
}

int refresh_id_check_free(const char *batch_id, const char *pipeline,
			  struct error *err)
{
	size_t at = strlen(REFRESH_PREFIX) + REFRESH_DIGITS;
	const char *start;
	char *end;
	int64_t pid;

	if (!refresh_id_is(batch_id) || strlen(batch_id) <= at ||
	    batch_id[at] != '-')
		return 0;
	pid = strtoll(batch_id + at + 1, &end, 10);
	start = *end == '-' ? end + 1 : "";
	if (pid == getpid() || process_is_gone(pid, start))
		return 0;
	return error_set(err, ERROR_STATE,
			 "pipeline %s: process %" PRId64
			 " on this host is refreshing its table; wait for it, "
			 "or stop it",
			 pipeline, pid);
}

int refresh_check_built(const char *table, int64_t has, int64_t built,
			struct error *err)
{
	if (has == built)
		return 0;
	return error_set(
		err, ERROR_DATA,
		"table %s: the new one has %" PRId64 " rows, but %" PRId64
		" were put into it; the old one stays" REFRESH_MISCOUNT,
		table, has, built);
}

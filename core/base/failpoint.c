#include "core/base/failpoint.h"

#include <stdlib.h>

#ifndef TIDEMARK_FAILPOINTS

int failpoint_init(struct error *err)
{
	if (!getenv("TIDEMARK_FAILPOINTS"))
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"TIDEMARK_FAILPOINTS is set, but this build has no failpoints; "
		"build with -Dfailpoints=true or unset it");
}

#else

#include <fiu-control.h>
#include <fiu.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

static const char *const failpoint_names[] = {
	"config_loaded",   "lease_taken",     "run_recorded",
	"ceiling_taken",   "snapshot_opened", "first_row",
	"mid_page",	   "page_end",	      "stage_created",
	"mid_load",	   "stage_full",      "before_merge",
	"after_delete",	   "after_merge",     "before_watermark",
	"after_watermark", "commit_sent",     "commit_acked",
	"state_saved",	   "stage_dropped",   "lease_released",
	"mid_alter",	   "in_recovery",
};

enum failpoint_action {
	FAILPOINT_KILL = 1,
	FAILPOINT_ERROR,
	FAILPOINT_HANG,
	FAILPOINT_EXIT
};

static const char *const failpoint_actions[] = { "", "kill", "error", "hang",
						 "exit" };

/* Times each point has yet to pass before it acts. */
static atomic_int failpoint_left[ARRAY_SIZE(failpoint_names)];

static long failpoint_index(const char *const *names, size_t n,
			    const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return (long)i;
	return -1;
}

static int failpoint_act(int action, const char *name, struct error *err)
{
	if (action == FAILPOINT_KILL)
		raise(SIGKILL);
	if (action == FAILPOINT_EXIT)
		_exit(1);
	while (action == FAILPOINT_HANG)
		pause();
	return error_set(err, ERROR_TRANSIENT, "failpoint %s", name);
}

int failpoint(const char *name, struct error *err)
{
	int action = (int)fiu_fail(name);
	long at;

	if (!action)
		return 0;
	at = failpoint_index(failpoint_names, ARRAY_SIZE(failpoint_names),
			     name);
	if (at >= 0 && atomic_fetch_sub(&failpoint_left[at], 1) != 1)
		return 0;
	return failpoint_act(action, name, err);
}

/* "name=action" or "name=action@n". */
static int failpoint_arm(char *part, struct error *err)
{
	char *action = strchr(part, '=');
	char *at = action ? strchr(action, '@') : NULL;
	long name, what, times = 1;

	if (at) {
		*at = '\0';
		times = strtol(at + 1, NULL, 10);
	}
	if (!action || times < 1)
		return error_set(
			err, ERROR_CONFIG,
			"TIDEMARK_FAILPOINTS: \"%s\" is not name=action[@n]",
			part);
	*action++ = '\0';
	name = failpoint_index(failpoint_names, ARRAY_SIZE(failpoint_names),
			       part);
	what = failpoint_index(failpoint_actions, ARRAY_SIZE(failpoint_actions),
			       action);
	if (name < 0 || what < 1)
		return error_set(err, ERROR_CONFIG,
				 "TIDEMARK_FAILPOINTS: unknown %s \"%s\"",
				 name < 0 ? "failpoint" : "action",
				 name < 0 ? part : action);
	atomic_store(&failpoint_left[name], (int)times);
	fiu_enable(failpoint_names[name], (int)what, NULL, 0);
	return 0;
}

int failpoint_init(struct error *err)
{
	const char *text = getenv("TIDEMARK_FAILPOINTS");
	char *copy, *part, *save = NULL;
	int rc = 0;

	fiu_init(0);
	if (!text)
		return 0;
	copy = xstrdup(text);
	for (part = strtok_r(copy, ",", &save); part && !rc;
	     part = strtok_r(NULL, ",", &save))
		rc = failpoint_arm(part, err);
	free(copy);
	return rc;
}

#endif

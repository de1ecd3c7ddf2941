#include "core/base/failpoint.h"

#include <stdlib.h>

#define FAILPOINT_VARIABLE "TIDEMARK_FAILPOINTS"

#ifdef TIDEMARK_FAILPOINTS

#include <fiu-control.h>
#include <fiu.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/units.h"

static const char *const failpoint_names[] = {
	"config_loaded",   "lease_taken",     "run_recorded",
	"ceiling_taken",   "snapshot_opened", "first_row",
	"mid_page",	   "page_end",	      "stage_created",
	"mid_load",	   "stage_full",      "before_merge",
	"after_delete",	   "after_merge",     "before_watermark",
	"after_watermark", "commit_sent",     "commit_acked",
	"streams_queued",  "streams_loaded",  "streams_written",
	"hook_owed",	   "hook_due",	      "hook_done",
	"state_saved",	   "stage_dropped",   "lease_released",
	"mid_alter",	   "in_recovery",     "piece_loaded",
	"letters_saved",   "table_found",
};

static const char *const failpoint_actions[] = { "kill", "error", "hang",
						 "exit", "stop",  "note" };
enum failpoint_action {
	FAILPOINT_KILL,
	FAILPOINT_ERROR,
	FAILPOINT_HANG,
	FAILPOINT_EXIT,
	FAILPOINT_STOP,
	FAILPOINT_NOTE
};

/* One per name; lives as long as the process. */
static struct failpoint_rule {
	bool set;
	enum failpoint_action action;
	int64_t at; /* 0: every time */
	atomic_llong passed;
} failpoint_rules[ARRAY_SIZE(failpoint_names)];

static int failpoint_index(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

static int failpoint_fires(const char *name, int *failnum, void **failinfo,
			   unsigned int *flags)
{
	struct failpoint_rule *rule = *failinfo;
	int64_t n = atomic_fetch_add(&rule->passed, 1) + 1;

	(void)name;
	(void)failnum;
	(void)flags;
	return !rule->at || rule->at == n;
}

static int failpoint_act(const struct failpoint_rule *rule, const char *name,
			 struct error *err)
{
	switch (rule->action) {
	case FAILPOINT_ERROR:
		return error_set(err, ERROR_TRANSIENT, "failpoint %s", name);
	case FAILPOINT_HANG:
		log_warn("failpoint %s: hangs", name);
		for (;;)
			pause();
	case FAILPOINT_EXIT:
		_exit(EXIT_FAILURE);
	case FAILPOINT_STOP:
		return raise(SIGSTOP);
	case FAILPOINT_NOTE:
		log_warn("failpoint %s: passed", name);
		return 0;
	case FAILPOINT_KILL:
		break;
	}
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

int failpoint(const char *name, struct error *err)
{
	if (!fiu_fail(name))
		return 0;
	return failpoint_act(fiu_failinfo(), name, err);
}

static int failpoint_unknown(const char *what, const char *word,
			     const char *const *names, size_t n,
			     struct error *err)
{
	const char *near = nearest_name(word, names, n);
	int rc =
		error_set(err, ERROR_CONFIG,
			  FAILPOINT_VARIABLE ": unknown %s \"%s\"", what, word);

	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	return rc;
}

/* "name=action" or "name=action@n"; cuts `text` up. */
static int failpoint_add(char *text, struct error *err)
{
	char *action = strchr(text, '='), *at;
	int64_t n = 0;
	int name, verb;

	if (!action)
		return error_set(err, ERROR_CONFIG,
				 FAILPOINT_VARIABLE
				 ": \"%s\": expected name=action or "
				 "name=action@n",
				 text);
	*action++ = '\0';
	at = strchr(action, '@');
	if (at)
		*at++ = '\0';
	name = failpoint_index(failpoint_names, ARRAY_SIZE(failpoint_names),
			       text);
	if (name < 0)
		return failpoint_unknown("failpoint", text, failpoint_names,
					 ARRAY_SIZE(failpoint_names), err);
	verb = failpoint_index(failpoint_actions, ARRAY_SIZE(failpoint_actions),
			       action);
	if (verb < 0)
		return failpoint_unknown("action", action, failpoint_actions,
					 ARRAY_SIZE(failpoint_actions), err);
	if (at && (!units_parse_count(at, &n) || n < 1))
		return error_set(err, ERROR_CONFIG,
				 FAILPOINT_VARIABLE
				 ": %s: \"@%s\" is not a count from 1",
				 text, at);
	if (failpoint_rules[name].set)
		return error_set(err, ERROR_CONFIG,
				 FAILPOINT_VARIABLE ": %s is given twice",
				 text);
	failpoint_rules[name].set = true;
	failpoint_rules[name].action = (enum failpoint_action)verb;
	failpoint_rules[name].at = n;
	fiu_enable_external(failpoint_names[name], 1, &failpoint_rules[name], 0,
			    failpoint_fires);
	return 0;
}

int failpoint_init(struct error *err)
{
	const char *text = getenv(FAILPOINT_VARIABLE);
	char *copy, *rest, *item;
	int rc = 0;

	if (!text || !*text)
		return 0;
	fiu_init(0);
	copy = rest = xstrdup(text);
	while (!rc && (item = strsep(&rest, ",")))
		rc = failpoint_add(item, err);
	free(copy);
	return rc;
}

#else

int failpoint_init(struct error *err)
{
	const char *text = getenv(FAILPOINT_VARIABLE);

	if (!text || !*text)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 FAILPOINT_VARIABLE
			 " is set, but this tidemark was built without "
			 "failpoints (-Dfailpoints=true)");
}

#endif

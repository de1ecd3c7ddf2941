#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/post.h"
#include "core/serve/serve.h"

struct serve_view {
	const struct arguments *args;
	struct stat file; /* as it was read */
};

static bool serve_file_is(const char *path, const struct stat *then)
{
	struct stat now;

	return !stat(path, &now) && now.st_ino == then->st_ino &&
	       now.st_dev == then->st_dev && now.st_size == then->st_size &&
	       now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

/* A file that was changed is read when somebody says so. */
static int serve_check_file(const struct serve_view *view, const char *path,
			    struct error *err)
{
	if (serve_file_is(path, &view->file))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "%s was changed since it was read: new tables are not "
			 "looked for until SIGHUP has it read anew",
			 path);
}

static int serve_read(void *ctx, enum serve_reading why, struct generation *out,
		      struct error *err)
{
	struct serve_view *view = ctx;
	int code = config_open(view->args, &out->s, err);

	if (code)
		return code;
	if (why == SERVE_LOOK)
		code = serve_check_file(view, out->s.file, err);
	else if (stat(out->s.file, &view->file))
		memset(&view->file, 0, sizeof(view->file));
	if (!code)
		code = config_select(view->args, 0, &out->s, &out->pipelines,
				     &out->n, err);
	return code;
}

/* A pipeline with nothing new is no news. */
static void serve_log(const struct run_result *r)
{
	const struct error *e = &r->error;
	bool idle = !e->code && !r->rows_read && !r->rows_deleted;
	bool others = r->outcome == OUTCOME_BUSY && !r->recorded;

	if (log_is_for_programs() && !idle && !others)
		run_result_log(r);
	else if (e->code == ERROR_STOPPED)
		log_warn("%s", e->message);
	else if (others)
		log_debug("%s", e->message);
	else if (e->code && *e->server_code)
		log_error("%s [%s]", e->message, e->server_code);
	else if (e->code)
		log_error("%s", e->message);
	else if (!idle)
		log_info("%s: %" PRId64 " rows read in %.1f s",
			 r->outcome == OUTCOME_STOPPED ? "stopped"
						       : "caught up",
			 r->rows_read,
			 (double)r->elapsed_us / (double)US_PER_SECOND);
	else
		log_debug("%s", r->waiting ? r->waiting : "nothing new");
}

static void serve_finished(void *ctx, const struct run_result *r)
{
	(void)ctx;
	log_set_pipeline(r->pipeline->name);
	serve_log(r);
	log_set_pipeline("");
}

static int serve_command(const struct arguments *args, struct error *err)
{
	struct serve_view view = { .args = args };
	const struct serve_options options = {
		.jobs = (size_t)arguments_number(args, "jobs"),
		.read = serve_read,
		.finished = serve_finished,
		.post = post_send,
		.ctx = &view,
	};

	return serve_run(&options, err);
}

static const struct flag serve_flags[] = {
	{ "jobs", 0, FLAG_COUNT, "N",
	  "run so many pipelines at once (default: as the config says)" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_serve = {
	.name = "serve",
	.operands = "[PIPELINE...]",
	.max_operands = OPERANDS_ANY,
	.summary = "run pipelines on their schedules, until a signal",
	.details = "Each pipeline runs when its `schedule` says so, `jobs` at "
		   "once. A turn that was\n"
		   "missed is made up for once. Several `serve` with one state "
		   "store share the work:\n"
		   "each turn is taken once. A pipeline that fails keeps "
		   "nobody from running, and runs\n"
		   "again at its next turn. SIGHUP reads the config anew; one "
		   "that is wrong is refused,\n"
		   "and the old one stays in force. SIGTERM ends each run "
		   "after the batch in hand\n"
		   "(exit 8).",
	.example = "tidemark -c /etc/tidemark/tidemark.yaml serve",
	.flags = serve_flags,
	.run = serve_command,
};

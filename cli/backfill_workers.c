#include "cli/backfill_workers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/progress.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"

#define WORKERS_LOOK_US (US_PER_SECOND / 5)
/* The most processes that may be started in the place of killed ones. */
#define WORKERS_SPARE 1000

struct workers {
	char *argv[16];
	int argc;
	pid_t *pids; /* 0: none */
	size_t n;
	int spare;
	bool told; /* to stop */
	int log[2]; /* their stderr, where a live line is drawn; -1: ours */
	struct strbuf said; /* but for whole lines */
};

static void workers_push(struct workers *w, const char *text)
{
	w->argv[w->argc++] = xstrdup(text);
}

static void workers_command(struct workers *w, const struct arguments *args,
			    const struct settings *s, const char *pipeline)
{
	const char *format = arguments_text(args, "log-format");
	char share[24];

	snprintf(share, sizeof(share), "%zu", w->n);

	workers_push(w, "tidemark");
	workers_push(w, "-c");
	workers_push(w, s->file);
	if (format) {
		workers_push(w, "--log-format");
		workers_push(w, format);
	}
	if (arguments_has(args, "verbose"))
		workers_push(w, "--verbose");
	if (arguments_has(args, "quiet"))
		workers_push(w, "--quiet");
	workers_push(w, "worker");
	workers_push(w, "--chunks");
	workers_push(w, "--once");
	workers_push(w, "--share");
	workers_push(w, share);
	workers_push(w, "--");
	workers_push(w, pipeline);
}

/* In the child, only calls that are allowed between fork and exec. A worker
 * whose parent is gone drains. The parent passes a terminal's Ctrl-C on,
 * because a second signal would end the worker at once. */
static void workers_exec(const struct workers *w, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent ||
	    setpgid(0, 0) ||
	    (w->log[1] >= 0 && dup2(w->log[1], STDERR_FILENO) < 0))
		_exit(127);
	execv("/proc/self/exe", w->argv);
	_exit(127);
}

static int workers_start(struct workers *w, size_t i, struct error *err)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (!pid)
		workers_exec(w, parent);
	if (pid < 0)
		return error_set(err, ERROR_ACCESS,
				 "cannot start a worker process: %s",
				 strerror(errno));
	w->pids[i] = pid;
	return 0;
}

/* Killed, by whomever: its chunk is taken up by others, its place by a new
 * one. One that ended by itself has said why. */
static int workers_ended(struct workers *w, size_t i, int status,
			 struct error *err)
{
	pid_t pid = w->pids[i];

	w->pids[i] = 0;
	if (!WIFSIGNALED(status) || stop_requested() || w->spare-- <= 0)
		return 0;
	log_warn("worker process %d was killed (signal %d); another one takes "
		 "its place",
		 (int)pid, WTERMSIG(status));
	return workers_start(w, i, err);
}

/* The workers' words go above the live line. */
static void workers_listen(struct workers *w)
{
	char piece[4096];
	const char *end;
	ssize_t n;

	while (w->log[0] >= 0 &&
	       (n = read(w->log[0], piece, sizeof(piece))) > 0) {
		strbuf_add(&w->said, piece, (size_t)n);
		end = memrchr(w->said.data, '\n', w->said.len);
		if (!end)
			continue;
		n = end + 1 - w->said.data;
		progress_pass(w->said.data, (size_t)n);
		w->said.len -= (size_t)n;
		memmove(w->said.data, w->said.data + n, w->said.len);
	}
}

static size_t workers_look(struct workers *w, struct error *err)
{
	size_t alive = 0;

	for (size_t i = 0; i < w->n; i++) {
		int status;

		if (w->pids[i] && waitpid(w->pids[i], &status, WNOHANG) > 0)
			workers_ended(w, i, status, err);
		alive += w->pids[i] != 0;
	}
	return alive;
}

static void workers_tell(struct workers *w)
{
	for (size_t i = 0; i < w->n && !w->told; i++)
		if (w->pids[i])
			kill(w->pids[i], SIGTERM);
	w->told = true;
}

static void workers_open_log(struct workers *w)
{
	w->log[0] = w->log[1] = -1;
	if (progress_is_live() && pipe2(w->log, O_CLOEXEC) == 0)
		fcntl(w->log[0], F_SETFL, O_NONBLOCK);
}

static void workers_release(struct workers *w)
{
	for (int i = 0; i < w->argc; i++)
		free(w->argv[i]);
	for (int i = 0; i < 2 && w->log[i] >= 0; i++)
		close(w->log[i]);
	strbuf_release(&w->said);
	free(w->pids);
}

int backfill_workers(const struct arguments *args, const struct settings *s,
		     const char *pipeline, size_t n, void (*tick)(void *ctx),
		     void *ctx, struct error *err)
{
	struct workers w = { .n = n,
			     .spare = WORKERS_SPARE,
			     .said = STRBUF_INIT };
	int rc = 0;

	w.pids = xcalloc(n, sizeof(*w.pids));
	workers_open_log(&w);
	workers_command(&w, args, s, pipeline);
	for (size_t i = 0; !rc && i < n; i++)
		rc = workers_start(&w, i, err);
	while (workers_look(&w, err)) {
		if (stop_requested() || err->code)
			workers_tell(&w);
		tick(ctx);
		workers_listen(&w);
		/* Returns at once after a signal. */
		if (stop_requested())
			usleep(WORKERS_LOOK_US);
		else
			clock_sleep_us(WORKERS_LOOK_US);
	}
	workers_listen(&w);
	workers_release(&w);
	if (err->code)
		return -(int)err->code;
	return stop_requested()
		       ? error_set(err, ERROR_STOPPED, "stopped by a signal")
		       : 0;
}

#include "core/base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"

static atomic_bool stop_flag;
static atomic_int stop_signals;
static atomic_bool stop_hung_up;
static int stop_pipe[2] = { -1, -1 };
static pthread_once_t stop_once = PTHREAD_ONCE_INIT;

static void stop_open_pipe(void)
{
	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		stop_pipe[0] = stop_pipe[1] = -1;
	else if (atomic_load(&stop_flag) && write(stop_pipe[1], "", 1) < 0)
		return;
}

static void stop_handler(int signal)
{
	(void)signal;
	if (atomic_fetch_add(&stop_signals, 1) > 0)
		_exit(error_exit_status(ERROR_STOPPED));
	stop_request();
}

/* A terminal that goes away sends SIGHUP more than once: to the shell, which
 * tells its jobs, and to the jobs. */
static void stop_hangup(int signal)
{
	(void)signal;
	stop_request();
}

void stop_install_handlers(void)
{
	struct sigaction act, before;

	pthread_once(&stop_once, stop_open_pipe);
	memset(&act, 0, sizeof(act));
	sigemptyset(&act.sa_mask);
	act.sa_handler = stop_handler;
	/* No SA_RESTART: a blocking call is to come back and see the flag. */
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	act.sa_handler = stop_hangup;
	/* Ignored: by nohup, which is to have its way. */
	if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &act, NULL);
	act.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &act, NULL);
	/* A file at its limit (ulimit -f) is told as a full disk is. */
	sigaction(SIGXFSZ, &act, NULL);
}

static void stop_note_hangup(int signal)
{
	(void)signal;
	atomic_store(&stop_hung_up, true);
}

void stop_keep_hangups(void)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	sigemptyset(&act.sa_mask);
	act.sa_handler = stop_note_hangup;
	act.sa_flags = SA_RESTART;
	sigaction(SIGHUP, &act, NULL);
}

bool stop_take_hangup(void)
{
	return atomic_exchange(&stop_hung_up, false);
}

bool stop_requested(void)
{
	return atomic_load_explicit(&stop_flag, memory_order_relaxed);
}

/* Called by the signal handler too: async-signal-safe calls only. */
void stop_request(void)
{
	int saved = errno;

	if (!atomic_exchange(&stop_flag, true) && stop_pipe[1] >= 0 &&
	    write(stop_pipe[1], "", 1) < 0)
		errno = saved;
	errno = saved;
}

int stop_fd(void)
{
	pthread_once(&stop_once, stop_open_pipe);
	return stop_pipe[0];
}

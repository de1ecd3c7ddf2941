#include "core/base/stop.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define STOP_EXIT_STATUS 8

static atomic_int stop_count;
static int stop_pipe[2] = { -1, -1 };
static pthread_once_t stop_once = PTHREAD_ONCE_INIT;

static void stop_open_pipe(void)
{
	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK))
		stop_pipe[0] = stop_pipe[1] = -1;
}

/* Never read, so it stays readable. Async-signal-safe. */
static void stop_wake(void)
{
	if (stop_pipe[1] >= 0 && write(stop_pipe[1], "", 1) < 0)
		return;
}

static void stop_on_signal(int signal_number)
{
	(void)signal_number;
	if (atomic_fetch_add(&stop_count, 1) > 0)
		_exit(STOP_EXIT_STATUS);
	stop_wake();
}

void stop_install_handlers(void)
{
	struct sigaction action = { .sa_handler = stop_on_signal };

	pthread_once(&stop_once, stop_open_pipe);
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

bool stop_requested(void)
{
	return atomic_load(&stop_count) > 0;
}

void stop_request(void)
{
	pthread_once(&stop_once, stop_open_pipe);
	atomic_fetch_add(&stop_count, 1);
	stop_wake();
}

int stop_fd(void)
{
	pthread_once(&stop_once, stop_open_pipe);
	return stop_pipe[0];
}

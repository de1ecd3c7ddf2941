#include "cli/ask.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/stop.h"
#include "core/base/utf8.h"

bool ask_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* Not through stdio, whose read would outlast a signal. */
static bool ask_wait(void)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };

	while (!stop_requested())
		if (poll(fds, 2, -1) > 0 && fds[0].revents)
			return !stop_requested();
	return false;
}

bool ask_yes(const char *question)
{
	struct strbuf line = STRBUF_INIT;
	char answer[16] = "";
	ssize_t n;

	utf8_add_flat(&line, question);
	fprintf(stderr, "%s [y/N] ", line.data);
	fflush(stderr);
	strbuf_release(&line);
	if (!ask_wait()) {
		fputc('\n', stderr);
		return false;
	}
	n = read(STDIN_FILENO, answer, sizeof(answer) - 1);
	answer[n > 0 ? strcspn(answer, "\r\n") : 0] = '\0';
	return !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
}

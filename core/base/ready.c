#include "core/base/ready.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/units.h"

void ready_tell(const char *lines)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (n < 2 || n >= sizeof(to.sun_path) || !strchr("/@", *path))
		return;
	memcpy(to.sun_path, path, n);
	/* A name that is no file's. */
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A manager that does not listen is not waited for. */
	(void)sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
		     (const struct sockaddr *)&to,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

int64_t ready_watchdog_us(void)
{
	const char *text = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	int64_t us = 0, of = 0;

	if (!text || !units_parse_count(text, &us))
		return 0;
	if (pid && (!units_parse_count(pid, &of) || of != getpid()))
		return 0;
	return us;
}

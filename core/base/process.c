#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

/* proc(5): starttime is field 22 of /proc/PID/stat. */
#define PROCESS_START_FIELD 22

static ssize_t process_read(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, out, size - 1);
	close(fd);
	if (n >= 0)
		out[n] = '\0';
	return n;
}

/* Counted from behind the command's name, which may hold spaces and
 * parentheses itself. */
static const char *process_stat_field(char *stat, int wanted)
{
	char *p = strrchr(stat, ')');
	char *save = NULL;
	int field = 2;

	for (p = p ? strtok_r(p + 1, " ", &save) : NULL; p;
	     p = strtok_r(NULL, " ", &save))
		if (++field == wanted)
			return p;
	return NULL;
}

char *process_start(int64_t pid)
{
	char path[64], stat[1024], boot[64];
	const char *start;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	if (process_read(path, stat, sizeof(stat)) <= 0 ||
	    process_read("/proc/sys/kernel/random/boot_id", boot,
			 sizeof(boot)) <= 0)
		return xstrdup("");
	boot[strcspn(boot, "\n")] = '\0';
	start = process_stat_field(stat, PROCESS_START_FIELD);
	return start ? xstrfmt("%s/%s", boot, start) : xstrdup("");
}

bool process_is_gone(int64_t pid, const char *start)
{
	char *now;
	bool gone;

	if (pid <= 0 || pid > INT_MAX)
		return true;
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return true;
	now = process_start(pid);
	gone = start[0] && now[0] && strcmp(start, now) != 0;
	free(now);
	return gone;
}

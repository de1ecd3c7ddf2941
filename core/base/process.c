#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/alloc.h"

/* proc(5), fields of /proc/PID/stat: num_threads and starttime. */
#define PROCESS_THREADS_FIELD 20
#define PROCESS_START_FIELD   22

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

/* Fields are counted from behind the command's name, which may hold spaces and
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

/* A dead process keeps its number until its parent asks: in a container whose
 * first process does not, for ever. Threads that are still ending can write. */
static bool process_is_zombie(int64_t pid)
{
	char path[64], stat[1024];
	const char *state, *threads;
	bool zombie;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	if (process_read(path, stat, sizeof(stat)) <= 0)
		return false;
	state = strrchr(stat, ')');
	zombie = state && !strncmp(state, ") Z ", 4);
	threads = process_stat_field(stat, PROCESS_THREADS_FIELD);
	return zombie && threads && !strcmp(threads, "1");
}

bool process_is_gone(int64_t pid, const char *start)
{
	char *now;
	bool gone;

	if (pid <= 0 || pid > INT_MAX)
		return true;
	if ((kill((pid_t)pid, 0) && errno == ESRCH) || process_is_zombie(pid))
		return true;
	now = process_start(pid);
	gone = start[0] && now[0] && strcmp(start, now) != 0;
	free(now);
	return gone;
}

/* "boot-id/pid-namespace/"; "" when the system does not tell. */
static char *process_place(void)
{
	char boot[64], space[64];
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

	if (n <= 0 || process_read("/proc/sys/kernel/random/boot_id", boot,
				   sizeof(boot)) <= 0)
		return xstrdup("");
	space[n] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	return xstrfmt("%s/%s/", boot, space);
}

char *process_mark(void)
{
	char *place = process_place(), *start = process_start(getpid());
	const char *slash = strrchr(start, '/');
	char *mark = xstrfmt("%s%s", place, slash ? slash + 1 : "");

	free(place);
	free(start);
	return mark;
}

bool process_mark_is_gone(int64_t pid, const char *mark)
{
	char *place = process_place();
	size_t n = strlen(place);
	char *start = NULL;
	bool gone = false;

	if (n && !strncmp(mark, place, n)) {
		start = mark[n] ? xstrfmt("%.*s%s",
					  (int)(strchr(place, '/') - place + 1),
					  place, mark + n)
				: xstrdup("");
		gone = process_is_gone(pid, start);
	}
	free(start);
	free(place);
	return gone;
}

/* proc(5), /proc/locks: "1: POSIX ADVISORY WRITE PID MAJOR:MINOR:INODE START
 * END". With "->" behind the number the process waits for the lock. */
static int64_t process_of_lock(char *line, const char *file, bool writing)
{
	char *save = NULL, *fields[6];

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!fields[i])
			return 0;
	}
	if (!strcmp(fields[1], "->") || strcmp(fields[5], file) != 0 ||
	    (writing && strcmp(fields[3], "WRITE") != 0))
		return 0;
	return strtoll(fields[4], NULL, 10);
}

int64_t process_locking(const char *path, bool writing)
{
	FILE *locks = fopen("/proc/locks", "re");
	int64_t found = 0;
	char *line = NULL, *file;
	size_t size = 0;
	struct stat st;

	if (!locks || stat(path, &st)) {
		if (locks)
			fclose(locks);
		return 0;
	}
	file = xstrfmt("%02x:%02x:%ju", major(st.st_dev), minor(st.st_dev),
		       (uintmax_t)st.st_ino);
	while (!found && getline(&line, &size, locks) > 0) {
		found = process_of_lock(line, file, writing);
		/* Locks of open files, not of processes, have -1. */
		if (found < 0 || found == getpid())
			found = 0;
	}
	fclose(locks);
	free(line);
	free(file);
	return found;
}

char *process_name(int64_t pid)
{
	char path[64], name[64];

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/comm", pid);
	if (process_read(path, name, sizeof(name)) <= 0)
		return xstrdup("");
	name[strcspn(name, "\n")] = '\0';
	return xstrdup(name);
}

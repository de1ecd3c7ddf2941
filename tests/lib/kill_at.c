/* Loaded before a program. It counts the steps that change a file whose name
 * has KILL_AT_NAME in it. Instead of step number KILL_AT it kills the
 * process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void step(const char *path)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static long steps;
	const char *name = getenv("KILL_AT_NAME"), *at = getenv("KILL_AT");

	if (!name || !at || !path || !strstr(path, name))
		return;
	pthread_mutex_lock(&lock);
	if (++steps == strtol(at, NULL, 10))
		kill(getpid(), SIGKILL);
	pthread_mutex_unlock(&lock);
}

static void step_fd(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n > 0) {
		path[n] = '\0';
		step(path);
	}
}

#define NEXT(name) __typeof__(&name) next = dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                                             \
	int name(const char *path, int flags, ...)                             \
	{                                                                      \
		NEXT(name);                                                    \
		va_list ap;                                                    \
		mode_t mode;                                                   \
                                                                               \
		va_start(ap, flags);                                           \
		mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;               \
		va_end(ap);                                                    \
		if (flags & O_CREAT)                                           \
			step(path);                                            \
		return next(path, flags, mode);                                \
	}
OPEN(open)
OPEN(open64)

FILE *fopen(const char *path, const char *how)
{
	NEXT(fopen);

	if (*how == 'w')
		step(path);
	return next(path, how);
}

ssize_t write(int fd, const void *from, size_t n)
{
	NEXT(write);

	step_fd(fd);
	return next(fd, from, n);
}

#define PWRITE(name, offset_type)                                              \
	ssize_t name(int fd, const void *from, size_t n, offset_type at)       \
	{                                                                      \
		NEXT(name);                                                    \
                                                                               \
		step_fd(fd);                                                   \
		return next(fd, from, n, at);                                  \
	}
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define ON_FD(name)                                                            \
	int name(int fd)                                                       \
	{                                                                      \
		NEXT(name);                                                    \
                                                                               \
		step_fd(fd);                                                   \
		return next(fd);                                               \
	}
ON_FD(fsync)
ON_FD(fdatasync)

#define TRUNCATE(name, offset_type)                                            \
	int name(int fd, offset_type n)                                        \
	{                                                                      \
		NEXT(name);                                                    \
                                                                               \
		step_fd(fd);                                                   \
		return next(fd, n);                                            \
	}
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int unlink(const char *path)
{
	NEXT(unlink);

	step(path);
	return next(path);
}

int renameat2(int from, const char *old, int to, const char *new,
	      unsigned int flags)
{
	NEXT(renameat2);

	step(old);
	return next(from, old, to, new, flags);
}

#include "core/base/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/process.h"
#include "core/base/retry.h"

#define NEW_FILE_SUFFIX ".new"

/* "/a/b" is "/a"; "b" is "." */
static char *new_file_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/")
			     : xstrndup(path, (size_t)(slash - path));
}

static const char *new_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ".NAME.PID-NUMBER.new" of a process that is gone. */
static bool new_file_is_left(const char *entry, const char *name)
{
	size_t n = strlen(name);
	char *end;
	long pid;

	if (entry[0] != '.' || strncmp(entry + 1, name, n) != 0 ||
	    entry[1 + n] != '.')
		return false;
	pid = strtol(entry + n + 2, &end, 10);
	if (*end != '-' || strspn(end + 1, "0123456789abcdef") != 8 ||
	    strncmp(end + 9, NEW_FILE_SUFFIX, strlen(NEW_FILE_SUFFIX)) != 0)
		return false;
	return process_is_gone(pid, "");
}

static void new_file_sweep(const char *directory, const char *name)
{
	DIR *entries = opendir(directory);
	const struct dirent *e;

	while (entries && (e = readdir(entries))) {
		char *left;

		if (!new_file_is_left(e->d_name, name))
			continue;
		left = xstrfmt("%s/%s", directory, e->d_name);
		unlink(left);
		free(left);
	}
	if (entries)
		closedir(entries);
}

char *new_file_beside(const char *path)
{
	char *directory = new_file_directory(path);
	char *made = xstrfmt("%s/.%s.%ld-%08" PRIx32 NEW_FILE_SUFFIX, directory,
			     new_file_name(path), (long)getpid(),
			     (uint32_t)retry_random());

	new_file_sweep(directory, new_file_name(path));
	free(directory);
	return made;
}

static int new_file_flush(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = fsync(fd);
	/* Some file systems flush no directory. */
	if (rc && errno == EINVAL)
		rc = 0;
	close(fd);
	return rc;
}

/* Neither way is known to every file system. */
static int new_file_rename(const char *made, const char *path)
{
	int rc = renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_NOREPLACE);

	if (!rc || (errno != EINVAL && errno != ENOSYS))
		return rc;
	rc = link(made, path);
	if (!rc)
		unlink(made);
	return rc;
}

int new_file_finish(const char *made, const char *path)
{
	char *directory = new_file_directory(path);
	int rc = new_file_flush(made, O_RDWR), why;

	if (!rc)
		rc = new_file_rename(made, path);
	if (!rc)
		rc = new_file_flush(directory, O_RDONLY | O_DIRECTORY);
	free(directory);
	if (rc) {
		why = errno;
		unlink(made);
		errno = why;
	}
	return rc;
}

int new_file_write(const char *path, const char *text, size_t n)
{
	char *made = new_file_beside(path);
	FILE *f = fopen(made, "wxe");
	bool written = f && fwrite(text, 1, n, f) == n;
	int rc = -1, why;

	if (f && fclose(f))
		written = false;
	if (written)
		rc = new_file_finish(made, path);
	why = errno;
	if (f && !written)
		unlink(made);
	free(made);
	errno = why;
	return rc;
}

static bool file_is_as(const char *path, const struct stat *was)
{
	struct stat now;

	return !stat(path, &now) && now.st_dev == was->st_dev &&
	       now.st_ino == was->st_ino && now.st_size == was->st_size &&
	       now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

static int file_fill(const char *made, const char *text, size_t n,
		     const struct stat *was)
{
	int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;
	size_t at = 0;
	int rc = -1;

	if (fd < 0)
		return -1;
	while (at < n) {
		ssize_t some = write(fd, text + at, n - at);

		if (some < 0 && errno != EINTR)
			goto out;
		at += some > 0 ? (size_t)some : 0;
	}
	rc = fstat(fd, &st);
	if (!rc && (st.st_uid != was->st_uid || st.st_gid != was->st_gid))
		rc = fchown(fd, was->st_uid, was->st_gid);
	if (!rc)
		rc = fchmod(fd, was->st_mode & 07777);
	if (!rc)
		rc = fsync(fd);
out:
	if (close(fd))
		rc = -1;
	return rc;
}

int file_replace(const char *path, const char *text, size_t n,
		 const struct stat *was)
{
	char *real = realpath(path, NULL), *made, *directory;
	int rc, why;

	if (!real)
		return -1;
	made = new_file_beside(real);
	directory = new_file_directory(real);
	rc = file_fill(made, text, n, was);
	if (!rc && !file_is_as(real, was)) {
		errno = ESTALE;
		rc = -1;
	}
	if (!rc)
		rc = rename(made, real);
	if (!rc)
		rc = new_file_flush(directory, O_RDONLY | O_DIRECTORY);
	why = errno;
	if (rc)
		unlink(made);
	free(directory);
	free(made);
	free(real);
	errno = why;
	return rc;
}

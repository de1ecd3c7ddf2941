#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void names_release(struct names *n)
{
	free(n->table);
	free(n->marks);
	free(n->mark);
	free(n->next_mark);
	free(n->stage);
	free(n->lock);
	free(n->file);
}

/* A pipeline's name is of letters, digits, "-" and "_"; a table's may be
 * anything. */
int names_make(struct names *n, const char *directory,
	       const struct target *target, int64_t file, struct error *err)
{
	memset(n, 0, sizeof(*n));
	if (strchr(target->table, '/') || target->table[0] == '.')
		return error_set(err, ERROR_CONFIG,
				 "table %s: its name is to be a directory, so "
				 "it may neither hold \"/\" nor begin with "
				 "\".\"",
				 target->table);
	n->table = xstrfmt("%s/%s", directory, target->table);
	n->marks = xstrfmt("%s/.tidemark", n->table);
	n->mark = xstrfmt("%s/%s.json", n->marks, target->pipeline);
	n->next_mark = xstrfmt("%s/%s.json.next", n->marks, target->pipeline);
	n->stage = xstrfmt("%s/%s.stage", n->marks, target->pipeline);
	n->lock = xstrfmt("%s/%s.lock", n->marks, target->pipeline);
	n->file = xstrfmt("%s/%s-%016" PRId64 ".ndjson", n->table,
			  target->pipeline, file);
	return 0;
}

/* Nobody repairs a full disk by trying again at once. */
int failed(const char *what, const char *path, struct error *err)
{
	return error_set(err, ERROR_ACCESS, "cannot %s %s: %s", what, path,
			 strerror(errno));
}

/* What was renamed is only there after a crash once its directory is on the
 * disk, too. */
static int sync_directory(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) ? failed("sync", path, err) : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

int rename_file(const char *from, const char *to, const char *directory,
		struct error *err)
{
	if (rename(from, to))
		return failed("rename to", to, err);
	return sync_directory(directory, err);
}

/* Names are in the order of the loads, also behind those of a pipeline that was
 * forgotten, and of a clock that was set back. */
int64_t next_number(int64_t last)
{
	int64_t now = clock_now_us();

	return now > last ? now : last + 1;
}

int close_file(FILE *file, const char *path, struct error *err)
{
	int rc = fflush(file) || fsync(fileno(file)) || ferror(file)
			 ? failed("write", path, err)
			 : 0;

	if (fclose(file) && !rc)
		rc = failed("write", path, err);
	return rc;
}

int write_json(FILE *file, json_t *value, const char *path, struct error *err)
{
	int rc = json_dumpf(value, file, JSON_COMPACT) || fputc('\n', file) < 0
			 ? failed("write", path, err)
			 : 0;

	json_decref(value);
	return rc;
}

int make_directory(const char *path, struct error *err)
{
	return mkdir(path, 0777) && errno != EEXIST ? failed("make", path, err)
						    : 0;
}

/* One writer at a time: whoever is slower finds the mark moved. Let go by the
 * close of the file, and so by any death. */
int lock_names(const struct names *n, int *fd, struct error *err)
{
	*fd = open(n->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0)
		return failed("open", n->lock, err);
	if (flock(*fd, LOCK_EX)) {
		close(*fd);
		return failed("lock", n->lock, err);
	}
	return 0;
}

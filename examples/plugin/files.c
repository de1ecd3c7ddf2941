#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_WAIT_US ((int64_t)10 * 1000 * 1000)
#define LOCK_LOOK_US (50 * 1000)

void names_release(struct names *n)
{
	free(n->table);
	free(n->marks);
	free(n->mark);
	free(n->next_mark);
	free(n->stage);
	free(n->lock);
	free(n->pipeline);
	free(n->file);
}

/* A name may hold anything; as that of a file it has neither "/" nor ".", so
 * that it stays where it belongs. url_decode() makes the name of it again. */
static void add_escaped(struct strbuf *sb, const char *name)
{
	for (; *name; name++) {
		if (strchr("/.%", *name))
			strbuf_addf(sb, "%%%02X", (unsigned char)*name);
		else
			strbuf_addch(sb, *name);
	}
}

/* schema.table: the one dot in a directory's name. */
static int table_directory(struct strbuf *sb, const char *table,
			   struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, table, err);

	if (!rc && name.catalog) {
		add_escaped(sb, name.catalog);
		strbuf_addch(sb, '.');
	}
	if (!rc && name.schema) {
		add_escaped(sb, name.schema);
		strbuf_addch(sb, '.');
	}
	if (!rc)
		add_escaped(sb, name.name);
	table_name_release(&name);
	return rc;
}

/* The longest that is put behind a name: "-NUMBER.ndjson". */
static int check_length(const struct strbuf *name, const char *what,
			struct error *err)
{
	return name->len + 27 <= NAME_MAX
		       ? 0
		       : error_set(err, ERROR_CONFIG,
				   "%s: too long for a file's name", what);
}

static void names_fill(struct names *n, const char *directory,
		       const char *table, const char *pipeline, int64_t number)
{
	n->table = xstrfmt("%s/%s", directory, table);
	n->marks = xstrfmt("%s/.tidemark", n->table);
	n->mark = xstrfmt("%s/%s.json", n->marks, pipeline);
	n->next_mark = xstrfmt("%s/%s.json.next", n->marks, pipeline);
	n->lock = xstrfmt("%s/%s.lock", n->marks, pipeline);
	n->pipeline = xstrdup(pipeline);
	n->stage = xstrfmt("%s/%s-%016" PRId64 ".stage", n->marks, pipeline,
			   number);
	n->file = xstrfmt("%s/%s-%016" PRId64 ".ndjson", n->table, pipeline,
			  number);
}

int names_make(struct names *n, const char *directory,
	       const struct target *target, int64_t number, struct error *err)
{
	struct strbuf table = STRBUF_INIT, pipeline = STRBUF_INIT;
	int rc;

	memset(n, 0, sizeof(*n));
	add_escaped(&pipeline, target->pipeline);
	rc = table_directory(&table, target->table, err);
	if (!rc)
		rc = check_length(&table, target->table, err);
	if (!rc)
		rc = check_length(&pipeline, target->pipeline, err);
	if (!rc)
		names_fill(n, directory, table.data, pipeline.data, number);
	strbuf_release(&table);
	strbuf_release(&pipeline);
	return rc;
}

/* Nobody repairs a full disk by trying again at once. */
int failed(const char *what, const char *path, struct error *err)
{
	return error_set(err, ERROR_ACCESS, "cannot %s %s: %s", what, path,
			 strerror(errno));
}

/* After a crash a renamed file is only there if its directory is on the disk,
 * too. */
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

int remove_file(const char *path, const char *directory, struct error *err)
{
	if (unlink(path))
		return errno == ENOENT ? 0 : failed("remove", path, err);
	return sync_directory(directory, err);
}

/* PIPELINE-DIGITS.stage; a pipeline's name may itself end in digits. */
static bool is_stage(const char *name, const char *pipeline)
{
	size_t n = strlen(pipeline), digits;

	if (strncmp(name, pipeline, n) != 0 || name[n] != '-')
		return false;
	digits = strspn(name + n + 1, "0123456789");
	return digits && !strcmp(name + n + 1 + digits, ".stage");
}

int remove_stages(const struct names *n, struct error *err)
{
	DIR *dir = opendir(n->marks);
	struct dirent *entry;
	int rc = dir ? 0 : failed("read", n->marks, err);

	while (dir && !rc && (entry = readdir(dir))) {
		char *path = xstrfmt("%s/%s", n->marks, entry->d_name);

		if (is_stage(entry->d_name, n->pipeline))
			rc = remove_file(path, n->marks, err);
		free(path);
	}
	if (dir)
		closedir(dir);
	return rc;
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

int make_directory(const char *path, const char *parent, struct error *err)
{
	if (mkdir(path, 0777))
		return errno == EEXIST ? 0 : failed("make", path, err);
	return sync_directory(parent, err);
}

/* Not by flock() itself, which would wait for a process that was stopped for
 * as long as it is. */
static int lock_file(int fd, const char *path, atomic_bool *interrupted,
		     struct error *err)
{
	int64_t until = clock_monotonic_us() + LOCK_WAIT_US;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return failed("lock", path, err);
		if (atomic_load(interrupted))
			return error_set(err, ERROR_STOPPED,
					 "stopped while waiting for %s", path);
		if (clock_monotonic_us() > until)
			return error_set(err, ERROR_STATE,
					 "%s has been held by another process "
					 "for 10 s; see what it does (fuser "
					 "names it)",
					 path);
		clock_sleep_us(LOCK_LOOK_US);
	}
	return 0;
}

/* One writer at a time: whoever is slower finds the mark moved. Let go by the
 * close of the file, and so by any death. */
int lock_names(const struct names *n, atomic_bool *interrupted, int *fd,
	       struct error *err)
{
	int rc;

	*fd = open(n->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0)
		return failed("open", n->lock, err);
	rc = lock_file(*fd, n->lock, interrupted, err);
	if (rc)
		close(*fd);
	return rc;
}

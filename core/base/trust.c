#include "core/base/trust.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/alloc.h"

/* As many as Linux follows. */
#define TRUST_LINKS 40

/* A path that is walked from the root. */
struct trust_walk {
	enum trust kind;
	struct strbuf *why;
	char *done; /* a directory, free of links */
	char *rest; /* the path behind it */
	int links;
	bool cut; /* a directory on the way is missing */
};

static bool trust_is_ours(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}

static bool trust_is_our_group(gid_t group)
{
	gid_t groups[NGROUPS_MAX];
	int n = getgroups(NGROUPS_MAX, groups);

	if (group == getegid())
		return true;
	for (int i = 0; i < n; i++)
		if (groups[i] == group)
			return true;
	return false;
}

static void trust_add_user(struct strbuf *sb, uid_t user)
{
	struct passwd entry, *found = NULL;
	char text[4096];

	if (!getpwuid_r(user, &entry, text, sizeof(text), &found) && found)
		strbuf_addf(sb, "%s (uid %u)", found->pw_name, (unsigned)user);
	else
		strbuf_addf(sb, "uid %u", (unsigned)user);
}

static bool trust_refuse_owner(const char *what, const char *path, uid_t owner,
			       struct strbuf *why)
{
	strbuf_addf(why, "%s%s belongs to ", what, path);
	trust_add_user(why, owner);
	strbuf_addstr(why, ", and this process runs as ");
	trust_add_user(why, geteuid());
	strbuf_addf(why, ": if you trust what it holds, run \"chown %u %s\"",
		    (unsigned)geteuid(), path);
	return false;
}

static bool trust_refuse_mode(const char *what, const char *path, mode_t mode,
			      const char *fault, const char *remedy,
			      struct strbuf *why)
{
	strbuf_addf(why,
		    "%s%s can be %s by others (mode %04o): run \"chmod %s %s\"",
		    what, path, fault, (unsigned)(mode & 07777), remedy, path);
	return false;
}

static bool trust_group_writes(const struct trust_walk *w,
			       const struct stat *st)
{
	if (!(st->st_mode & S_IWGRP))
		return false;
	return w->kind == TRUST_MODULE ||
	       (st->st_gid != 0 && !trust_is_our_group(st->st_gid));
}

/* Nobody gives a home directory away for a state store. */
static bool trust_refuse_place(const char *path, uid_t owner,
			       struct strbuf *why)
{
	strbuf_addf(why, "the directory %s belongs to ", path);
	trust_add_user(why, owner);
	strbuf_addstr(why, ", who can put other files there, and this process "
			   "runs as ");
	trust_add_user(why, geteuid());
	strbuf_addstr(why, ": run it as that user, or name a place in a "
			   "directory of your own");
	return false;
}

static bool trust_directory(struct trust_walk *w, const char *path,
			    const struct stat *st)
{
	static const char what[] = "the directory ";
	bool others = trust_group_writes(w, st) || st->st_mode & S_IWOTH;

	if (w->kind == TRUST_SECRET)
		return true;
	if (w->kind == TRUST_STATE && !trust_is_ours(st->st_uid))
		return trust_refuse_place(path, st->st_uid, w->why);
	if (w->kind == TRUST_MODULE && !trust_is_ours(st->st_uid))
		return trust_refuse_owner(what, path, st->st_uid, w->why);
	/* In a directory with the sticky bit others can add files, and cannot
	 * move ours. */
	if (others && !(st->st_mode & S_ISVTX))
		return trust_refuse_mode(what, path, st->st_mode, "written",
					 "go-w", w->why);
	return true;
}

static bool trust_is_mounted_so(const char *path, enum trust kind)
{
	struct statvfs fs;

	return (kind == TRUST_SECRET || kind == TRUST_CONFIG) &&
	       !statvfs(path, &fs) && fs.f_flag & ST_RDONLY;
}

static bool trust_file(struct trust_walk *w, const char *path,
		       const struct stat *st)
{
	mode_t readers =
		st->st_uid == 0 && geteuid() != 0 ? S_IRWXO : S_IRWXG | S_IRWXO;

	if (!trust_is_ours(st->st_uid))
		return trust_refuse_owner("", path, st->st_uid, w->why);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return trust_refuse_mode(
			"", path, st->st_mode, "written",
			w->kind == TRUST_SECRET ? "600" : "go-w", w->why);
	if (w->kind == TRUST_SECRET && st->st_mode & readers)
		return trust_refuse_mode("", path, st->st_mode, "read", "600",
					 w->why);
	return true;
}

static void trust_set(char **field, char *value)
{
	free(*field);
	*field = value;
}

/* "/a/b" -> "/a", "/a" -> "/". */
static void trust_up(struct trust_walk *w)
{
	char *slash = strrchr(w->done, '/');

	slash[slash == w->done] = '\0';
}

/* A link may be replaced by its owner. */
static bool trust_follow(struct trust_walk *w, const char *path,
			 const struct stat *st)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (w->kind != TRUST_SECRET && !trust_is_ours(st->st_uid))
		return trust_refuse_owner("the link ", path, st->st_uid,
					  w->why);
	if (n < 0 || ++w->links > TRUST_LINKS) {
		trust_set(&w->rest, xstrdup(""));
		return true;
	}
	to[n] = '\0';
	if (*to == '/')
		trust_set(&w->done, xstrdup("/"));
	trust_set(&w->rest, xstrfmt("%s/%s", to, w->rest));
	return true;
}

/* Nothing is there. */
static void trust_stop(struct trust_walk *w)
{
	w->cut = w->rest[strspn(w->rest, "/")] != '\0';
	trust_set(&w->rest, xstrdup(""));
}

/* The next name of the path. */
static bool trust_step(struct trust_walk *w)
{
	size_t start = strspn(w->rest, "/");
	size_t n = strcspn(w->rest + start, "/");
	char *name = xstrndup(w->rest + start, n), *path;
	struct stat st = { 0 };
	bool ok = true;

	trust_set(&w->rest, xstrdup(w->rest + start + n));
	if (!strcmp(name, "..")) {
		trust_up(w);
	} else if (n && strcmp(name, ".") != 0) {
		path = xstrfmt("%s/%s", strcmp(w->done, "/") ? w->done : "",
			       name);
		if (lstat(path, &st))
			trust_stop(w);
		else if (S_ISLNK(st.st_mode))
			ok = trust_follow(w, path, &st);
		else if (S_ISDIR(st.st_mode))
			ok = trust_directory(w, path, &st);
		else if (S_ISREG(st.st_mode))
			ok = trust_file(w, path, &st);
		if (S_ISDIR(st.st_mode))
			trust_set(&w->done, xstrdup(path));
		free(path);
	}
	free(name);
	return ok;
}

/* SQLite believes the files beside a store, which come and go. The sticky bit
 * does not keep others from making them first. */
static bool trust_place(const struct trust_walk *w)
{
	struct stat st;

	if (w->kind != TRUST_STATE || w->cut || stat(w->done, &st) ||
	    !(st.st_mode & S_ISVTX) ||
	    !(trust_group_writes(w, &st) || st.st_mode & S_IWOTH))
		return true;
	strbuf_addf(w->why,
		    "others can make files in the directory %s (mode %04o), "
		    "which would be taken for parts of it: name a place in a "
		    "directory of your own, which is made if it is missing, as "
		    "%s%stidemark/state.db",
		    w->done, (unsigned)(st.st_mode & 07777), w->done,
		    strcmp(w->done, "/") ? "/" : "");
	return false;
}

bool trust_path(const char *path, enum trust kind, struct strbuf *why)
{
	struct trust_walk w = { .kind = kind, .why = why };
	char *here = *path == '/' ? NULL : getcwd(NULL, 0);
	bool ok = true;

	if (!trust_is_mounted_so(path, kind)) {
		w.done = xstrdup("/");
		w.rest = here ? xstrfmt("%s/%s", here, path) : xstrdup(path);
		while (ok && *w.rest)
			ok = trust_step(&w);
		ok = ok && trust_place(&w);
	}
	free(here);
	free(w.done);
	free(w.rest);
	return ok;
}

int trust_check(const char *path, enum trust kind, const char *what,
		struct error *err)
{
	struct strbuf why = STRBUF_INIT;
	int rc = 0;

	if (!trust_path(path, kind, &why))
		rc = error_set(err, ERROR_CONFIG, "%s is not to be trusted: %s",
			       what, why.data);
	strbuf_release(&why);
	return rc;
}

/* The directory of a path without links. */
static mode_t trust_mode_above(const char *path)
{
	char *above = xstrdup(path), *slash = strrchr(above, '/');
	struct stat st;
	mode_t mode = S_IWOTH;

	slash[slash == above] = '\0';
	if (!stat(above, &st))
		mode = st.st_mode;
	free(above);
	return mode;
}

/* Could the owner of `side` have written the file itself? A library gives side
 * files the file's mode and group. */
static bool trust_owner_beside(const char *path, const struct stat *file,
			       const struct stat *side)
{
	if (trust_is_ours(side->st_uid) || side->st_uid == file->st_uid ||
	    file->st_mode & S_IWOTH)
		return true;
	return file->st_mode & S_IWGRP && side->st_gid == file->st_gid &&
	       !(trust_mode_above(path) & S_IWOTH);
}

static bool trust_side(const char *path, const char *side,
		       const struct stat *file, struct strbuf *why)
{
	mode_t writers = S_IWGRP | S_IWOTH;
	struct stat st;

	if (lstat(side, &st))
		return true;
	if (S_ISLNK(st.st_mode)) {
		strbuf_addf(why, "%s is a link: remove it", side);
		return false;
	}
	if (!trust_owner_beside(path, file, &st)) {
		strbuf_addf(why, "%s belongs to ", side);
		trust_add_user(why, st.st_uid);
		strbuf_addf(why,
			    ", who may not write the file itself: look into "
			    "who put it there, remove it, and let no others "
			    "write to the directory");
		return false;
	}
	if (!S_ISDIR(st.st_mode) && st.st_mode & ~file->st_mode & writers)
		return trust_refuse_mode("", side, st.st_mode, "written",
					 "go-w", why);
	return true;
}

int trust_beside(const char *path, const char *const *suffixes,
		 struct error *err)
{
	struct stat file;
	struct strbuf why = STRBUF_INIT;
	char *real = realpath(path, NULL);
	int rc = 0;

	if (real && !stat(real, &file))
		for (; !why.len && *suffixes; suffixes++) {
			char *side = xstrfmt("%s%s", real, *suffixes);

			trust_side(real, side, &file, &why);
			free(side);
		}
	if (why.len)
		rc = error_set(err, ERROR_CONFIG,
			       "the file %s cannot be opened safely, because "
			       "what is beside it would be taken for a part of "
			       "it: %s",
			       path, why.data);
	strbuf_release(&why);
	free(real);
	return rc;
}

/*
 * Files that the program obeys. A module runs with our rights. The state store
 * says which work is done. A config says where data goes. A secret is none once
 * others have read it. So root or the user that runs us has to own the file,
 * and nobody else may write it. The same holds for the directories on the way
 * to it, or somebody could put another file there.
 *
 * Whoever mounts a read-only file system has chosen its files. Secrets and
 * configs are accepted there whatever their owner and mode are. Kubernetes and
 * Docker hand them over so (0644 of root), and so does systemd's
 * LoadCredential.
 */
#ifndef TIDEMARK_CORE_BASE_TRUST_H
#define TIDEMARK_CORE_BASE_TRUST_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

enum trust {
	/* Others may not read it either. The group may, if the file is root's
	 * and we are not root. The directories on the way do not matter. */
	TRUST_SECRET,
	TRUST_CONFIG,
	/* Directories belong to root or us as well, or are writable by a group
	 * of ours. In the file's own directory, the sticky bit is not enough:
	 * see trust_beside(). */
	TRUST_STATE,
	/* Directories belong to root or us as well. */
	TRUST_MODULE,
};

/* Follows links, whose owners count too. A path that leads nowhere yet is
 * judged as far as it exists. False, with the fault and the remedy appended to
 * `why`. */
bool trust_path(const char *path, enum trust kind, struct strbuf *why);
/* The same as a CONFIG error; `what` names the file: "the state file". */
int trust_check(const char *path, enum trust kind, const char *what,
		struct error *err);
/* A library opens other files beside `path`, such as "PATH-wal", and believes
 * them as much as the file. CONFIG if one of them is a link, or belongs to
 * somebody who may not write the file. CONFIG also if more users can write it
 * than the file. Whoever may make files in the directory can still be faster
 * than the library. */
int trust_beside(const char *path, const char *const *suffixes,
		 struct error *err);

#endif

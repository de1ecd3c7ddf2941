/*
 * Whom a file obeys. A module runs with our rights, the state store says what
 * is done already, a config says where data goes, and a secret is none once
 * others have read it. So the file has to belong to root or to the user that
 * runs us, and nobody else may write it; nor the directories on the way to it,
 * or one could put another file there.
 *
 * What a read-only mount holds was chosen by whoever mounted it: secrets and
 * configs are accepted there whatever their owner and mode are. So Kubernetes
 * and Docker hand them over (0644 of root), and systemd's LoadCredential.
 */
#ifndef TIDEMARK_CORE_BASE_TRUST_H
#define TIDEMARK_CORE_BASE_TRUST_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

enum trust {
	/* Also not to be read by others: by the group alone, where the file is
	 * root's and we are not root. The way to it does not matter. */
	TRUST_SECRET,
	TRUST_CONFIG,
	/* Directories belong to root or us as well; those of a group of ours
	 * are fine. In the file's own directory, the sticky bit is not enough:
	 * see trust_beside(). */
	TRUST_STATE,
	/* Directories belong to root or us as well. */
	TRUST_MODULE,
};

/* Follows links, whose owners count too. A path that leads nowhere yet is
 * judged as far as it leads. False, with what is wrong and how to mend it
 * appended to `why`. */
bool trust_path(const char *path, enum trust kind, struct strbuf *why);
/* The same as a CONFIG error; `what` names the file: "the state file". */
int trust_check(const char *path, enum trust kind, const char *what,
		struct error *err);
/* A library opens other files beside `path`, "PATH-wal", and believes them as
 * much as the file: CONFIG if one is a link, belongs to somebody who may not
 * write the file, or can be written by more users than the file. Whoever may
 * make files in the directory can still be faster than the library. */
int trust_beside(const char *path, const char *const *suffixes,
		 struct error *err);

#endif

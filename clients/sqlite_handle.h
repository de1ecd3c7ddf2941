/* Shared by the files of the SQLite client. */
#ifndef TIDEMARK_CLIENTS_SQLITE_HANDLE_H
#define TIDEMARK_CLIENTS_SQLITE_HANDLE_H

#include <sqlite3.h>
#include <sys/types.h>

#include "clients/sqlite.h"
#include "core/base/pool.h"

struct sqlite {
	struct pool_slot slot;
	char *function; /* the user's, or NULL; owned */
	bool changed; /* fit only to be closed */
	sqlite3 *handle;
	char *path;
	int64_t busy_timeout_us;
	int64_t busy_since_us; /* monotonic, of the wait at hand */
	/* sqlite_beside.c */
	struct sqlite *next;
	dev_t device;
	ino_t file;
	bool writes;
};

/* In sqlite_beside.c: this process has it open, and has closed it. */
void sqlite_beside_add(struct sqlite *db, bool writes);
void sqlite_beside_remove(struct sqlite *db);

struct sqlite_statement {
	struct sqlite *db;
	sqlite3_stmt *handle;
	bool too_big; /* a value was bound that SQLite cannot take */
};

/* Set `err` from a result code, or from what the connection says; `running`: of
 * a statement that it has understood. */
int sqlite_fail_code(struct error *err, const char *path, int code,
		     bool running, const char *message);
int sqlite_fail(struct sqlite *db, bool running, struct error *err);

#endif

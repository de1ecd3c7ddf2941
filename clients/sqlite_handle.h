/* Shared by the files of the SQLite client. */
#ifndef TIDEMARK_CLIENTS_SQLITE_HANDLE_H
#define TIDEMARK_CLIENTS_SQLITE_HANDLE_H

#include <sqlite3.h>

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
};

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

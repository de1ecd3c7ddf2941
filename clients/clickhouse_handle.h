/* What the files of the ClickHouse client share. */
#ifndef TIDEMARK_CLIENTS_CLICKHOUSE_HANDLE_H
#define TIDEMARK_CLIENTS_CLICKHOUSE_HANDLE_H

#include "clients/clickhouse.h"

struct clickhouse {
	struct http *http;
	char *shown;
	char *database;
	char *user, *key; /* headers, whole */
	char *session; /* or NULL */
	bool writes;
	/* Of a SELECT under way. */
	struct http_request request;
	struct http_response response;
	char *path, *sql;
	struct strbuf waiting; /* bytes of it, from `taken` on */
	size_t taken;
	const char *headers[5];
};

/* "/?database=...&..." for a request; `query`: NULL if it is the body. Caller
 * frees. */
char *clickhouse_path(const struct clickhouse *c, bool whole,
		      const char *query);

#endif

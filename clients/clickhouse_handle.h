/* Shared by the files of the ClickHouse client. */
#ifndef TIDEMARK_CLIENTS_CLICKHOUSE_HANDLE_H
#define TIDEMARK_CLIENTS_CLICKHOUSE_HANDLE_H

#include "clients/clickhouse.h"
#include "core/base/strlist.h"

struct clickhouse {
	struct http *http;
	char *shown;
	char *database;
	char *user, *key; /* headers, whole */
	char *session; /* or NULL */
	bool writes;
	bool packs; /* the rows that it sends */
	/* A SELECT under way. */
	struct http_request request;
	struct http_response response;
	char *path, *sql;
	struct strlist types; /* its columns' types */
	struct strbuf waiting; /* bytes of it, from `taken` on */
	size_t taken;
	const char *headers[5];
	/* Asked ahead, and the answers' texts; NULL: taken. */
	struct strlist ahead;
	char **answers;
	size_t answers_room;
};

/* In clickhouse_ahead.c: the text of an answer that was asked ahead, which the
 * caller frees; NULL: it was not. */
char *clickhouse_take_ahead(struct clickhouse *c, const char *sql);
/* clickhouse_query(), whatever was asked ahead. */
int clickhouse_query_anew(struct clickhouse *c, const char *sql,
			  const char *shape, struct clickhouse_rows *out,
			  struct error *err);

/* CONFIG: an unknown option, or a value that it cannot have. */
int clickhouse_take_options(const struct url *url, bool *packs,
			    struct error *err);
/* Add to the path the settings that are the same in every request, whatever the
 * user's profile says. */
void clickhouse_settings_write(struct strbuf *path, bool writes);
/* The statement answers with the server's version, and behind it the names of
 * wrong settings. clickhouse_settings_check() makes ACCESS of those. */
extern const char clickhouse_settings_sql[];
int clickhouse_settings_check(const struct clickhouse *c, const char *said,
			      struct error *err);
/* "/?database=...&..." for a request; `query`: NULL if it is the body. Caller
 * frees. */
char *clickhouse_path(const struct clickhouse *c, bool whole,
		      const char *query);

#endif

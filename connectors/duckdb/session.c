#include <stdlib.h>
#include <string.h>

#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"
#include "core/base/nearest.h"

#define SESSION_MEMORY "512MB"

const struct url_option duckdb_source_options[] = {
	{ "memory_limit", SESSION_MEMORY,
	  "memory that DuckDB may use; what does not fit goes to files beside "
	  "the database" },
	{ "threads", "", "threads that DuckDB may use; empty: as it likes" },
	{ "external_access", "false",
	  "true: views, defaults and the like in the file may read and write "
	  "other files and the network" },
	{ NULL, NULL, NULL },
};

static int session_check_option(const char *name, struct error *err)
{
	const char *names[] = { "memory_limit", "threads", "external_access" };
	const char *near = nearest_name(name, names, ARRAY_SIZE(names));

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return 0;
	}
	error_set(err, ERROR_CONFIG,
		  "duckdb: unknown option %s in the URL; allowed are "
		  "memory_limit, threads and external_access",
		  name);
	if (near)
		error_hint(err, "(did you mean %s?)", near);
	return -ERROR_CONFIG;
}

int duckdb_source_read_options(struct duckdb_source *s, const struct url *url,
			       struct error *err)
{
	const char *at = strchr(url->text, '?');
	int rc = 0;

	while (!rc && at && at[1]) {
		char *name = xstrndup(at + 1, strcspn(at + 1, "=&"));
		rc = session_check_option(name, err);
		free(name);
		at = strchr(at + 1, '&');
	}
	s->memory_limit = url_query_value(url, "memory_limit");
	s->threads = url_query_value(url, "threads");
	s->external_access = url_query_value(url, "external_access");
	return rc;
}

int duckdb_source_enter(struct duckdb_source *s, struct error *err)
{
	struct duck_setting settings[] = {
		{ "memory_limit",
		  s->memory_limit ? s->memory_limit : SESSION_MEMORY },
		/* Nothing is fetched from the network. */
		{ "autoinstall_known_extensions", "false" },
		{ "autoload_known_extensions", "false" },
		/* A view would read whatever file its reader may read. */
		{ "enable_external_access",
		  s->external_access ? s->external_access : "false" },
		{ "threads", s->threads },
	};
	int rc;

	if (s->awake)
		return 0;
	rc = duck_wake(s->db, settings,
		       ARRAY_SIZE(settings) - (s->threads ? 0 : 1), err);
	if (rc)
		return rc;
	s->awake = true;
	/* For casts of instants to text. */
	duck_exec(s->db, "SET TimeZone = 'UTC'", NULL);
	/* The file may be open for a destination of this process. */
	rc = duck_exec(s->db, "BEGIN TRANSACTION READ ONLY", err);
	if (rc)
		duckdb_source_leave(s);
	return rc;
}

void duckdb_source_leave(struct duckdb_source *s)
{
	paged_end_pass(&s->paged);
	if (!s->awake)
		return;
	duck_exec(s->db, "ROLLBACK", NULL);
	duck_rest(s->db);
	s->awake = false;
}

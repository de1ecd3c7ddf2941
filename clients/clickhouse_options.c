#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse_handle.h"
#include "clients/tls.h"
#include "core/base/alloc.h"

#define OPTION_COMPRESSION "compression"

const struct url_option clickhouse_url_options[] = {
	{ OPTION_COMPRESSION, "zstd, but none to this machine",
	  "zstd or none: how rows are packed on their way to the server" },
	{ NULL, NULL, NULL },
};

static bool option_is_known(const char *name)
{
	const struct url_option *o = clickhouse_url_options;

	while (o->name && strcmp(o->name, name) != 0)
		o++;
	return o->name != NULL;
}

static int option_check_names(const struct url *url, struct error *err)
{
	const char *at = url_query(url);
	int rc = 0;

	while (!rc && at && *at && at[1]) {
		char *name = xstrndup(at + 1, strcspn(at + 1, "=&"));

		if (!option_is_known(name))
			rc = error_set(err, ERROR_CONFIG,
				       "clickhouse: unknown option %s in the "
				       "URL; there is: " OPTION_COMPRESSION,
				       name);
		free(name);
		at = strchr(at + 1, '&');
	}
	return rc;
}

/* On one machine packing costs more than the bytes do. */
static int option_packs_unsaid(const struct url *url, bool *packs,
			       struct error *err)
{
	struct url_server s;
	int rc = url_server_parse(&s, url, err);

	if (rc)
		return rc;
	*packs = s.host && !tls_is_local(s.host, strlen(s.host));
	url_server_release(&s);
	return 0;
}

int clickhouse_take_options(const struct url *url, bool *packs,
			    struct error *err)
{
	int rc = option_check_names(url, err);
	char *said = rc ? NULL : url_query_value(url, OPTION_COMPRESSION);

	if (rc)
		return rc;
	if (!said)
		return option_packs_unsaid(url, packs, err);
	*packs = !strcmp(said, "zstd");
	if (!*packs && strcmp(said, "none") != 0)
		rc = error_set(err, ERROR_CONFIG,
			       "clickhouse: " OPTION_COMPRESSION
			       "=%.40s in the URL: it is zstd or none",
			       said);
	free(said);
	return rc;
}

#include "cli/urls.h"

#include <stdbool.h>
#include <strings.h>

#include "core/base/url.h"

int urls_refuse_password(const char *what, const char *url, struct error *err)
{
	bool mysql = url && (!strncasecmp(url, "mysql:", 6) ||
			     !strncasecmp(url, "mariadb:", 8));

	if (!url || !url_has_password(url))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "%s holds a password, which everybody who lists "
			 "processes can read: put a variable in its place, in "
			 "single quotes "
			 "('%s://app:${SHOP_PASSWORD}@db/shop'), or "
			 "${file:PATH}, or leave it out and use %s",
			 what, mysql ? "mysql" : "postgresql",
			 mysql ? "MYSQL_PWD" : "PGPASSWORD or ~/.pgpass");
}

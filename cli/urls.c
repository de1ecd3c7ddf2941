#include "cli/urls.h"

#include "core/base/url.h"

int urls_refuse_password(const char *what, const char *url, struct error *err)
{
	if (!url || !url_has_password(url))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "%s holds a password, which everybody who lists "
			 "processes can read: put a variable in its place, in "
			 "single quotes "
			 "('postgresql://app:${SHOP_PASSWORD}@db/shop'), or "
			 "${file:PATH}, or leave it out and use PGPASSWORD or "
			 "~/.pgpass",
			 what);
}

#include "clients/tls.h"

#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

/* 127.0.0.1 and its like, not a name that only begins so. */
static bool tls_is_loopback_address(const char *host, size_t n)
{
	return n > 4 && !strncmp(host, "127.", 4) &&
	       strspn(host, "0123456789.") >= n;
}

bool tls_is_local(const char *host, size_t n)
{
	return n == 0 || host[0] == '/' || host[0] == '@' ||
	       (n == 9 && !strncmp(host, "localhost", n)) ||
	       tls_is_loopback_address(host, n) ||
	       (n == 3 && !strncmp(host, "::1", n));
}

const char *tls_authorities(void)
{
	static const char *const bundles[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
		if (access(bundles[i], R_OK) == 0)
			return bundles[i];
	}
	return NULL;
}

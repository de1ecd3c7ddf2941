#include "clients/tls.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

/* 127.0.0.1 and its like, not a name that only begins so: a resolver looks
 * "127.0.0.1.2" up. */
static bool tls_is_loopback_address(const char *host, size_t n)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr address;

	if (n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = '\0';
	return inet_pton(AF_INET, text, &address) == 1 && text[3] == '.' &&
	       !strncmp(text, "127", 3);
}

bool tls_is_local(const char *host, size_t n)
{
	return n == 0 || host[0] == '/' || host[0] == '@' ||
	       (n == 9 && !strncmp(host, "localhost", n)) ||
	       tls_is_loopback_address(host, n) ||
	       (n == 3 && !strncmp(host, "::1", n));
}

static const char *tls_named(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

const char *tls_authorities(void)
{
	/* Debian and most others; Fedora and RHEL, and their newest; SUSE;
	 * Alpine. */
	static const char *const bundles[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem",
	};
	const char *named = tls_named("SSL_CERT_FILE");

	for (size_t i = 0; !named && i < ARRAY_SIZE(bundles); i++) {
		if (access(bundles[i], R_OK) == 0)
			named = bundles[i];
	}
	return named;
}

const char *tls_authorities_directory(void)
{
	return tls_named("SSL_CERT_DIR");
}

/* HMAC with SHA-256 (RFC 2104), by GLib. */
#ifndef TIDEMARK_CORE_BASE_HMAC_H
#define TIDEMARK_CORE_BASE_HMAC_H

#include <stddef.h>

#include "core/base/error.h"

#define HMAC_HEX_SIZE 65

/* The HMAC of `n` bytes under `key`, in lower case hex. CONFIG: no GLib. */
int hmac_hex(char out[HMAC_HEX_SIZE], const char *key, const char *data,
	     size_t n, struct error *err);

#endif

#include "core/base/hmac.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "core/base/library.h"

extern struct library library_glib;

int hmac_hex(char out[HMAC_HEX_SIZE], const char *key, const char *data,
	     size_t n, struct error *err)
{
	int rc = library_load(&library_glib, err);
	gchar *hex;

	if (rc)
		return rc;
	hex = g_compute_hmac_for_data(G_CHECKSUM_SHA256, (const guchar *)key,
				      strlen(key), (const guchar *)data, n);
	snprintf(out, HMAC_HEX_SIZE, "%s", hex);
	g_free(hex);
	return 0;
}

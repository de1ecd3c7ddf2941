#include "core/serve/http_page.h"

#include <string.h>

#include "core/serve/http.h"

const struct http_asset *http_page_find(const char *path)
{
	for (size_t i = 0; i < http_assets_n; i++)
		if (!strcmp(http_assets[i].path, path))
			return &http_assets[i];
	return NULL;
}

/* "*", or a list of them, perhaps with "W/" before one. */
static bool page_is_known(const char *known, const char *etag)
{
	return known && (!strcmp(known, "*") || strstr(known, etag));
}

void http_page_answer(const struct http_asset *asset,
		      const struct http_head *head, struct http_reply *out)
{
	bool packed = http_head_unpacks(head) && asset->n_packed < asset->n;

	out->type = asset->type;
	/* Kept, but asked about each time: a new program has a new page. */
	out->cache = "no-cache";
	out->varies = true;
	out->packed = packed;
	out->etag = packed ? asset->packed_etag : asset->etag;
	if (page_is_known(head->known_etag, out->etag)) {
		out->status = 304;
		out->packed = false;
		return;
	}
	out->fixed = packed ? asset->packed : asset->plain;
	out->fixed_length = packed ? asset->n_packed : asset->n;
}

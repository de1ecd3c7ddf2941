#include "clients/http_pack.h"

#include <stdlib.h>
#include <zstd.h>

#include "clients/libraries.h"
#include "core/base/alloc.h"

/* The lowest level packs rows to less than half at several hundred MB/s. */
#define PACK_LEVEL 1
#define PACK_BYTES ((size_t)128 << 10)

struct http_pack {
	ZSTD_CCtx *zstd; /* NULL: nothing is packed yet */
	ZSTD_inBuffer in; /* the part of `bytes` that is not packed yet */
	bool ended, over; /* the source; what is packed, too */
	char bytes[PACK_BYTES];
};

struct http_pack *http_pack_new(void)
{
	struct http_pack *p = xcalloc(1, sizeof(*p));

	http_pack_restart(p);
	return p;
}

void http_pack_free(struct http_pack *p)
{
	if (!p)
		return;
	if (p->zstd)
		ZSTD_freeCCtx(p->zstd);
	free(p);
}

void http_pack_restart(struct http_pack *p)
{
	if (p->zstd)
		ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	p->in = (ZSTD_inBuffer){ .src = p->bytes };
	p->ended = p->over = false;
}

static int pack_begin(struct http_pack *p, struct error *err)
{
	int rc = p->zstd ? 0 : library_load(&library_zstd, err);

	if (rc || p->zstd)
		return rc;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd)
		alloc_die();
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, PACK_LEVEL);
	return 0;
}

static int pack_fill(struct http_pack *p, http_source source, void *ctx,
		     struct error *err)
{
	long n;

	if (p->ended || p->in.pos < p->in.size)
		return 0;
	n = source(ctx, p->bytes, sizeof(p->bytes), err);
	if (n < 0)
		return (int)n;
	p->in.size = (size_t)n;
	p->in.pos = 0;
	p->ended = !n;
	return 0;
}

long http_pack_read(struct http_pack *p, http_source source, void *ctx,
		    void *out, size_t room, struct error *err)
{
	ZSTD_outBuffer packed = { .dst = out, .size = room };

	while (packed.pos < room && !p->over) {
		int rc = pack_begin(p, err);
		size_t left;

		if (!rc)
			rc = pack_fill(p, source, ctx, err);
		if (rc)
			return rc;
		left = ZSTD_compressStream2(p->zstd, &packed, &p->in,
					    p->ended ? ZSTD_e_end
						     : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return error_set(err, ERROR_BUG, "zstd: %s",
					 ZSTD_getErrorName(left));
		p->over = p->ended && !left;
	}
	return (long)packed.pos;
}

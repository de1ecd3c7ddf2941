#include "clients/mysql_local.h"

#include <inttypes.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/retry.h"

#define ERRNO_REFUSED 2000 /* CR_UNKNOWN_ERROR: no other code means it */

static int local_begin(void **out, const char *name, void *ctx)
{
	struct mysql_client_local *l = ctx;
	bool ours = l->armed && strcmp(name, l->token) == 0;

	*out = l;
	l->armed = false;
	return ours ? 0 : 1;
}

/* An error ends the text: the caller rolls back what the server took. */
static int local_read(void *ctx, char *out, unsigned room)
{
	struct mysql_client_local *l = ctx;
	size_t n;

	while (l->at == l->piece.len && l->rc > 0) {
		strbuf_reset(&l->piece);
		l->at = 0;
		l->rc = l->next(l->ctx, &l->piece, l->err);
	}
	n = l->piece.len - l->at;
	if (l->rc < 0)
		return 0;
	if (n > room)
		n = room;
	memcpy(out, l->piece.data + l->at, n);
	l->at += n;
	return (int)n;
}

static void local_end(void *ctx)
{
	(void)ctx;
}

static int local_refuse(void *ctx, char *out, unsigned room)
{
	(void)ctx;
	snprintf(out, room,
		 "the server asked for a file that was not offered to it: "
		 "refused");
	return ERRNO_REFUSED;
}

struct mysql_client_local *mysql_client_local_new(void)
{
	struct mysql_client_local *l = xcalloc(1, sizeof(*l));

	strbuf_init(&l->piece);
	return l;
}

void mysql_client_local_free(struct mysql_client_local *l)
{
	if (!l)
		return;
	strbuf_release(&l->piece);
	free(l);
}

void mysql_client_local_offer(void *conn, struct mysql_client_local *l)
{
	unsigned on = l != NULL;

	mysql_options(conn, MYSQL_OPT_LOCAL_INFILE, &on);
	if (l)
		mysql_set_local_infile_handler(conn, local_begin, local_read,
					       local_end, local_refuse, l);
}

void mysql_client_local_arm(struct mysql_client_local *l,
			    mysql_client_piece next, void *ctx,
			    struct error *err)
{
	snprintf(l->token, sizeof(l->token), "%016" PRIx64 "%016" PRIx64,
		 retry_random(), retry_random());
	strbuf_reset(&l->piece);
	l->next = next;
	l->ctx = ctx;
	l->err = err;
	l->at = 0;
	l->rc = 1;
	l->armed = true;
}

/*
 * A batch's rows as the stream of COPY FROM STDIN. The stream is binary when
 * every column has a binary form. Else it is text, and the server's own input
 * functions read the values (a cast would cut a long varchar without a word).
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_ENCODE_H
#define TIDEMARK_DESTINATIONS_POSTGRES_ENCODE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/strbuf.h"
#include "core/data/batch.h"
#include "destinations/postgres/types.h"

struct encoder {
	enum wire *wires; /* one for each column of the batch */
	size_t n;
	bool binary;
	struct strbuf out; /* bytes to send; the caller resets it */
	struct strbuf scratch; /* a value's text */
};

#define ENCODER_INIT                                                           \
	{                                                                      \
		NULL, 0, true, STRBUF_INIT, STRBUF_INIT                        \
	}

void postgres_encoder_set(struct encoder *e, const enum wire *wires, size_t n);
void postgres_encoder_release(struct encoder *e);
void postgres_encode_header(struct encoder *e);
void postgres_encode_row(struct encoder *e, const struct batch *b, size_t row);
void postgres_encode_trailer(struct encoder *e);

#endif

/*
 * PostgreSQL's binary wire values into batch vectors, one function a type;
 * resolved once per pass by types.c, called for every value. Bytes come from
 * a server that may be anything: every length is checked.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_DECODE_H
#define TIDEMARK_CONNECTORS_POSTGRES_DECODE_H

#include "core/data/batch.h"

/* Store the `n` bytes of one present value at `row` of `v`. DATA error, which
 * names neither column nor key, if they are not a value of the type or
 * the vector cannot hold it. */
typedef int (*decode_fn)(struct vector *v, size_t row, const uint8_t *bytes,
			 size_t n, struct error *err);

int postgres_source_decode_bool(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err);
int postgres_source_decode_int2(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err);
int postgres_source_decode_int4(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err);
int postgres_source_decode_int8(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err);
int postgres_source_decode_oid(struct vector *v, size_t row,
			       const uint8_t *bytes, size_t n,
			       struct error *err);
int postgres_source_decode_bytes(struct vector *v, size_t row,
				 const uint8_t *bytes, size_t n,
				 struct error *err);
/* Text of a server that does not vouch for its encoding (SQL_ASCII). */
int postgres_source_decode_text_checked(struct vector *v, size_t row,
					const uint8_t *bytes, size_t n,
					struct error *err);
int postgres_source_decode_jsonb(struct vector *v, size_t row,
				 const uint8_t *bytes, size_t n,
				 struct error *err);
int postgres_source_decode_date(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err);
int postgres_source_decode_time(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err);
int postgres_source_decode_timestamp(struct vector *v, size_t row,
				     const uint8_t *bytes, size_t n,
				     struct error *err);
int postgres_source_decode_interval(struct vector *v, size_t row,
				    const uint8_t *bytes, size_t n,
				    struct error *err);
int postgres_source_decode_uuid(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err);
int postgres_source_decode_numeric(struct vector *v, size_t row,
				   const uint8_t *bytes, size_t n,
				   struct error *err);

#endif

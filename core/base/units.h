/*
 * Durations, sizes and counts as people write them: "10m", "1h30m", "500ms",
 * "32MiB", "1MB", "20000", "0.1%". Exact inverse of the printers.
 */
#ifndef TIDEMARK_CORE_BASE_UNITS_H
#define TIDEMARK_CORE_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/strbuf.h"

/* All return false (and leave `*out`) if the text is not wholly a value, is
 * negative, or is beyond int64. */
bool units_parse_duration(const char *text,
			  int64_t *out_us); /* us ms s m h d */
bool units_parse_size(const char *text,
		      int64_t *out_bytes); /* B KB KiB MB MiB GB GiB TB TiB */
bool units_parse_count(const char *text,
		       int64_t *out); /* digits, _ allowed between */

/* A server's number, or the nearest one within +-`limit`, so that later
 * computations do not overflow. */
int64_t units_bounded(const char *text, int64_t limit);

void units_print_duration(struct strbuf *sb, int64_t us); /* "1h30m" */
void units_print_size(struct strbuf *sb, int64_t bytes); /* "32MiB" */
/* For people: "12.3M", "4.5k", "987". */
void units_print_short(struct strbuf *sb, double n);

#endif

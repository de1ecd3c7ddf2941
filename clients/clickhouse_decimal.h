/* Whole numbers of up to 256 bits as ClickHouse keeps them, little-endian, and
 * decimals with a fixed number of digits behind the point, as text. */
#ifndef TIDEMARK_CLIENTS_CLICKHOUSE_DECIMAL_H
#define TIDEMARK_CLIENTS_CLICKHOUSE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strbuf.h"

#define CLICKHOUSE_DECIMAL_DIGITS 76

/* Bytes of a Decimal of so many digits: 4, 8, 16, 32. */
size_t clickhouse_decimal_width(int precision);
/* Write "[-]digits[.digits]" as Decimal(precision, scale) to `out`. False if it
 * is no such number, has too many digits in all, or has more than `scale`
 * behind the point. */
bool clickhouse_decimal_encode(const char *text, size_t n, int precision,
			       int scale, uint8_t *out);
/* Append the number in `width` bytes (1 to 32). */
void clickhouse_decimal_print(struct strbuf *sb, const uint8_t *in,
			      size_t width, bool with_sign, int scale);

#endif

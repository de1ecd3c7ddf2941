/*
 * Time is int64 microseconds since 1970-01-01 UTC everywhere; the monotonic
 * clock serves durations. Nothing here is used to decide what a source has
 * settled: that is the source's own clock.
 */
#ifndef TIDEMARK_CORE_BASE_CLOCK_H
#define TIDEMARK_CORE_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_PER_SECOND INT64_C(1000000)
#define US_PER_DAY    (INT64_C(86400) * US_PER_SECOND)
#define CLOCK_MOST_US (INT64_MAX / 4)

int64_t clock_now_us(void); /* wall clock */
int64_t clock_monotonic_us(void); /* for durations only */
int64_t clock_boot_us(void); /* as monotonic; goes on while the machine sleeps
			      */

/* Sleep, but return early (true) as soon as stop_requested(). */
bool clock_sleep_us(int64_t us);

/* `us`, limited so far that a caller can derive another instant from it and
 * move that by some days without overflow of an int64. */
int64_t clock_bounded_us(int64_t us);

/* A server's duration in seconds, as text; bounded likewise. */
int64_t clock_bounded_seconds(const char *text);

#define CLOCK_TEXT_SIZE 40
/* "2026-01-31T12:00:00.000000Z" (proleptic Gregorian, any int64; years
 * beyond 9999 and before 1 as ISO 8601 signed years). */
void clock_format_utc(int64_t us, char out[CLOCK_TEXT_SIZE]);

#endif

#include "core/base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "core/base/stop.h"

static int64_t clock_read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * US_PER_SECOND + ts.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
	return clock_read_us(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}

bool clock_sleep_us(int64_t us)
{
	int64_t until = clock_monotonic_us() + us;
	struct pollfd stop = { .fd = stop_fd(), .events = POLLIN };

	while (!stop_requested()) {
		int64_t left = until - clock_monotonic_us();

		if (left <= 0)
			return false;
		left = left / 1000 + 1;
		poll(&stop, 1, left > 60000 ? 60000 : (int)left);
	}
	return true;
}

/* Days to civil date: Hinnant, "chrono-Compatible Low-Level Date Algorithms".
 */
static void clock_civil(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	*day = (int)(doy - (153 * mp + 2) / 5 + 1);
	*month = (int)(mp < 10 ? mp + 3 : mp - 9);
	*year = yoe + era * 400 + (*month <= 2);
}

void clock_format_utc(int64_t us, char out[CLOCK_TEXT_SIZE])
{
	int64_t days = us / US_PER_DAY - (us % US_PER_DAY < 0);
	int64_t left = us - days * US_PER_DAY;
	int64_t seconds = left / US_PER_SECOND;
	int64_t year;
	int month, day, used;
	bool signed_year;

	clock_civil(days, &year, &month, &day);
	signed_year = year < 0 || year > 9999;
	used = snprintf(out, CLOCK_TEXT_SIZE,
			signed_year ? "%+05" PRId64 : "%04" PRId64, year);
	snprintf(out + used, (size_t)(CLOCK_TEXT_SIZE - used),
		 "-%02d-%02dT%02d:%02d:%02d.%06dZ", month, day,
		 (int)(seconds / 3600), (int)(seconds / 60 % 60),
		 (int)(seconds % 60), (int)(left % US_PER_SECOND));
}

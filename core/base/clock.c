#include "core/base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "core/base/stop.h"
#include "core/base/units.h"

static int64_t clock_read(clockid_t id)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * US_PER_SECOND + ts.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
	return clock_read(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

int64_t clock_boot_us(void)
{
	return clock_read(CLOCK_BOOTTIME);
}

bool clock_sleep_us(int64_t us)
{
	int64_t start = clock_monotonic_us(), slept = 0;
	struct pollfd fd = { .fd = stop_fd(), .events = POLLIN };

	while (!stop_requested() && slept < us) {
		int64_t left = us - slept;
		struct timespec wait = {
			.tv_sec = (time_t)(left / US_PER_SECOND),
			.tv_nsec = (long)(left % US_PER_SECOND) * 1000,
		};

		ppoll(&fd, 1, &wait, NULL);
		slept = clock_monotonic_us() - start;
	}
	return stop_requested();
}

struct clock_date {
	int64_t year;
	int month, day;
};

/* Days since 1970-01-01 to a date, by 400-year eras that begin in March:
 * Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
static struct clock_date clock_date_of(int64_t days)
{
	int64_t shifted = days + 719468;
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	int64_t doe = shifted - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t month = (5 * doy + 2) / 153;
	struct clock_date date = {
		.year = yoe + era * 400 + (month >= 10),
		.month = (int)(month < 10 ? month + 3 : month - 9),
		.day = (int)(doy - (153 * month + 2) / 5 + 1),
	};

	return date;
}

int64_t clock_bounded_us(int64_t us)
{
	if (us > CLOCK_MOST_US)
		return CLOCK_MOST_US;
	return us < -CLOCK_MOST_US ? -CLOCK_MOST_US : us;
}

int64_t clock_bounded_seconds(const char *text)
{
	return units_bounded(text, CLOCK_MOST_US / US_PER_SECOND) *
	       US_PER_SECOND;
}

void clock_format_utc(int64_t us, char out[CLOCK_TEXT_SIZE])
{
	int64_t days = us / US_PER_DAY - (us % US_PER_DAY < 0);
	int64_t rest = us % US_PER_DAY + (us % US_PER_DAY < 0) * US_PER_DAY;
	struct clock_date date = clock_date_of(days);
	bool is_signed = date.year > 9999 || date.year < 1;
	int seconds = (int)(rest / US_PER_SECOND);

	snprintf(out, CLOCK_TEXT_SIZE,
		 is_signed ? "%+05lld-%02d-%02dT%02d:%02d:%02d.%06dZ"
			   : "%04lld-%02d-%02dT%02d:%02d:%02d.%06dZ",
		 (long long)date.year, date.month, date.day, seconds / 3600,
		 seconds / 60 % 60, seconds % 60, (int)(rest % US_PER_SECOND));
}

#include "core/base/zone.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/library.h"

/* No zone has put its clocks twice within such a time. */
#define ZONE_STEP INT64_C(21600)

extern struct library library_glib;

struct zone {
	GTimeZone *tz; /* NULL: UTC */
};

/* Names are paths below the database, and none leads out of it. */
static bool zone_is_name(const char *text)
{
	return *text && *text != '/' &&
	       !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789_+-/")];
}

int zone_open(const char *name, struct zone **out, struct error *err)
{
	GTimeZone *tz = NULL;

	if (strcmp(name, "UTC") != 0) {
		if (library_load(&library_glib, err))
			return -(int)err->code;
		if (zone_is_name(name))
			tz = g_time_zone_new_identifier(name);
		if (!tz)
			return error_set(err, ERROR_CONFIG,
					 "this system knows no time zone "
					 "\"%.80s\" (names are as Europe/Rome, "
					 "and come with the package tzdata)",
					 name);
	}
	*out = xcalloc(1, sizeof(**out));
	(*out)->tz = tz;
	return 0;
}

void zone_free(struct zone *z)
{
	if (z && z->tz)
		g_time_zone_unref(z->tz);
	free(z);
}

int64_t zone_offset(const struct zone *z, int64_t at)
{
	gint interval;

	if (!z || !z->tz)
		return 0;
	interval = g_time_zone_find_interval(z->tz, G_TIME_TYPE_UNIVERSAL, at);
	return g_time_zone_get_offset(z->tz, interval);
}

/* The change lies in (low, high]. */
static int64_t zone_bisect(const struct zone *z, int64_t low, int64_t high)
{
	int64_t before = zone_offset(z, low);

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (zone_offset(z, middle) == before)
			low = middle;
		else
			high = middle;
	}
	return high;
}

int64_t zone_change(const struct zone *z, int64_t from, int64_t to)
{
	int64_t before;

	if (!z || !z->tz)
		return INT64_MAX;
	before = zone_offset(z, from);
	for (int64_t low = from; low < to; low += ZONE_STEP) {
		int64_t high = to - low > ZONE_STEP ? low + ZONE_STEP : to;

		if (zone_offset(z, high) != before)
			return zone_bisect(z, low, high);
	}
	return INT64_MAX;
}

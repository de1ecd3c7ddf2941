#include "connectors/common/wall_clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

#define ZONE_FILES  "/usr/share/zoneinfo/"
#define ZONE_HEADER 44 /* RFC 8536, section 3.1 */
#define ZONE_MOST   (64 * 1024)
/* A year's two changes, and those of the year before. */
#define ZONE_CHANGES 4

bool wall_clock_is_unknown(const char *zone)
{
	return !zone || !strcmp(zone, "auto");
}

static uint32_t zone_number(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

struct zone_block {
	const unsigned char *types, *infos; /* for each change; for each type */
	size_t n_changes, n_types, size;
};

/* A block whose times have `width` bytes. */
static bool zone_block_at(const unsigned char *p, size_t n, size_t width,
			  struct zone_block *out)
{
	size_t utc, standard, leaps, names;

	if (n < ZONE_HEADER || memcmp(p, "TZif", 4) != 0)
		return false;
	utc = zone_number(p + 20);
	standard = zone_number(p + 24);
	leaps = zone_number(p + 28);
	out->n_changes = zone_number(p + 32);
	out->n_types = zone_number(p + 36);
	names = zone_number(p + 40);
	out->types = p + ZONE_HEADER + out->n_changes * width;
	out->infos = out->types + out->n_changes;
	out->size = ZONE_HEADER + out->n_changes * (width + 1) +
		    out->n_types * 6 + names + leaps * (width + 4) + standard +
		    utc;
	return out->n_types && out->n_changes < n && out->n_types < n &&
	       names < n && leaps < n && out->size <= n;
}

static bool zone_least(const unsigned char *p, size_t n, int64_t *seconds)
{
	struct zone_block b;
	size_t from;

	if (!zone_block_at(p, n, 4, &b))
		return false;
	/* Since version 2 a second block tells what the first cannot. */
	if (p[4] >= '2' && !zone_block_at(p + b.size, n - b.size, 8, &b))
		return false;
	*seconds = INT64_MAX;
	from = b.n_changes > ZONE_CHANGES ? b.n_changes - ZONE_CHANGES : 0;
	for (size_t i = from; i < b.n_changes; i++) {
		const unsigned char *info = b.infos + (size_t)b.types[i] * 6;
		int32_t offset = (int32_t)zone_number(info);
		if (b.types[i] < b.n_types && offset < *seconds)
			*seconds = offset;
	}
	if (!b.n_changes)
		*seconds = (int32_t)zone_number(b.infos);
	return *seconds != INT64_MAX;
}

static bool zone_from_file(const char *zone, int64_t *seconds)
{
	unsigned char *data;
	char *path;
	bool ok = false;
	size_t n;
	FILE *f;

	if (strstr(zone, "..") || *zone == '/')
		return false;
	path = xstrfmt(ZONE_FILES "%s", zone);
	f = fopen(path, "rbe");
	free(path);
	if (!f)
		return false;
	data = xmalloc(ZONE_MOST);
	n = fread(data, 1, ZONE_MOST, f);
	ok = n < ZONE_MOST && zone_least(data, n, seconds);
	free(data);
	fclose(f);
	return ok;
}

/* "+05:30", "-03" */
static bool zone_from_offset(const char *zone, int64_t *seconds)
{
	char *end;
	long hours, minutes = 0;

	if ((*zone != '+' && *zone != '-') || !isdigit((unsigned char)zone[1]))
		return false;
	hours = strtol(zone + 1, &end, 10);
	if (*end == ':')
		minutes = strtol(end + 1, &end, 10);
	if (*end || hours > 15 || minutes < 0 || minutes > 59)
		return false;
	*seconds = (hours * 60 + minutes) * 60;
	if (*zone == '-')
		*seconds = -*seconds;
	return true;
}

/* The smallest offset of this host within a day of `us`, or 0. */
static int64_t zone_of_host(int64_t us)
{
	int64_t least = 0;

	for (int day = -1; day <= 1; day++) {
		time_t at = (time_t)(us / US_PER_SECOND + day * 86400);
		struct tm tm;
		if (localtime_r(&at, &tm) && tm.tm_gmtoff < least)
			least = tm.tm_gmtoff;
	}
	return least;
}

int wall_clock_at(const char *zone, int64_t us, int64_t *out, struct error *err)
{
	int64_t seconds = 0;

	if (wall_clock_is_unknown(zone))
		seconds = zone_of_host(us);
	else if (strcasecmp(zone, "UTC") != 0 &&
		 !zone_from_offset(zone, &seconds) &&
		 !zone_from_file(zone, &seconds))
		return error_set(err, ERROR_CONFIG,
				 "watermark.time_zone \"%s\": this host does "
				 "not know that zone (no " ZONE_FILES
				 "%s)" ERROR_FIX
				 ": install tzdata, or use the zone's "
				 "smallest offset, such as +01:00",
				 zone, zone);
	*out = us + seconds * US_PER_SECOND;
	return 0;
}

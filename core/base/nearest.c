#include "core/base/nearest.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static size_t nearest_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int nearest_fold(char c)
{
	return tolower((unsigned char)c);
}

/* Optimal string alignment: insert, delete, replace, swap of neighbours. */
static size_t nearest_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), width = m + 1, result;
	size_t *d = xreallocarray(NULL, (n + 1) * width, sizeof(*d));

	for (size_t i = 0; i <= n; i++)
		d[i * width] = i;
	for (size_t j = 0; j <= m; j++)
		d[j] = j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			int x = nearest_fold(a[i - 1]);
			int y = nearest_fold(b[j - 1]);
			size_t *at = &d[i * width + j];

			*at = nearest_min(at[-1], at[-(ptrdiff_t)width]) + 1;
			*at = nearest_min(*at,
					  at[-(ptrdiff_t)width - 1] + (x != y));
			if (i > 1 && j > 1 && x == nearest_fold(b[j - 2]) &&
			    y == nearest_fold(a[i - 2]))
				*at = nearest_min(
					*at, at[-2 * (ptrdiff_t)width - 2] + 1);
		}
	result = d[n * width + m];
	free(d);
	return result;
}

const char *nearest_name(const char *word, const char *const *candidates,
			 size_t n)
{
	size_t best = 1 + strlen(word) / 3 + 1;
	const char *found = NULL;

	/* Nobody mistypes a name this long, and the table is quadratic. */
	if (strlen(word) > 256)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t distance;

		if (strlen(candidates[i]) > 256)
			continue;
		distance = nearest_distance(word, candidates[i]);
		if (distance < best) {
			best = distance;
			found = candidates[i];
		}
	}
	return found;
}

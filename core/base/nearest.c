#include "core/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static size_t nearest_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool nearest_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment: edits and swaps of neighbours. */
static size_t nearest_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), width = m + 1;
	size_t *d = xcalloc((n + 1) * width, sizeof(*d));
	size_t out;

	for (size_t j = 0; j <= m; j++)
		d[j] = j;
	for (size_t i = 1; i <= n; i++) {
		d[i * width] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t *at = &d[i * width + j];
			size_t differs = !nearest_same(a[i - 1], b[j - 1]);

			*at = nearest_min(at[-1], *(at - width)) + 1;
			*at = nearest_min(*at, *(at - width - 1) + differs);
			if (i > 1 && j > 1 &&
			    nearest_same(a[i - 1], b[j - 2]) &&
			    nearest_same(a[i - 2], b[j - 1]))
				*at = nearest_min(*at,
						  *(at - 2 * width - 2) + 1);
		}
	}
	out = d[n * width + m];
	free(d);
	return out;
}

const char *nearest_name(const char *word, const char *const *candidates,
			 size_t n)
{
	size_t best = 1 + strlen(word) / 3;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t distance = nearest_distance(word, candidates[i]);

		if (distance < best || (distance == best && !found)) {
			best = distance;
			found = candidates[i];
		}
	}
	return found;
}

#include "core/base/by_name.h"

#include <string.h>

bool by_name_find(const char *name, const void *list, size_t n, by_name_at *at,
		  size_t *place)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, at(list, middle));

		if (!order) {
			*place = middle;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*place = low;
	return false;
}

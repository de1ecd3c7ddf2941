/*
 * JSON that MySQL's type would change without a word. It reads a number that is
 * no integer of 64 bits as a double. Inside the type the number may be a
 * DECIMAL, and its text does not tell that.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_JSON_H
#define TIDEMARK_DESTINATIONS_MYSQL_JSON_H

#include <stddef.h>

#include "core/base/error.h"

/* DATA error that names the number. 1.50 for 1.5 is no change. */
int mysql_target_json_check(const char *text, size_t n, struct error *err);

#endif

/* The headers for every cmocka program of this folder, in the order that cmocka
 * wants. */
#ifndef TIDEMARK_TESTS_UNIT_UNIT_H
#define TIDEMARK_TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/alloc.h"

#endif

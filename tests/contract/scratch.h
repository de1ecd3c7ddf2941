/* Where the suites put their files: below $TMPDIR, which tests/run takes away.
 */
#ifndef TIDEMARK_TESTS_CONTRACT_SCRATCH_H
#define TIDEMARK_TESTS_CONTRACT_SCRATCH_H

#include <stdlib.h>

#include "core/base/alloc.h"

/* For mkdtemp() and mkstemp(); to be freed. */
static inline char *scratch_template(const char *what)
{
	const char *top = getenv("TMPDIR");

	return xstrfmt("%s/tidemark-%s-XXXXXX", top ? top : "/tmp", what);
}

#endif

/* The cases of a contract program that its second argument chooses, a pattern
 * as the shell has them; all without one. */
#ifndef TIDEMARK_TESTS_CONTRACT_CHOSEN_H
#define TIDEMARK_TESTS_CONTRACT_CHOSEN_H

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Keeps the chosen of `n` tests; returns how many, and says so if none is. */
static inline size_t choose_cases(struct CMUnitTest *tests, size_t n,
				  const char *pattern)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!pattern || !fnmatch(pattern, tests[i].name, 0))
			tests[kept++] = tests[i];
	if (!kept)
		fprintf(stderr, "no case is called %s\n", pattern);
	return kept;
}

#endif

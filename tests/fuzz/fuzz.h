/*
 * Helpers of the fuzz targets: a check that a fuzzer notices, and values taken
 * from its bytes one after the other. A value is zero where the bytes have
 * ended.
 */
#ifndef TIDEMARK_TESTS_FUZZ_FUZZ_H
#define TIDEMARK_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(bool ok)
{
	if (!ok)
		abort();
}

struct fuzz_input {
	const uint8_t *data;
	size_t n;
};

/* `n` bytes into `out`. */
static inline void fuzz_take(struct fuzz_input *in, void *out, size_t n)
{
	size_t there = n < in->n ? n : in->n;

	memset(out, 0, n);
	if (there)
		memcpy(out, in->data, there);
	in->data += there;
	in->n -= there;
}

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
	uint8_t byte;

	fuzz_take(in, &byte, 1);
	return byte;
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

/* Up to the next NUL, or the end; to be freed. */
static inline char *fuzz_text(struct fuzz_input *in)
{
	const uint8_t *end = in->n ? memchr(in->data, '\0', in->n) : NULL;
	size_t n = end ? (size_t)(end - in->data) : in->n;
	char *text = malloc(n + 1);

	fuzz_check(text != NULL);
	fuzz_take(in, text, n);
	text[n] = '\0';
	if (end)
		fuzz_byte(in);
	return text;
}

#endif

/*
 * A single POST to a URL that a person gave: a webhook. clients/post.c sends
 * it. Core gets it as a function, for it knows no HTTP client.
 */
#ifndef TIDEMARK_CORE_BASE_POST_H
#define TIDEMARK_CORE_BASE_POST_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct post {
	const char *url; /* https://, or http:// on this machine */
	const char *const *headers; /* "Name: value", ends with NULL */
	const char *body;
	size_t n;
	int64_t timeout_us; /* for all of it */
	const char *ca; /* PEM file of authorities; NULL: the system's */
};
typedef int (*post_function)(const struct post *p, struct error *err);

/* 0 for an answer of 2xx. It is sent once, no redirect is followed, and a stop
 * that is requested ends it. Errors tell no more of the URL than its host. */
int post_send(const struct post *p, struct error *err);

#endif

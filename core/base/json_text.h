/*
 * Stored texts and numbers as JSON for output.
 */
#ifndef TIDEMARK_CORE_BASE_JSON_TEXT_H
#define TIDEMARK_CORE_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdint.h>

/* The value that a JSON text says; null for NULL, and for what is none. New
 * reference. */
json_t *json_text_value(const char *text);
/* json_dumps() for somebody to see: no control character stands raw in it
 * (core/base/utf8.h). NULL as there; caller frees. */
char *json_text_dump(const json_t *json, size_t flags);
/* µs since 1970 as UTC; null for 0. New reference. */
json_t *json_text_time(int64_t us);

#endif

/*
 * Stored texts and numbers as JSON for output.
 */
#ifndef TIDEMARK_CORE_BASE_JSON_TEXT_H
#define TIDEMARK_CORE_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdint.h>

/* The value of a JSON text. null for NULL, and for a text that is no JSON. New
 * reference. */
json_t *json_text_value(const char *text);
/* json_dumps() for people: no control character stands raw in it
 * (core/base/utf8.h). NULL as there; caller frees. */
char *json_text_dump(const json_t *json, size_t flags);
/* µs since 1970 as UTC; null for 0. New reference. */
json_t *json_text_time(int64_t us);

#endif

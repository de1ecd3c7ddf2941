#include "core/store/attempt_fields.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/store/session.h"

enum field_kind {
	FIELD_TEXT, /* NULL is "" */
	FIELD_NULLABLE, /* NULL stays NULL */
	FIELD_SERVER, /* NULL stays NULL; may quote a server */
	FIELD_NUMBER
};

static const struct attempt_field {
	enum field_kind kind;
	size_t offset;
} attempt_fields[ATTEMPT_FIELDS] = {
	{ FIELD_TEXT, offsetof(struct attempt, attempt_id) },
	{ FIELD_TEXT, offsetof(struct attempt, run_id) },
	{ FIELD_TEXT, offsetof(struct attempt, pipeline) },
	{ FIELD_TEXT, offsetof(struct attempt, tenant) },
	{ FIELD_TEXT, offsetof(struct attempt, state) },
	{ FIELD_TEXT, offsetof(struct attempt, outcome) },
	{ FIELD_TEXT, offsetof(struct attempt, host) },
	{ FIELD_NUMBER, offsetof(struct attempt, pid) },
	{ FIELD_NUMBER, offsetof(struct attempt, logic_version) },
	{ FIELD_NUMBER, offsetof(struct attempt, started_at) },
	{ FIELD_NUMBER, offsetof(struct attempt, ended_at) },
	{ FIELD_NUMBER, offsetof(struct attempt, heartbeat_at) },
	{ FIELD_NUMBER, offsetof(struct attempt, batches) },
	{ FIELD_NUMBER, offsetof(struct attempt, rows_read) },
	{ FIELD_NUMBER, offsetof(struct attempt, rows_inserted) },
	{ FIELD_NUMBER, offsetof(struct attempt, rows_updated) },
	{ FIELD_NUMBER, offsetof(struct attempt, rows_unchanged) },
	{ FIELD_NUMBER, offsetof(struct attempt, rows_deleted) },
	{ FIELD_NUMBER, offsetof(struct attempt, rows_dead_lettered) },
	{ FIELD_NULLABLE, offsetof(struct attempt, watermark_before) },
	{ FIELD_NULLABLE, offsetof(struct attempt, watermark_after) },
	{ FIELD_TEXT, offsetof(struct attempt, guarantee) },
	{ FIELD_TEXT, offsetof(struct attempt, guarantee_reason) },
	{ FIELD_NULLABLE, offsetof(struct attempt, error_code) },
	{ FIELD_SERVER, offsetof(struct attempt, error_message) },
	{ FIELD_SERVER, offsetof(struct attempt, paused) },
	{ FIELD_NUMBER, offsetof(struct attempt, progress) },
	{ FIELD_NUMBER, offsetof(struct attempt, aside) },
};

void attempt_to_texts(const struct attempt *a, struct field_texts *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < ATTEMPT_FIELDS; i++) {
		const struct attempt_field *f = &attempt_fields[i];
		const char *at = (const char *)a + f->offset;
		const char *text = NULL;
		int64_t number;

		if (f->kind == FIELD_NUMBER) {
			memcpy(&number, at, sizeof(number));
			out->values[i] = store_number(out->numbers[i], number);
			continue;
		}
		memcpy(&text, at, sizeof(text));
		if (f->kind == FIELD_SERVER && text) {
			out->owned[i] = xstrdup(text);
			secret_scrub(out->owned[i]);
			text = out->owned[i];
		}
		out->values[i] = !text && f->kind == FIELD_TEXT ? "" : text;
	}
}

void field_texts_release(struct field_texts *t)
{
	for (size_t i = 0; i < ATTEMPT_FIELDS; i++)
		free(t->owned[i]);
}

void attempt_from_texts(struct attempt *out, const char *const *values)
{
	for (size_t i = 0; i < ATTEMPT_FIELDS; i++) {
		const struct attempt_field *f = &attempt_fields[i];
		char *at = (char *)out + f->offset;

		if (f->kind == FIELD_NUMBER) {
			int64_t number = store_number_of(values[i]);
			memcpy(at, &number, sizeof(number));
		} else {
			char *text = xstrdup(values[i]);
			memcpy(at, &text, sizeof(text));
		}
	}
}

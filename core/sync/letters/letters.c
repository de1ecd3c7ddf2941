#include "core/sync/letters/letters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/strbuf.h"
#include "core/data/value.h"
#include "core/store/letters.h"

/* A letter's row as JSON: beyond this, long values are cut. */
#define LETTER_BYTES ((size_t)1 << 20)
/* A character may take so many bytes in JSON. */
#define LETTER_ESCAPED 6
#define LETTER_ID      16

static int letters_compare(const void *a, const void *b)
{
	return strcmp(((const struct letter_mark *)a)->digest,
		      ((const struct letter_mark *)b)->digest);
}

static struct letter_mark *letters_find(const struct letters *l,
					const char *digest)
{
	struct letter_mark key = { .id = NULL };

	if (!l->n)
		return NULL;
	snprintf(key.digest, sizeof(key.digest), "%s", digest);
	return bsearch(&key, l->items, l->n, sizeof(*l->items),
		       letters_compare);
}

static struct letter_mark *letters_note(struct letters *l,
					const struct dead_letter *letter)
{
	struct letter_mark *m;

	l->items = xgrow(l->items, &l->capacity, l->n + 1, sizeof(*l->items));
	m = &l->items[l->n++];
	*m = (struct letter_mark){
		.id = xstrdup(letter->id),
		.attempt_id = xstrdup(letter->attempt_id),
		.seen_in = -1,
	};
	snprintf(m->digest, sizeof(m->digest), "%s",
		 *letter->key_digest ? letter->key_digest : letter->row_digest);
	return m;
}

static void letter_mark_release(struct letter_mark *m)
{
	free(m->id);
	free(m->attempt_id);
}

int letters_clear(struct letters *l, struct error *err)
{
	int rc = 0;

	if (l->over->n)
		rc = store_letters_delete(l->store, l->over, err);
	if (!rc)
		dead_letter_list_release(l->over);
	return rc;
}

int letters_open(struct letters *l, struct error *err)
{
	const struct dead_letter_filter filter = { .pipeline = l->p->name,
						   .names = true };
	struct dead_letter_list list = { NULL, 0, 0 };
	int rc;

	rc = letters_clear(l, err);
	if (!rc)
		rc = store_letters_list(l->store, &filter, &list, err);
	for (size_t i = 0; !rc && i < list.n; i++)
		letters_note(l, &list.items[i]);
	if (l->n)
		qsort(l->items, l->n, sizeof(*l->items), letters_compare);
	dead_letter_list_release(&list);
	return rc;
}

void letters_release(struct letters *l)
{
	for (size_t i = 0; i < l->n; i++)
		letter_mark_release(&l->items[i]);
	free(l->items);
	l->items = NULL;
	l->n = l->capacity = 0;
}

/* The row's name: its key, or all of it. */
static void letter_digest(const struct batch *b, size_t row,
			  char out[DIGEST_TEXT_SIZE])
{
	const struct schema *s = b->schema;

	if (s->n_key)
		digest_row(b, row, s->key, s->n_key, out);
	else
		digest_row(b, row, NULL, s->n_columns, out);
}

static char *letter_id(const char *pipeline, const char *digest)
{
	char *text = xstrfmt("%s\x1f%s", pipeline, digest);
	char hash[DIGEST_TEXT_SIZE];

	digest_hash_text(text, strlen(text), hash);
	free(text);
	return xstrndup(hash, LETTER_ID);
}

static size_t letter_row_bytes(const struct batch *b, size_t row)
{
	size_t bytes = 0, n;

	for (size_t i = 0; i < b->schema->n_columns; i++) {
		if (b->vectors[i].width)
			continue;
		vector_bytes(&b->vectors[i], row, &n);
		bytes += n;
	}
	return bytes;
}

static char *letter_dump(json_t *json)
{
	char *dumped = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
	char *text = xstrdup(dumped ? dumped : "{}");

	free(dumped);
	json_decref(json);
	return text;
}

/* A row that is too large keeps the beginning of each of its values. */
static char *letter_row(const struct batch *b, size_t row, bool *truncated)
{
	size_t most = LETTER_BYTES / LETTER_ESCAPED / b->schema->n_columns;
	char *text = NULL;

	*truncated = letter_row_bytes(b, row) > LETTER_BYTES;
	if (!*truncated)
		text = letter_dump(value_row_json(b, row, SIZE_MAX));
	if (text && strlen(text) <= LETTER_BYTES)
		return text;
	free(text);
	*truncated = true;
	return letter_dump(value_row_json(b, row, most));
}

static const char *letter_category(enum error_code code)
{
	if (code == ERROR_UNKNOWN)
		return "unknown";
	return error_may_pass(code) ? "transient" : "permanent";
}

static void letter_write(const struct letters *l, const struct batch *b,
			 const char *batch_id, const char *mark,
			 const struct bad_row *bad, struct dead_letter *out)
{
	char named[DIGEST_TEXT_SIZE], row[DIGEST_TEXT_SIZE];
	int64_t now = clock_now_us();

	letter_digest(b, bad->row, named);
	digest_row(b, bad->row, NULL, b->schema->n_columns, row);
	*out = (struct dead_letter){
		.id = letter_id(l->p->name, named),
		.pipeline = xstrdup(l->p->name),
		.run_id = xstrdup(l->out->run_id),
		.attempt_id = xstrdup(l->out->attempt_id),
		.batch_id = xstrdup(batch_id),
		.key = letter_dump(value_key_json(b, bad->row)),
		.key_digest = xstrdup(b->schema->n_key ? named : ""),
		.row_digest = xstrdup(row),
		.category = xstrdup(letter_category(bad->code)),
		.error_code = xstrdup(error_code_name(bad->code)),
		.server_code = xstrdup(bad->server_code),
		.error_message = xstrdup(bad->message),
		.checkpoint = xstrdup(mark),
		.attempts = 1,
		.created_at = now,
		.updated_at = now,
	};
	out->row = letter_row(b, bad->row, &out->truncated);
}

void letters_write(const struct letters *l, const struct batch *b,
		   const char *batch_id, const char *mark,
		   const struct bad_rows *bad, struct dead_letter_list *out)
{
	out->items = xcalloc(bad->n ? bad->n : 1, sizeof(*out->items));
	for (size_t i = 0; i < bad->n; i++)
		letter_write(l, b, batch_id, mark, &bad->items[i],
			     &out->items[out->n++]);
}

void letters_add(struct letters *l, const struct dead_letter_list *list)
{
	size_t known = l->n;

	for (size_t i = 0; i < list->n; i++) {
		const struct dead_letter *letter = &list->items[i];
		const struct letters before = { .items = l->items, .n = known };
		struct letter_mark *m = letters_find(
			&before, *letter->key_digest ? letter->key_digest
						     : letter->row_digest);

		if (!m)
			m = letters_note(l, letter);
		xassign(&m->attempt_id, letter->attempt_id);
		m->seen_in = l->batch;
		m->renewed = true;
	}
	if (l->n > known)
		qsort(l->items, l->n, sizeof(*l->items), letters_compare);
}

/* Letters that are over leave the list for the list of those to be deleted. A
 * run that wakes up past its lease may do so after another run has had the row
 * refused anew. The new letter belongs to another attempt, and stays. */
static void letters_take(struct letters *l, const bool *over)
{
	struct dead_letter_list *out = l->over;
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!over[i]) {
			l->items[kept++] = l->items[i];
			continue;
		}
		out->items = xgrow(out->items, &out->capacity, out->n + 1,
				   sizeof(*out->items));
		out->items[out->n++] = (struct dead_letter){
			.id = l->items[i].id,
			.attempt_id = l->items[i].attempt_id,
		};
	}
	l->n = kept;
}

void letters_loaded(struct letters *l, const struct batch *b)
{
	int64_t batch = l->batch++;
	bool *over;

	if (!l->n)
		return;
	over = xcalloc(l->n, sizeof(*over));
	for (size_t row = 0; row < b->n_rows; row++) {
		char digest[DIGEST_TEXT_SIZE];
		struct letter_mark *m;

		letter_digest(b, row, digest);
		m = letters_find(l, digest);
		if (m && m->seen_in != batch)
			over[m - l->items] = true;
	}
	letters_take(l, over);
	free(over);
}

bool letters_wait(const struct letters *l, const char *digest)
{
	const struct letter_mark *m = letters_find(l, digest);

	return m && !m->renewed;
}

int letters_refreshed(struct letters *l, struct error *err)
{
	bool *over;

	if (!l->n)
		return 0;
	over = xcalloc(l->n, sizeof(*over));
	for (size_t i = 0; i < l->n; i++)
		over[i] = !l->items[i].renewed;
	letters_take(l, over);
	free(over);
	return letters_clear(l, err);
}

json_t *letter_json(const struct dead_letter *l, bool row)
{
	json_t *json = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:{s:s, s:s, s:s}, s:I,"
		" s:o, s:o, s:o, s:o}",
		"id", l->id, "pipeline", l->pipeline, "run_id", l->run_id,
		"attempt_id", l->attempt_id, "batch_id", l->batch_id, "key",
		json_text_value(l->key), "category", l->category, "error",
		"code", l->error_code, "server_code", l->server_code, "message",
		l->error_message, "attempts", (json_int_t)l->attempts,
		"next_try_at", json_text_time(l->next_try_at), "created_at",
		json_text_time(l->created_at), "updated_at",
		json_text_time(l->updated_at), "checkpoint",
		json_text_value(l->checkpoint));

	if (row) {
		json_object_set_new(json, "row", json_text_value(l->row));
		json_object_set_new(json, "truncated",
				    json_boolean(l->truncated));
	}
	return json;
}

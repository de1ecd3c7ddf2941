/* Dead letters: kept, counted up, looked up, forgotten only when told to. */
#include "core/store/history.h"
#include "core/store/letters.h"
#include "core/store/session.h"
#include "store_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"

static struct dead_letter letter_of(const char *id, const char *pipeline,
				    int64_t at)
{
	return (struct dead_letter){
		.id = (char *)id,
		.pipeline = (char *)pipeline,
		.run_id = (char *)"r1",
		.attempt_id = (char *)"a1",
		.batch_id = (char *)"b1",
		.key = (char *)"{\"id\":7}",
		.key_digest = (char *)"0123",
		.row = (char *)"{\"id\":7,\"name\":\"x\\u0000'\"}",
		.row_digest = (char *)"4567",
		.category = (char *)"permanent",
		.error_code = (char *)"data",
		.server_code = (char *)"23514",
		.error_message = (char *)"violates a check",
		.attempts = 1,
		.created_at = at,
		.updated_at = at,
	};
}

static void save(struct store *s, struct dead_letter *letters, size_t n)
{
	const struct dead_letter_list list = { letters, n, n };
	struct error err = ERROR_INIT;

	if (store_letters_save(s, &list, &err))
		fail_msg("%s", err.message);
}

static struct dead_letter_list list_of(struct store *s,
				       struct dead_letter_filter filter)
{
	struct dead_letter_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;

	if (store_letters_list(s, &filter, &list, &err))
		fail_msg("%s", err.message);
	return list;
}

static int64_t count_of(struct store *s, const char *pipeline)
{
	struct error err = ERROR_INIT;
	int64_t n = -1;

	if (store_letters_count(s, pipeline, &n, &err))
		fail_msg("%s", err.message);
	return n;
}

static void check_letter(const struct dead_letter *got,
			 const struct dead_letter *expected)
{
	assert_string_equal(got->id, expected->id);
	assert_string_equal(got->pipeline, expected->pipeline);
	assert_string_equal(got->run_id, expected->run_id);
	assert_string_equal(got->attempt_id, expected->attempt_id);
	assert_string_equal(got->batch_id, expected->batch_id);
	assert_string_equal(got->key, expected->key);
	assert_string_equal(got->key_digest, expected->key_digest);
	assert_string_equal(got->row, expected->row);
	assert_int_equal(got->truncated, expected->truncated);
	assert_string_equal(got->row_digest, expected->row_digest);
	assert_string_equal(got->category, expected->category);
	assert_string_equal(got->error_code, expected->error_code);
	assert_string_equal(got->server_code, expected->server_code);
	assert_string_equal(got->error_message, expected->error_message);
	assert_int_equal(got->next_try_at, expected->next_try_at);
	assert_int_equal(got->attempts, expected->attempts);
	assert_int_equal(got->created_at, expected->created_at);
	assert_int_equal(got->updated_at, expected->updated_at);
}

static void keeps_letters(void **state)
{
	struct store *s = place_open(*state);
	struct dead_letter letters[] = { letter_of("one", "orders", 5),
					 letter_of("two", "orders", 6),
					 letter_of("other", "items", 7) };
	struct dead_letter_list got;

	letters[1].checkpoint = (char *)"{\"value\":\"9\"}";
	letters[1].truncated = true;
	letters[1].next_try_at = 99;
	letters[1].key_digest = (char *)"";
	save(s, letters, ARRAY_SIZE(letters));
	got = list_of(s, (struct dead_letter_filter){ .pipeline = "orders" });
	assert_int_equal(got.n, 2);
	check_letter(&got.items[0], &letters[1]);
	check_letter(&got.items[1], &letters[0]);
	assert_string_equal(got.items[0].checkpoint, "{\"value\":\"9\"}");
	assert_null(got.items[1].checkpoint);
	dead_letter_list_release(&got);
	got = list_of(s, (struct dead_letter_filter){ .id = "other" });
	assert_int_equal(got.n, 1);
	check_letter(&got.items[0], &letters[2]);
	dead_letter_list_release(&got);
	got = list_of(s,
		      (struct dead_letter_filter){ .limit = 2, .names = true });
	assert_int_equal(got.n, 2);
	assert_string_equal(got.items[0].id, "other");
	assert_null(got.items[0].row);
	assert_string_equal(got.items[0].key, "{\"id\":7}");
	dead_letter_list_release(&got);
	got = list_of(s, (struct dead_letter_filter){ .pipeline = "orders",
						      .id = "other" });
	assert_int_equal(got.n, 0);
	dead_letter_list_release(&got);
	assert_int_equal(count_of(s, "orders"), 2);
	assert_int_equal(count_of(s, "nobody"), 0);
	store_close(s);
}

/* The same row once more: today's row and reason, one more attempt. */
static void counts_attempts(void **state)
{
	struct store *s = place_open(*state);
	struct dead_letter first = letter_of("one", "orders", 5);
	struct dead_letter second = letter_of("one", "orders", 8);
	struct dead_letter_list got;

	save(s, &first, 1);
	second.run_id = (char *)"r2";
	second.attempt_id = (char *)"a2";
	second.batch_id = (char *)"b2";
	second.row = (char *)"{\"id\":7,\"name\":\"y\"}";
	second.row_digest = (char *)"89ab";
	second.truncated = true;
	second.category = (char *)"unknown";
	second.error_code = (char *)"unknown";
	second.server_code = (char *)"";
	second.error_message = (char *)"something else";
	save(s, &second, 1);
	got = list_of(s, (struct dead_letter_filter){ .id = "one" });
	second.attempts = 2;
	second.created_at = 5;
	check_letter(&got.items[0], &second);
	dead_letter_list_release(&got);
	store_close(s);
}

static void delete_of(struct store *s, const char *id, const char *attempt)
{
	struct dead_letter items[] = {
		{ .id = (char *)"nobody", .attempt_id = (char *)attempt },
		{ .id = (char *)id, .attempt_id = (char *)attempt }
	};
	const struct dead_letter_list list = { items, 2, 2 };
	struct error err = ERROR_INIT;

	assert_int_equal(store_letters_delete(s, &list, &err), 0);
}

/* All of them, or none. */
static void saves_and_deletes_whole(void **state)
{
	struct store *s = place_open(*state);
	struct dead_letter letters[] = { letter_of("one", "orders", 5),
					 letter_of("two", "orders", 6) };
	const struct dead_letter_list list = { letters, 2, 2 };
	struct error err = ERROR_INIT;

	letters[1].category = (char *)"no such one";
	assert_int_not_equal(store_letters_save(s, &list, &err), 0);
	assert_int_equal(count_of(s, "orders"), 0);
	letters[1].category = (char *)"transient";
	save(s, letters, 2);
	delete_of(s, "two", letters[1].attempt_id);
	assert_int_equal(count_of(s, "orders"), 1);
	delete_of(s, "two", letters[1].attempt_id);
	assert_int_equal(count_of(s, "orders"), 1);
	store_close(s);
}

/* Whoever knows an older one does not take away the newer. */
static void deletes_what_was_seen(void **state)
{
	struct store *s = place_open(*state);
	struct dead_letter letter = letter_of("one", "orders", 5);

	save(s, &letter, 1);
	letter.attempt_id = (char *)"another";
	save(s, &letter, 1);
	delete_of(s, "one", "a1");
	assert_int_equal(count_of(s, "orders"), 1);
	delete_of(s, "one", "another");
	assert_int_equal(count_of(s, "orders"), 0);
	store_close(s);
}

static void outlive_their_runs(void **state)
{
	struct store *s = place_open(*state);
	struct dead_letter letter = letter_of("one", "orders", 5);
	struct attempt a = attempt_of("a1", "r1"),
		       newer = attempt_of("a2", "r2");
	struct error err = ERROR_INIT;

	a.started_at = 1;
	newer.started_at = 2;
	place_save(s, &a);
	place_save(s, &newer);
	save(s, &letter, 1);
	assert_int_equal(store_history_prune(s, 1, &err), 0);
	assert_int_equal(count_of(s, "orders"), 1);
	store_close(s);
}

static void keep_no_secret(void **state)
{
	struct store *s = place_open(*state);
	struct dead_letter letter = letter_of("one", "orders", 5);
	struct dead_letter_list got;

	secret_add("correct-horse");
	letter.error_message = (char *)"at correct-horse@db";
	save(s, &letter, 1);
	got = list_of(s, (struct dead_letter_filter){ .id = "one" });
	assert_null(strstr(got.items[0].error_message, "correct-horse"));
	dead_letter_list_release(&got);
	store_close(s);
}

#define SHARED(make)                                                           \
	EACH(make, keeps_letters), EACH(make, counts_attempts),                \
		EACH(make, saves_and_deletes_whole),                           \
		EACH(make, deletes_what_was_seen),                             \
		EACH(make, outlive_their_runs), EACH(make, keep_no_secret)

const struct CMUnitTest store_letters_file[] = { SHARED(file) };
const struct CMUnitTest store_letters_postgres[] = { SHARED(postgres) };
const size_t store_letters_n = ARRAY_SIZE(store_letters_file);

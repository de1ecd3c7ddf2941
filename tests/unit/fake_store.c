/* The store in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "tests/unit/fake_engines.h"

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static struct store fake_store;

static int fake_store_open(struct store **out, const struct connection *conn,
			   struct error *err)
{
	(void)conn;
	(void)err;
	fake_store.ops = &fake_store_ops;
	*out = &fake_store;
	return 0;
}

static int fake_migrate(struct store *s, int *applied, int *version,
			struct error *err)
{
	(void)s;
	(void)err;
	*applied = 0;
	*version = 1;
	return 0;
}

static int fake_version(struct store *s, int *version, struct error *err)
{
	(void)s;
	(void)err;
	*version = 1;
	return 0;
}

static int fake_save_attempt(struct store *s, const struct attempt *a,
			     struct error *err)
{
	(void)s;
	(void)err;
	if (strcmp(fake.last_attempt, a->attempt_id) != 0) {
		fake.attempts++;
		fake.attempt_rows = 0;
	}
	fake.runs += strcmp(fake.last_run, a->run_id) != 0;
	snprintf(fake.last_attempt, sizeof(fake.last_attempt), "%s",
		 a->attempt_id);
	snprintf(fake.last_run, sizeof(fake.last_run), "%s", a->run_id);
	fake.recorded_rows += a->rows_read - fake.attempt_rows;
	fake.attempt_rows = a->rows_read;
	free(fake.last_state);
	free(fake.last_outcome);
	fake.last_state = xstrdup(a->state);
	fake.last_outcome = xstrdup(a->outcome);
	return 0;
}

static int fake_save_batch(struct store *s, const struct batch_record *b,
			   const struct attempt *a, const char *mark,
			   struct error *err)
{
	(void)s;
	(void)a;
	(void)mark;
	if (b->error_code) {
		fake.refused++;
		return 0;
	}
	fake.saves++;
	fake.dead_on_record += b->dead_lettered;
	if (fake.fail_save)
		return error_set(err, ERROR_ACCESS, "planted in the store");
	return 0;
}

static void fake_list_failed(struct attempt_list *out, const char *pipeline)
{
	struct attempt *a;

	out->items = xgrow(out->items, &out->capacity, out->n + 1,
			   sizeof(*out->items));
	a = &out->items[out->n++];
	attempt_init(a);
	a->pipeline = xstrdup(pipeline);
	a->state = xstrdup("FAILED");
	a->outcome = xstrdup("failed");
	a->ended_at = fake.failed_at;
	a->error_code = xstrdup("transient");
	a->error_message = xstrdup("planted");
}

static int fake_list_attempts(struct store *s, const struct run_filter *filter,
			      struct attempt_list *out, struct error *err)
{
	(void)s;
	(void)err;
	for (int i = 0; i < fake.failed_runs; i++)
		fake_list_failed(out, filter->pipeline);
	return 0;
}

static int fake_list_runs(struct store *s, const struct run_filter *filter,
			  struct run_list *out, struct error *err)
{
	(void)s;
	(void)filter;
	(void)out;
	(void)err;
	return 0;
}

static int fake_list_batches(struct store *s, const char *run_id,
			     struct batch_list *out, struct error *err)
{
	(void)s;
	(void)run_id;
	(void)out;
	(void)err;
	return 0;
}

static int fake_close_attempts(struct store *s, const char *pipeline,
			       struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)err;
	return 0;
}

static int fake_prune(struct store *s, int64_t keep_us, struct error *err)
{
	(void)s;
	(void)keep_us;
	(void)err;
	return 0;
}

static void fake_lease_copy(struct lease *out, const char *name)
{
	lease_release(out);
	out->name = xstrdup(name);
	out->holder = xstrdup(fake.lease.holder);
	out->host = xstrdup("somewhere");
	out->process = xstrdup("");
	out->session = xstrdup("");
	out->pid = fake.lease.pid;
	out->fence = fake.lease.fence;
	out->until = fake.lease.until;
	out->now = clock_now_us();
}

static int fake_take_lease(struct store *s, const struct lease *wanted,
			   int64_t lease_us, enum lease_answer *answer,
			   struct lease *out, struct lease *before,
			   struct error *err)
{
	struct fake_lease *l = &fake.lease;

	(void)s;
	(void)err;
	pthread_mutex_lock(&fake_lock);
	l->takes++;
	fake_lease_copy(before, wanted->name);
	*answer = l->until > clock_now_us() ? LEASE_BUSY
		  : l->unclean		    ? LEASE_INHERITED
					    : LEASE_TAKEN;
	if (*answer != LEASE_BUSY) {
		snprintf(l->holder, sizeof(l->holder), "%s", wanted->holder);
		l->pid = wanted->pid;
		l->fence++;
		l->until = clock_now_us() + lease_us;
		fake_lease_copy(out, wanted->name);
	}
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

static bool fake_holds(const struct lease *l)
{
	return !strcmp(fake.lease.holder, l->holder) &&
	       fake.lease.until > clock_now_us();
}

static int fake_renew_lease(struct store *s, const struct lease *l,
			    int64_t lease_us, bool *held, struct error *err)
{
	int rc = 0;

	(void)s;
	pthread_mutex_lock(&fake_lock);
	fake.lease.renewals++;
	*held = fake_holds(l);
	if (fake.lease.fail_renew)
		rc = error_set(err, ERROR_TRANSIENT, "planted in the store");
	else if (*held)
		fake.lease.until = clock_now_us() + lease_us;
	pthread_mutex_unlock(&fake_lock);
	return rc;
}

static int fake_amend_lease(struct store *s, const struct lease *l, bool *held,
			    struct error *err)
{
	(void)s;
	(void)err;
	pthread_mutex_lock(&fake_lock);
	*held = fake_holds(l);
	if (*held)
		fake.lease.fence = l->fence;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

static int fake_give_lease(struct store *s, const struct lease *l,
			   struct error *err)
{
	(void)s;
	(void)err;
	pthread_mutex_lock(&fake_lock);
	fake.lease.gives++;
	if (!strcmp(fake.lease.holder, l->holder)) {
		fake.lease.unclean = l->until != 0;
		fake.lease.until = l->until;
	}
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

static int fake_get_lease(struct store *s, const char *name, bool *held,
			  struct lease *out, struct error *err)
{
	(void)s;
	(void)err;
	pthread_mutex_lock(&fake_lock);
	fake_lease_copy(out, name);
	*held = fake.lease.until > clock_now_us();
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

static struct fake_letter *fake_letter_find(const char *id)
{
	for (size_t i = 0; i < fake.n_letters; i++)
		if (!strcmp(fake.letters[i].id, id))
			return &fake.letters[i];
	return NULL;
}

static int fake_save_letters(struct store *s,
			     const struct dead_letter_list *letters,
			     struct error *err)
{
	(void)s;
	if (fake.fail_letters)
		return error_set(err, ERROR_ACCESS, "planted in the store");
	for (size_t i = 0; i < letters->n; i++) {
		const struct dead_letter *l = &letters->items[i];
		struct fake_letter *f = fake_letter_find(l->id);

		if (!f)
			f = &fake.letters[fake.n_letters++];
		snprintf(f->id, sizeof(f->id), "%s", l->id);
		snprintf(f->digest, sizeof(f->digest), "%s", l->key_digest);
		snprintf(f->key, sizeof(f->key), "%s", l->key);
		f->attempts++;
	}
	return 0;
}

static int fake_list_letters(struct store *s,
			     const struct dead_letter_filter *filter,
			     struct dead_letter_list *out, struct error *err)
{
	(void)s;
	(void)filter;
	(void)err;
	for (size_t i = 0; i < fake.n_letters; i++) {
		out->items = xgrow(out->items, &out->capacity, out->n + 1,
				   sizeof(*out->items));
		out->items[out->n++] = (struct dead_letter){
			.id = xstrdup(fake.letters[i].id),
			.pipeline = xstrdup("p"),
			.key_digest = xstrdup(fake.letters[i].digest),
			.key = xstrdup(fake.letters[i].key),
		};
	}
	return 0;
}

static int fake_count_letters(struct store *s, const char *pipeline,
			      int64_t *out, struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)err;
	*out = (int64_t)fake.n_letters;
	return 0;
}

static int fake_delete_letters(struct store *s,
			       const struct dead_letter_list *letters,
			       struct error *err)
{
	(void)s;
	(void)err;
	for (size_t i = 0; i < letters->n; i++) {
		struct fake_letter *f = fake_letter_find(letters->items[i].id);

		if (f)
			*f = fake.letters[--fake.n_letters];
	}
	return 0;
}

static int fake_get_mark(struct store *s, const char *pipeline, char **out,
			 struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)err;
	*out = NULL;
	return 0;
}

static int fake_set_mark(struct store *s, const char *pipeline,
			 const char *attempt_id, const char *watermark,
			 struct error *err)
{
	(void)attempt_id;
	(void)s;
	(void)pipeline;
	(void)watermark;
	(void)err;
	return 0;
}

static int fake_get_pace(struct store *s, const char *pipeline,
			 struct pace_record *out, struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)err;
	*out = (struct pace_record){ xstrdup(fake.pace), 1 };
	return 0;
}

static int fake_set_pace(struct store *s, const char *pipeline,
			 const char *settings, struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)err;
	fake.pace = settings;
	return 0;
}

static void fake_store_close(struct store *s)
{
	(void)s;
}

static int fake_add_chunks(struct store *s, const struct chunk_list *chunks,
			   const struct chunk_rule *rule, struct error *err)
{
	(void)rule;
	(void)s;
	(void)chunks;
	(void)err;
	return 0;
}

static int fake_list_chunks(struct store *s, const char *pipeline,
			    struct chunk_list *out, struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)out;
	(void)err;
	return 0;
}

static int fake_claim_chunk(struct store *s, const char *pipeline,
			    const char *config, const struct lease *wanted,
			    int64_t lease_us, bool *found, struct chunk *out,
			    struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)config;
	(void)wanted;
	(void)lease_us;
	(void)out;
	(void)err;
	*found = false;
	return 0;
}

static int fake_save_chunk(struct store *s, const struct chunk *c, bool *held,
			   struct error *err)
{
	(void)s;
	(void)c;
	(void)err;
	*held = true;
	return 0;
}

static int fake_delete_chunks(struct store *s, const char *pipeline,
			      const char *backfill_id, struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)backfill_id;
	(void)err;
	return 0;
}

const struct store_ops fake_store_ops = {
	.name = "fake",
	.options = fake_options,
	.open = fake_store_open,
	.migrate = fake_migrate,
	.version = fake_version,
	.take_lease = fake_take_lease,
	.renew_lease = fake_renew_lease,
	.amend_lease = fake_amend_lease,
	.give_lease = fake_give_lease,
	.get_lease = fake_get_lease,
	.save_attempt = fake_save_attempt,
	.save_batch = fake_save_batch,
	.list_attempts = fake_list_attempts,
	.list_runs = fake_list_runs,
	.list_batches = fake_list_batches,
	.close_attempts = fake_close_attempts,
	.prune = fake_prune,
	.save_dead_letters = fake_save_letters,
	.list_dead_letters = fake_list_letters,
	.count_dead_letters = fake_count_letters,
	.delete_dead_letters = fake_delete_letters,
	.get_watermark = fake_get_mark,
	.set_watermark = fake_set_mark,
	.get_pace = fake_get_pace,
	.set_pace = fake_set_pace,
	.close = fake_store_close,
	.add_chunks = fake_add_chunks,
	.list_chunks = fake_list_chunks,
	.claim_chunk = fake_claim_chunk,
	.save_chunk = fake_save_chunk,
	.delete_chunks = fake_delete_chunks,
};

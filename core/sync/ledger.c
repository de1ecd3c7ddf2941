#include "core/sync/ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/retry.h"
#include "core/base/strbuf.h"

/* Attempts to look through for one that is running. */
#define LEDGER_LOOK_BACK 20

/* Parts are set apart by a byte that no name holds. */
static void ledger_add(struct strbuf *sb, const char *text)
{
	strbuf_addstr(sb, text ? text : "");
	strbuf_addch(sb, '\x1f');
}

static void ledger_add_list(struct strbuf *sb, const struct strlist *list)
{
	for (size_t i = 0; i < list->n; i++)
		ledger_add(sb, list->items[i]);
	ledger_add(sb, "");
}

static void ledger_add_shape(struct strbuf *sb,
			     const struct pipeline_settings *p)
{
	ledger_add(sb, p->source_table);
	ledger_add(sb, p->destination_table);
	ledger_add_list(sb, &p->columns);
	for (size_t i = 0; i < p->n_expressions; i++) {
		ledger_add(sb, p->expressions[i].name);
		ledger_add(sb, p->expressions[i].sql);
	}
	ledger_add(sb, p->where);
	ledger_add_list(sb, &p->key);
	if (p->zero_dates == ZERO_DATES_NULL)
		ledger_add(sb, "zero_dates: null");
	ledger_add(sb, strategy_name(p->strategy));
	ledger_add(sb, p->mark_column);
	ledger_add(sb, load_mode_name(p->mode));
}

void ledger_run_id(const struct pipeline_settings *p, const char *from,
		   char out[DIGEST_TEXT_SIZE])
{
	struct strbuf sb = STRBUF_INIT;

	ledger_add(&sb, p->name);
	ledger_add(&sb, p->tenant);
	ledger_add(&sb, from);
	strbuf_addf(&sb, "%" PRId64 "\x1f", p->logic_version);
	ledger_add_shape(&sb, p);
	digest_hash_text(sb.data, sb.len, out);
	strbuf_release(&sb);
}

void ledger_attempt_id(char out[DIGEST_TEXT_SIZE])
{
	snprintf(out, DIGEST_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64,
		 (uint64_t)clock_now_us(), retry_random());
}

void ledger_batch_id(const struct pipeline_settings *p, const char *from,
		     const char *to, const char *content,
		     char out[DIGEST_TEXT_SIZE])
{
	struct strbuf sb = STRBUF_INIT;

	ledger_add(&sb, p->name);
	strbuf_addf(&sb, "%" PRId64 "\x1f", p->logic_version);
	ledger_add(&sb, from);
	ledger_add(&sb, to);
	ledger_add(&sb, content);
	digest_hash_text(sb.data, sb.len, out);
	strbuf_release(&sb);
}

static void ledger_counts(struct attempt *a, const struct run_result *r)
{
	a->batches = r->batches;
	a->rows_read = r->rows_read;
	a->rows_inserted = r->rows_inserted;
	a->rows_updated = r->rows_updated;
	a->rows_unchanged = r->rows_unchanged;
	a->rows_deleted = r->rows_deleted;
	a->rows_dead_lettered = r->rows_dead_lettered;
}

/* `a` borrows every text: it is never released. */
static void ledger_attempt(struct attempt *a, const struct run_result *r,
			   char *host, size_t host_size)
{
	attempt_init(a);
	if (gethostname(host, host_size))
		host[0] = '\0';
	host[host_size - 1] = '\0';
	a->attempt_id = r->attempt_id;
	a->run_id = r->run_id;
	a->pipeline = r->pipeline->name;
	a->tenant = r->pipeline->tenant;
	a->state = (char *)"RUNNING";
	a->outcome = (char *)"";
	a->host = host;
	a->pid = getpid();
	a->logic_version = r->pipeline->logic_version;
	a->started_at = r->started_us;
	a->heartbeat_at = clock_now_us();
	a->watermark_before = r->watermark_before;
	a->watermark_after = r->watermark_after;
	a->guarantee = (char *)guarantee_name(r->guarantee);
	a->guarantee_reason = r->guarantee_reason;
	ledger_counts(a, r);
}

static int ledger_refuse_busy(struct run_result *r, const struct attempt *a,
			      struct error *err)
{
	char since[CLOCK_TEXT_SIZE];

	clock_format_utc(a->started_at, since);
	json_decref(r->held_by);
	r->held_by = json_pack("{s:s, s:I, s:s}", "host", a->host, "pid",
			       (json_int_t)a->pid, "since", since);
	return error_set(err, ERROR_STATE,
			 "process %" PRId64
			 " on %s has been running this pipeline since %s; "
			 "wait for it, or stop it and run again",
			 a->pid, a->host, since);
}

int ledger_check_busy(struct store *store, struct run_result *r,
		      struct error *err)
{
	struct attempt_list list = { NULL, 0, 0 };
	const char *name = r->pipeline->name;
	char host[256] = "";
	int rc;

	if (!store)
		return 0;
	rc = store->ops->close_dead_attempts(store, name, err);
	if (!rc)
		rc = store->ops->list_attempts(store, name, LEDGER_LOOK_BACK,
					       &list, err);
	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	for (size_t i = 0; !rc && i < list.n; i++) {
		const struct attempt *a = &list.items[i];

		if (strcmp(a->state, "RUNNING") == 0 && a->pid != getpid() &&
		    strcmp(a->host, host) == 0)
			rc = ledger_refuse_busy(r, a, err);
	}
	attempt_list_release(&list);
	return rc;
}

int ledger_begin(struct store *store, const struct run_result *r,
		 struct error *err)
{
	struct attempt a;
	char host[256];
	int rc;

	if (!store)
		return 0;
	ledger_attempt(&a, r, host, sizeof(host));
	rc = store->ops->save_attempt(store, &a, err);
	return rc ? rc : failpoint("run_recorded", err);
}

int ledger_batch(struct store *store, const struct run_result *r,
		 const struct batch_record *b, struct error *err)
{
	struct attempt a;
	char host[256];
	int rc;

	if (!store)
		return 0;
	ledger_attempt(&a, r, host, sizeof(host));
	rc = store->ops->save_batch(store, b, &a, err);
	return rc ? rc : failpoint("state_saved", err);
}

int ledger_end(struct store *store, const struct run_result *r,
	       struct error *err)
{
	bool failed =
		r->outcome == OUTCOME_FAILED || r->outcome == OUTCOME_BUSY;
	struct attempt a;
	char host[256];

	if (!store)
		return 0;
	ledger_attempt(&a, r, host, sizeof(host));
	a.state = (char *)(failed ? "FAILED" : "SUCCEEDED");
	a.outcome = (char *)outcome_name(r->outcome);
	a.ended_at = clock_now_us();
	if (failed) {
		a.error_code = (char *)error_code_name(r->error.code);
		a.error_message = (char *)r->error.message;
	}
	return store->ops->save_attempt(store, &a, err);
}

#include "core/sync/ledger/ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/json_text.h"
#include "core/base/retry.h"
#include "core/base/strbuf.h"
#include "core/store/history.h"
#include "core/store/pipelines.h"

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
	if (p->query)
		ledger_add(sb, p->query);
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

void ledger_aside_id(const struct pipeline_settings *p, const char *attempt,
		     char out[DIGEST_TEXT_SIZE])
{
	struct strbuf sb = STRBUF_INIT;

	ledger_add(&sb, p->name);
	ledger_add(&sb, "dead letters");
	ledger_add(&sb, attempt);
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
	const struct run_counts *e = &r->earlier;

	a->batches = r->batches - e->batches;
	a->rows_read = r->rows_read - e->rows_read;
	a->rows_inserted = r->rows_inserted - e->rows_inserted;
	a->rows_updated = r->rows_updated - e->rows_updated;
	a->rows_unchanged = r->rows_unchanged - e->rows_unchanged;
	a->rows_deleted = r->rows_deleted - e->rows_deleted;
	a->rows_dead_lettered = r->rows_dead_lettered - e->rows_dead_lettered;
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
	a->started_at = r->attempt_us;
	a->heartbeat_at = clock_now_us();
	a->watermark_before = r->watermark_before;
	/* The source was not looked at past the mark: nobody may take this
	 * attempt for one that has caught up with it. */
	a->watermark_after = r->aside ? NULL : r->watermark_after;
	a->aside = r->elsewhere;
	a->guarantee = (char *)guarantee_name(r->guarantee);
	a->guarantee_reason = r->guarantee_reason;
	a->paused = r->paused_text;
	a->progress = r->progress < 0 ? -1 : (int64_t)(r->progress * 1e6);
	ledger_counts(a, r);
}

int ledger_begin(struct store *store, const struct run_result *r,
		 struct error *err)
{
	struct attempt a;
	char host[256];
	int rc;

	if (!store || r->unrecorded)
		return 0;
	ledger_attempt(&a, r, host, sizeof(host));
	rc = store_attempt_save(store, &a, err);
	return rc ? rc : failpoint("run_recorded", err);
}

int ledger_refresh(struct store *store, const struct run_result *r,
		   struct error *err)
{
	struct attempt a;
	char host[256];

	if (!store || r->unrecorded)
		return 0;
	ledger_attempt(&a, r, host, sizeof(host));
	return store_attempt_save(store, &a, err);
}

int ledger_batch(struct store *store, const struct run_result *r,
		 const struct batch_record *b, const char *mark,
		 struct error *err)
{
	struct attempt a;
	char host[256];
	int rc;

	if (!store || r->unrecorded)
		return 0;
	ledger_attempt(&a, r, host, sizeof(host));
	rc = store_batch_save(store, b, &a, mark, err);
	return rc ? rc : failpoint("state_saved", err);
}

/* An attempt that failed before it could ask: its window begins where the
 * last one is known to have ended. */
static int ledger_locate(struct store *store, struct run_result *r,
			 struct error *err)
{
	char id[DIGEST_TEXT_SIZE];
	int rc = store_mark_get(store, r->pipeline->name, &r->watermark_before,
				err);

	if (rc)
		return rc;
	r->watermark_after = xstrdup(r->watermark_before);
	ledger_run_id(r->pipeline, r->watermark_before, id);
	free(r->run_id);
	r->run_id = xstrdup(id);
	r->located = true;
	return 0;
}

/* As a hold of `pace` is kept: until the next attempt it is the reason why
 * nothing is read. Caller frees; NULL: there is none. */
static char *ledger_wait(const struct run_result *r)
{
	json_t *wait;
	char *text;

	if (r->outcome != OUTCOME_WAITING)
		return NULL;
	wait = json_pack("{s:s, s:s, s:o}", "by", "pre_check", "reason",
			 r->waiting ? r->waiting : "", "since",
			 json_text_time(clock_now_us()));
	text = json_dumps(wait, JSON_COMPACT);
	json_decref(wait);
	return text;
}

int ledger_end(struct store *store, struct run_result *r, struct error *err)
{
	bool failed = r->outcome != OUTCOME_CAUGHT_UP &&
		      r->outcome != OUTCOME_STOPPED &&
		      r->outcome != OUTCOME_WAITING;
	struct attempt a;
	char host[256];
	int rc;

	if (!store || r->unrecorded)
		return 0;
	rc = r->located ? 0 : ledger_locate(store, r, err);
	if (rc)
		return rc;
	ledger_attempt(&a, r, host, sizeof(host));
	a.state = (char *)(failed ? "FAILED" : "SUCCEEDED");
	/* Another may have closed it as failed by now, and that it has. */
	a.outcome = (char *)outcome_name(r->lost ? OUTCOME_FAILED : r->outcome);
	a.ended_at = clock_now_us();
	a.paused = ledger_wait(r);
	if (failed) {
		a.error_code = (char *)error_code_name(r->error.code);
		a.error_message = (char *)r->error.message;
	}
	rc = store_attempt_save(store, &a, err);
	free(a.paused);
	return rc;
}

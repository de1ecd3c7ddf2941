#include "core/sync/run/dead_letter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/base/strbuf.h"
#include "core/data/value.h"
#include "core/store/letters.h"
#include "core/sync/parts/load.h"

/* Beyond the limit so many more are looked for, for a row that fails alone may
 * still pass at the end. */
#define DEAD_LETTER_SLACK 256
/* Rows that a message names. */
#define DEAD_LETTER_SHOWN 3

/* A batch on its way in pieces. */
struct pieces {
	struct run *r;
	const struct batch *b;
	const struct checkpoint *next;
	struct batch piece;
	char *mark; /* under which pieces are loaded */
	struct load_counts *counts;
	int64_t loaded;
};

/* The same rows of the same batch are the same piece. */
static char *pieces_id(const struct pieces *p, const uint32_t *rows, size_t n)
{
	struct strbuf sb = STRBUF_INIT;
	char id[DIGEST_TEXT_SIZE];

	strbuf_addstr(&sb, p->next->batch_id);
	strbuf_add(&sb, rows, n * sizeof(*rows));
	digest_hash_text(sb.data, sb.len, id);
	strbuf_release(&sb);
	return xstrdup(id);
}

static void pieces_count(struct pieces *p, const struct load_counts *counts,
			 size_t n)
{
	p->counts->inserted += counts->inserted;
	p->counts->updated += counts->updated;
	p->counts->unchanged += counts->unchanged;
	p->counts->deleted += counts->deleted;
	p->counts->missing += counts->missing;
	p->loaded += (int64_t)n;
}

static int pieces_load(void *ctx, const uint32_t *rows, size_t n,
		       struct error *err)
{
	struct pieces *p = ctx;
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint to;
	int rc;

	if (stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	run_tick(p->r);
	batch_copy_rows(&p->piece, p->b, rows, n);
	checkpoint_init(&to);
	to.watermark = xstrdup(p->mark);
	to.delivered = xstrdup(p->next->delivered);
	to.batch_id = pieces_id(p, rows, n);
	to.fence = p->next->fence;
	to.rows_total = p->r->checkpoint.rows_total + p->loaded + (int64_t)n;
	rc = load_batch(p->r->destination, &p->r->target, &p->piece, &to, false,
			p->r->tries, &counts, err);
	checkpoint_release(&to);
	if (rc)
		return rc;
	pieces_count(p, &counts, n);
	return failpoint("piece_loaded", err);
}

struct named_row {
	char digest[DIGEST_TEXT_SIZE];
	uint32_t row;
};

static int named_row_compare(const void *a, const void *b)
{
	const struct named_row *x = a, *y = b;
	int c = strcmp(x->digest, y->digest);

	return c ? c : (x->row > y->row) - (x->row < y->row);
}

static int row_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Among rows with the same key the last one is the newest. In pieces, an older
 * one could be loaded behind it. So the others are left out. */
static uint32_t *dead_letter_rows(const struct batch *b, size_t *n)
{
	const struct schema *s = b->schema;
	uint32_t *rows = xcalloc(b->n_rows, sizeof(*rows));
	struct named_row *named = xcalloc(b->n_rows, sizeof(*named));

	for (size_t i = 0; i < b->n_rows; i++) {
		named[i].row = (uint32_t)i;
		if (s->n_key)
			digest_row(b, i, s->key, s->n_key, named[i].digest);
	}
	if (s->n_key)
		qsort(named, b->n_rows, sizeof(*named), named_row_compare);
	*n = 0;
	for (size_t i = 0; i < b->n_rows; i++)
		if (!s->n_key || i + 1 == b->n_rows ||
		    strcmp(named[i].digest, named[i + 1].digest) != 0)
			rows[(*n)++] = named[i].row;
	qsort(rows, *n, sizeof(*rows), row_compare);
	free(named);
	return rows;
}

/* The run's count so far; a refresh that is tried again begins anew. */
static int64_t dead_letter_so_far(const struct run *r, int64_t all,
				  int64_t earlier)
{
	return r->target.refresh ? all - earlier : all;
}

static int64_t dead_letter_dead(const struct run *r)
{
	return dead_letter_so_far(r, r->out->rows_dead_lettered,
				  r->out->earlier.rows_dead_lettered);
}

static int64_t dead_letter_allowed(const struct run *r, const struct batch *b)
{
	const struct run_result *out = r->out;
	int64_t rows =
		dead_letter_so_far(r, out->rows_read, out->earlier.rows_read);
	int64_t dead = dead_letter_dead(r);
	int64_t most = row_limit_allowed(&r->p->bad_rows.limit,
					 rows + (int64_t)b->n_rows);

	/* A bad row that is read once more is not counted again. */
	if (task_has(r->task, TASK_RETRIES_LETTERS))
		return INT64_MAX;
	return most > dead ? most - dead : 0;
}

static void dead_letter_show(struct strbuf *sb, const struct batch *b,
			     const struct bad_rows *bad)
{
	for (size_t i = 0; i < bad->n && i < DEAD_LETTER_SHOWN; i++) {
		const char *message = bad->items[i].message;
		struct strbuf key = STRBUF_INIT;

		value_print_key(&key, b, bad->items[i].row);
		strbuf_addstr(sb, i ? "; " : "");
		/* Most destinations have named it already. */
		if (key.len && !strstr(message, key.data))
			strbuf_addf(sb, "%s: ", key.data);
		strbuf_addf(sb, "%.400s", message);
		strbuf_release(&key);
	}
}

static int dead_letter_too_many(const struct run *r, const struct batch *b,
				const struct bad_rows *bad, struct error *err)
{
	const struct row_limit *limit = &r->p->bad_rows.limit;
	struct strbuf rows = STRBUF_INIT;
	char *allowed =
		limit->share < 0
			? xstrfmt("%" PRId64, limit->rows)
			: xstrfmt("%g%%", (double)limit->share / 10000.0);

	dead_letter_show(&rows, b, bad);
	error_set(err, ERROR_DATA,
		  "table %s refuses %s%" PRId64 " rows of this run, and "
		  "on_bad_row.dead_letter.limit is %s: nothing past this batch "
		  "is loaded and the mark stays before it. Bad rows: %s. "
		  "\"tidemark dead-letters list %s\" shows them; mend them or "
		  "the table, or raise the limit, and run again",
		  r->p->destination_table, bad->more ? "at least " : "",
		  dead_letter_dead(r) + (int64_t)bad->n, allowed, rows.data,
		  settings_call(r->p));
	strbuf_release(&rows);
	free(allowed);
	return -ERROR_DATA;
}

static int dead_letter_save(struct run *r, const struct batch *b,
			    const struct checkpoint *next,
			    const struct bad_rows *bad, struct error *err)
{
	struct dead_letter_list letters = { NULL, 0, 0 };
	int rc;

	if (!bad->n || r->target.preview)
		return 0;
	letters_write(&r->letters, b, next->batch_id, r->checkpoint.watermark,
		      bad, &letters);
	rc = store_letters_save(r->store, &letters, err);
	if (!rc)
		letters_add(&r->letters, &letters);
	dead_letter_list_release(&letters);
	return rc ? rc : failpoint("letters_saved", err);
}

/* The mark goes past the batch; a refresh has none yet. */
static int dead_letter_advance(struct pieces *p, struct checkpoint *next,
			       struct error *err)
{
	struct load_counts none = { .inserted = 0 };

	next->rows_total = p->r->checkpoint.rows_total + p->loaded;
	if (p->r->target.refresh || p->r->target.preview)
		return 0;
	batch_reset(&p->piece);
	return load_batch(p->r->destination, &p->r->target, &p->piece, next,
			  run_moves_mark(p->r), p->r->tries, &none, err);
}

static int dead_letter_account(const struct batch *b,
			       const struct load_counts *c, int64_t dead,
			       struct error *err)
{
	int64_t sum = c->inserted + c->updated + c->unchanged + dead;

	if (sum == (int64_t)b->n_rows)
		return 0;
	return error_set(err, ERROR_BUG,
			 "accounting: %zu rows read, but %" PRId64
			 " loaded or dead letters",
			 b->n_rows, sum);
}

static int dead_letter_pieces(struct pieces *p, const struct error *why,
			      int64_t allowed, struct bad_rows *bad,
			      struct error *err)
{
	struct bisect bisect = {
		.load = pieces_load,
		.ctx = p,
		.most = allowed < INT32_MAX
				? (size_t)allowed + DEAD_LETTER_SLACK
				: SIZE_MAX,
	};
	size_t n;
	uint32_t *rows = dead_letter_rows(p->b, &n);
	int rc = bisect_load(&bisect, rows, n, why, bad, err);

	/* If the search was given up, nobody knows how the other rows ended. */
	if (!rc && !bad->more)
		p->counts->unchanged += (int64_t)(p->b->n_rows - n);
	free(rows);
	return rc;
}

static int dead_letter_settle(struct pieces *p, struct checkpoint *next,
			      const struct bad_rows *bad, int64_t allowed,
			      int64_t *dead, struct error *err)
{
	int rc = dead_letter_save(p->r, p->b, next, bad, err);

	*dead = 0;
	if (!rc && (bad->more || (int64_t)bad->n > allowed)) {
		rc = dead_letter_too_many(p->r, p->b, bad, err);
		*dead = (int64_t)bad->n;
		return rc;
	}
	if (!rc)
		rc = dead_letter_account(p->b, p->counts, (int64_t)bad->n, err);
	if (!rc)
		rc = dead_letter_advance(p, next, err);
	if (!rc)
		*dead = (int64_t)bad->n;
	return rc;
}

int dead_letter_load(struct run *r, const struct batch *b,
		     struct checkpoint *next, const struct error *why,
		     struct load_counts *out, int64_t *dead, struct error *err)
{
	struct pieces p = { .r = r, .b = b, .next = next, .counts = out };
	struct bad_rows bad = { NULL, 0, 0, false };
	int64_t allowed = dead_letter_allowed(r, b);
	int rc;

	if (!r->store && !r->target.preview)
		return error_set(err, ERROR_DATA,
				 "%s; there is no state store to keep the bad "
				 "rows in, so on_bad_row: dead_letter cannot "
				 "go on",
				 why->message);
	log_info("a batch of %zu rows is refused and loaded in pieces: %s",
		 b->n_rows, why->message);
	batch_init(&p.piece, b->schema);
	p.mark = run_mark_standing(r, next->delivered);
	*out = (struct load_counts){ .inserted = 0 };
	rc = dead_letter_pieces(&p, why, allowed, &bad, err);
	if (!rc)
		rc = dead_letter_settle(&p, next, &bad, allowed, dead, err);
	batch_release(&p.piece);
	bad_rows_release(&bad);
	free(p.mark);
	return rc;
}

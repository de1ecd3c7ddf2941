/* Chunks of backfills. They are queued whole, and one worker at a time claims
 * each. Another worker takes a chunk over from one that is gone, and only its
 * holder ends it. */
#include "core/store/chunks.h"
#include "core/store/leases.h"
#include "core/store/session.h"
#include "store_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients/pg.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/process.h"
#include "core/base/secret.h"

#define MINUTE_US (60 * US_PER_SECOND)
#define CHUNKS	  40

static struct lease by(const char *holder)
{
	static char *mark;
	static pid_t of; /* a child has another */
	struct lease l;

	if (of != getpid()) {
		free(mark);
		mark = process_mark();
		of = getpid();
	}
	lease_init(&l);
	l.holder = (char *)holder;
	l.host = (char *)"here";
	l.pid = getpid();
	l.process = mark;
	return l;
}

static int let_in(void *ctx, const struct chunk_list *known, bool *add,
		  struct error *err)
{
	(void)ctx;
	(void)known;
	(void)err;
	*add = true;
	return 0;
}

static int add_by(struct store *s, int n, const char *config,
		  const struct chunk_rule *rule, struct error *err)
{
	int rc;

	struct chunk_list list = { NULL, 0, 0 };

	list.items = xcalloc((size_t)n, sizeof(*list.items));
	list.n = (size_t)n;
	for (int i = 0; i < n; i++)
		list.items[i] = (struct chunk){
			.chunk_id = xstrfmt("orders/%s/%d", config, i + 1),
			.backfill_id = xstrdup(config),
			.pipeline = xstrdup("orders"),
			.config = xstrdup(config),
			.column = xstrdup("id"),
			.number = i + 1,
			.range_from = i ? xstrfmt("%d", i * 10) : NULL,
			.rows = 10,
			.state = xstrdup(CHUNK_QUEUED),
			.holder = xstrdup(""),
			.queued_at = 5,
		};
	rc = store_chunks_add(s, &list, rule, err);
	chunk_list_release(&list);
	return rc;
}

static void queue(struct store *s, int n, const char *config)
{
	const struct chunk_rule rule = { let_in, NULL };
	struct error err = ERROR_INIT;

	if (add_by(s, n, config, &rule, &err))
		fail_msg("%s", err.message);
}

static bool claim(struct store *s, const char *holder, int64_t lease_us,
		  struct chunk *out)
{
	const struct lease wanted = by(holder);
	struct error err = ERROR_INIT;
	bool found = false;

	memset(out, 0, sizeof(*out));
	if (store_chunk_claim(s, "orders", "c", &wanted, lease_us, &found, out,
			      &err))
		fail_msg("%s", err.message);
	return found;
}

static bool save(struct store *s, struct chunk *c, const char *state)
{
	struct error err = ERROR_INIT;
	bool held = false;

	free(c->state);
	c->state = xstrdup(state);
	if (store_chunk_save(s, c, &held, &err))
		fail_msg("%s", err.message);
	return held;
}

static struct chunk_list all(struct store *s)
{
	struct chunk_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;

	if (store_chunks_list(s, "orders", &list, &err))
		fail_msg("%s", err.message);
	return list;
}

static void keeps_chunks(void **state)
{
	struct store *s = place_open(*state);
	struct chunk_list list;
	struct error err = ERROR_INIT;

	queue(s, 3, "c");
	queue(s, 3, "c"); /* by another that plans the same */
	queue(s, 2, "d");
	list = all(s);
	assert_int_equal(list.n, 5);
	assert_string_equal(list.items[1].chunk_id, "orders/c/2");
	assert_string_equal(list.items[1].range_from, "10");
	assert_null(list.items[1].range_to);
	assert_int_equal(list.items[1].rows, 10);
	chunk_list_release(&list);
	assert_int_equal(store_chunks_delete(s, "orders", "c", &err), 0);
	list = all(s);
	assert_int_equal(list.n, 2);
	chunk_list_release(&list);
	store_close(s);
}

static bool is_left(struct store *s, const char *config)
{
	struct error err = ERROR_INIT;
	bool left = false;

	if (store_chunks_left(s, "orders", config, &left, &err))
		fail_msg("%s", err.message);
	return left;
}

/* In order; not of another config; with its lease; an attempt more. */
static void claims_in_order(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct lease lease;
	struct chunk c;
	bool held = false;

	queue(s, 1, "other");
	assert_false(claim(s, "a", MINUTE_US, &c));
	queue(s, 2, "c");
	assert_true(claim(s, "a", MINUTE_US, &c));
	assert_string_equal(c.chunk_id, "orders/c/1");
	assert_int_equal(c.attempts, 1);
	lease_init(&lease);
	assert_int_equal(store_lease_get(s, c.chunk_id, &held, &lease, &err),
			 0);
	assert_true(held);
	assert_string_equal(lease.holder, "a");
	lease_release(&lease);
	chunk_release(&c);
	assert_true(claim(s, "b", MINUTE_US, &c));
	assert_string_equal(c.chunk_id, "orders/c/2");
	chunk_release(&c);
	assert_false(claim(s, "b2", MINUTE_US, &c));
	assert_true(is_left(s, "c") && is_left(s, "other"));
	assert_false(is_left(s, "none"));
	assert_int_equal(store_chunks_delete(s, "orders", "c", &err), 0);
	assert_false(is_left(s, "c"));
	store_close(s);
}

/* Its lease has run out, or its process is gone: with a higher fence, and
 * whoever had it has no say any more. */
static void takes_over(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct chunk first, second;
	struct lease lease;
	bool held = false;

	queue(s, 1, "c");
	assert_true(claim(s, "a", 1, &first));
	usleep(2000);
	assert_true(claim(s, "b", MINUTE_US, &second));
	assert_int_equal(second.attempts, 2);
	lease_init(&lease);
	assert_int_equal(
		store_lease_get(s, second.chunk_id, &held, &lease, &err), 0);
	assert_int_equal(lease.fence, 2);
	lease_release(&lease);
	assert_false(save(s, &first, CHUNK_DONE));
	second.rows = 12;
	assert_true(save(s, &second, CHUNK_DONE));
	chunk_release(&first);
	chunk_release(&second);
	assert_false(claim(s, "c", MINUTE_US, &first));
	store_close(s);
}

/* A chunk tells its worker's hold, from the claim to the end of its lease. */
static void tells_what_holds_a_chunk(void **state)
{
	static const char hold[] = "{\"by\":\"pause_file\"}";
	struct store *s = place_open(*state);
	struct chunk_list list;
	struct chunk first, second, third;

	queue(s, 3, "c");
	assert_true(claim(s, "a", 60 * US_PER_SECOND, &first));
	assert_true(claim(s, "b", US_PER_SECOND / 5, &second));
	assert_true(claim(s, "d", 60 * US_PER_SECOND, &third));
	first.paused = xstrdup(hold);
	second.paused = xstrdup(hold);
	third.paused = xstrdup(hold);
	assert_true(save(s, &first, CHUNK_RUNNING));
	assert_true(save(s, &second, CHUNK_RUNNING));
	assert_true(save(s, &third, CHUNK_RUNNING));
	free(third.paused);
	third.paused = NULL;
	assert_true(save(s, &third, CHUNK_RUNNING));
	clock_sleep_us(US_PER_SECOND / 4);
	list = all(s);
	assert_string_equal(list.items[0].paused, hold);
	assert_null(list.items[1].paused); /* its lease is over */
	assert_null(list.items[2].paused); /* and so is this hold */
	chunk_list_release(&list);
	chunk_release(&second);
	assert_true(claim(s, "e", 60 * US_PER_SECOND, &second));
	list = all(s);
	assert_null(list.items[1].paused); /* the chunk before had it */
	chunk_list_release(&list);
	chunk_release(&first);
	chunk_release(&second);
	chunk_release(&third);
	store_close(s);
}

static void keeps_no_secret_of_chunks(void **state)
{
	struct store *s = place_open(*state);
	struct chunk_list list;
	struct chunk c;

	secret_add("correct-horse");
	queue(s, 1, "c");
	assert_true(claim(s, "a", MINUTE_US, &c));
	c.error_message = xstrdup("at correct-horse@db");
	assert_true(save(s, &c, CHUNK_FAILED));
	chunk_release(&c);
	list = all(s);
	assert_string_equal(list.items[0].state, CHUNK_FAILED);
	assert_null(strstr(list.items[0].error_message, "correct-horse"));
	chunk_list_release(&list);
	store_close(s);
}

/* Long enough for another one to come in between, if it could. */
static int refuse_others(void *ctx, const struct chunk_list *known, bool *add,
			 struct error *err)
{
	(void)ctx;
	(void)add;
	clock_sleep_us(US_PER_SECOND / 5);
	return known->n ? error_set(err, ERROR_CONFIG, "another was faster")
			: 0;
}

static void add_alone(const struct place *p, int n, int out)
{
	const struct chunk_rule rule = { refuse_others, NULL };
	const char config[] = { (char)('a' + n), '\0' };
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	int rc = add_by(s, 2, config, &rule, &err);

	store_close(s);
	if ((rc && rc != -ERROR_CONFIG) ||
	    write(out, &rc, sizeof(rc)) != sizeof(rc))
		_exit(1);
	_exit(0);
}

/* Four at once: what one sees is all that there is until it has added. */
static void adds_one_after_another(void **state)
{
	struct store *s = place_open(*state);
	int ends[2], refused = 0;
	struct chunk_list list;

	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 4; i++)
		if (!fork())
			add_alone(*state, i, ends[1]);
	for (int i = 0; i < 4; i++) {
		int status = -1, rc;

		wait(&status);
		assert_int_equal(status, 0);
		assert_int_equal(read(ends[0], &rc, sizeof(rc)), sizeof(rc));
		refused += rc != 0;
	}
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(refused, 3);
	list = all(s);
	assert_int_equal(list.n, 2);
	chunk_list_release(&list);
	store_close(s);
}

/* A worker of its own process: claims until there is nothing left, and says
 * how many it got. */
static void claim_all(const struct place *p, int n, int out)
{
	struct store *s = place_open(p);
	char holder[32];
	struct chunk c;
	int got = 0;

	for (;; got++) {
		snprintf(holder, sizeof(holder), "%d-%d", n, got);
		if (!claim(s, holder, MINUTE_US, &c))
			break;
		save(s, &c, CHUNK_DONE);
		chunk_release(&c);
	}
	store_close(s);
	if (write(out, &got, sizeof(got)) != sizeof(got))
		_exit(1);
	_exit(0);
}

/* Four at once: each chunk is somebody's, and nobody else's. */
static void gives_each_chunk_once(void **state)
{
	struct store *s = place_open(*state);
	int ends[2], got = 0, sum = 0;
	struct chunk_list list;

	queue(s, CHUNKS, "c");
	store_close(s);
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 4; i++)
		if (!fork())
			claim_all(*state, i, ends[1]);
	for (int i = 0; i < 4; i++) {
		int status = -1;

		wait(&status);
		assert_int_equal(status, 0);
		assert_int_equal(read(ends[0], &got, sizeof(got)), sizeof(got));
		sum += got;
	}
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(sum, CHUNKS);
	s = place_open(*state);
	list = all(s);
	for (size_t i = 0; i < list.n; i++) {
		assert_int_equal(list.items[i].attempts, 1);
		assert_string_equal(list.items[i].state, CHUNK_DONE);
	}
	chunk_list_release(&list);
	store_close(s);
}

/* A worker in the midst of its claim holds up nobody else's. */
void passes_by_a_locked_chunk(void **state)
{
	static const struct pg_options options = { .application = "test" };
	const struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct pg *pg = NULL;
	struct chunk c;

	queue(s, 2, "c");
	assert_int_equal(pg_open(&pg, &p->conn, &options, &err), 0);
	assert_int_equal(pg_exec(pg, "BEGIN", &err), 0);
	assert_int_equal(pg_exec(pg,
				 "SELECT * FROM tidemark.chunks "
				 "WHERE number = 1 FOR UPDATE",
				 &err),
			 0);
	alarm(10); /* ends a claim that waits */
	assert_true(claim(s, "a", MINUTE_US, &c));
	alarm(0);
	assert_string_equal(c.chunk_id, "orders/c/2");
	chunk_release(&c);
	pg_close(pg);
	store_close(s);
}

/* A look for work touches no lease that lasts on another machine: its renewal
 * is not held up. Once it has run out, the chunk is anybody's. */
void leaves_a_lease_from_afar(void **state)
{
	static const struct pg_options options = { .application = "test" };
	const struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct pg *pg = NULL;
	struct chunk c;

	queue(s, 1, "c");
	assert_true(claim(s, "a", MINUTE_US, &c));
	chunk_release(&c);
	assert_int_equal(pg_open(&pg, &p->conn, &options, &err), 0);
	assert_int_equal(pg_exec(pg,
				 "UPDATE tidemark.leases SET host = 'far', "
				 "process = 'far/pid:[1]/1'",
				 &err),
			 0);
	assert_int_equal(pg_exec(pg,
				 "BEGIN; SELECT FROM tidemark.leases FOR "
				 "UPDATE",
				 &err),
			 0);
	alarm(10); /* ends a claim that waits */
	assert_false(claim(s, "b", MINUTE_US, &c));
	alarm(0);
	assert_int_equal(pg_exec(pg,
				 "UPDATE tidemark.leases SET until = 1; COMMIT",
				 &err),
			 0);
	assert_true(claim(s, "b", MINUTE_US, &c));
	assert_int_equal(c.attempts, 2);
	chunk_release(&c);
	pg_close(pg);
	store_close(s);
}

/* A worker gave its chunk back, and its machine went before it gave the lease
 * back: nobody waits for that lease while other chunks wait. */
void goes_past_a_chunk_with_a_lease(void **state)
{
	static const struct pg_options options = { .application = "test" };
	const struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct pg *pg = NULL;
	struct chunk c;

	queue(s, 3, "c");
	assert_true(claim(s, "a", MINUTE_US, &c));
	assert_true(save(s, &c, CHUNK_QUEUED));
	chunk_release(&c);
	assert_int_equal(pg_open(&pg, &p->conn, &options, &err), 0);
	assert_int_equal(pg_exec(pg,
				 "UPDATE tidemark.leases SET host = 'far', "
				 "process = 'far/pid:[1]/1'",
				 &err),
			 0);
	pg_close(pg);
	assert_true(claim(s, "b", MINUTE_US, &c));
	assert_string_equal(c.chunk_id, "orders/c/2");
	chunk_release(&c);
	store_close(s);
}

#define SHARED(make)                                                           \
	EACH(make, keeps_chunks), EACH(make, claims_in_order),                 \
		EACH(make, takes_over), EACH(make, tells_what_holds_a_chunk),  \
		EACH(make, keeps_no_secret_of_chunks),                         \
		EACH(make, gives_each_chunk_once),                             \
		EACH(make, adds_one_after_another)

const struct CMUnitTest store_chunks_file[] = { SHARED(file) };
const struct CMUnitTest store_chunks_postgres[] = { SHARED(postgres) };
const size_t store_chunks_n = ARRAY_SIZE(store_chunks_file);

#include "core/store/leases.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/process.h"
#include "core/store/history.h"
#include "core/store/session.h"

void lease_init(struct lease *l)
{
	memset(l, 0, sizeof(*l));
}

void lease_release(struct lease *l)
{
	if (!l)
		return;
	free(l->name);
	free(l->holder);
	free(l->host);
	free(l->process);
	free(l->session);
	free(l->ran_ends);
	lease_init(l);
}

/* @ is the store's now. */
static const char read_sql[] =
	"SELECT name, holder, host, pid, process, session, since, until,\n"
	"  fence, @, ran_at, ran_open, ran_ends FROM leases WHERE name = $1";
#define LEASE_SHAPE "ttttttttttttt"

/* Nobody is known to have had it: host ''. */
static const char make_sql[] =
	"INSERT INTO leases (name, fence, holder, host, pid, process,\n"
	"                    session, since, until)\n"
	"VALUES ($1, 0, '', '', 0, '', '', 0, 0)\n"
	"ON CONFLICT (name) DO NOTHING";

/* A run may be this early for its turn. Whoever compares clocks is off by half
 * the time of an answer, and a store may count in milliseconds. A run that
 * began later than that from now began before the clock was set back. It holds
 * up no turn. */
#define LEASE_EARLY_US (10 * US_PER_SECOND)

static const char take_sql[] =
	"UPDATE leases SET fence = fence + 1, holder = $1, host = $2,\n"
	"  pid = $3, process = $4, since = @, until = @ + $5,\n"
	"  ran_at = CASE WHEN CAST($6 AS bigint) <> 1 THEN ran_at\n"
	"           WHEN CAST($7 AS bigint) > @\n"
	"           THEN CAST($7 AS bigint) ELSE @ END,\n"
	"  ran_open = CASE WHEN CAST($6 AS bigint) = 1 THEN 1\n"
	"             ELSE ran_open END,\n"
	"  ran_ends = CASE WHEN CAST($6 AS bigint) = 1 THEN $8\n"
	"             ELSE ran_ends END\n"
	"WHERE name = $9";

static const char renew_sql[] =
	"UPDATE leases SET until = @ + $1\n"
	"WHERE name = $2 AND holder = $3 AND until > @ RETURNING until";

static const char amend_sql[] =
	"UPDATE leases SET fence = $1, session = $2\n"
	"WHERE name = $3 AND holder = $4 AND until > @ RETURNING until";

static const char give_sql[] =
	"UPDATE leases SET until = $1, session = $2,\n"
	"  ran_open = CASE WHEN CAST($3 AS bigint) = 1 THEN 0\n"
	"             ELSE ran_open END\n"
	"WHERE name = $4 AND holder = $5";

static const char starts_sql[] =
	"SELECT name, ran_at, CASE WHEN ran_open = 1 AND until <= @\n"
	"                     THEN 1 ELSE 0 END\n"
	"FROM leases WHERE ran_at > 0 AND ran_at <= @";

/* A lease of a machine that was started at another time, and has another
 * name. */
static const char foreign_sql[] =
	"SELECT host, pid, name FROM leases\n"
	"WHERE until > @ AND host <> $1\n"
	"  AND substr(process, 1, instr(process, '/')) <> $2 LIMIT 1";

static int lease_note(void *ctx, const char *const *values, struct error *err)
{
	struct lease *l = ctx;

	(void)err;
	lease_release(l);
	l->name = xstrdup(values[0]);
	l->holder = xstrdup(values[1]);
	l->host = xstrdup(values[2]);
	l->pid = store_number_of(values[3]);
	l->process = xstrdup(values[4]);
	l->session = xstrdup(values[5]);
	l->since = store_number_of(values[6]);
	l->until = store_number_of(values[7]);
	l->fence = store_number_of(values[8]);
	l->now = store_number_of(values[9]);
	l->ran_at = store_number_of(values[10]);
	l->ran_open = store_number_of(values[11]) != 0;
	l->ran_ends = xstrdup(values[12]);
	return 0;
}

/* Locked until the end of the transaction. */
static int lease_read(struct store *s, const char *name, struct lease *out,
		      struct error *err)
{
	char *sql = xstrfmt("%s%s", read_sql, s->ops->dialect->for_update);
	int rc = store_run(s, sql, &name, 1, LEASE_SHAPE, lease_note, out, err);

	free(sql);
	return rc;
}

static int lease_refuse_machine(void *ctx, const char *const *values,
				struct error *err)
{
	const struct store *s = ctx;

	return error_set(err, ERROR_CONFIG,
			 "state store %s is a file, and another machine is "
			 "using it: process %s on %s runs pipeline %s. A file "
			 "is for one machine; give both `state: "
			 "postgresql://...`",
			 s->where, values[1], values[0], values[2]);
}

static int lease_check_machine(struct store *s, const struct lease *wanted,
			       struct error *err)
{
	char *boot =
		xstrndup(wanted->process, strcspn(wanted->process, "/") + 1);
	const char *params[] = { wanted->host, boot };
	int rc = 0;

	if (s->ops->dialect->is_file && *wanted->process)
		rc = store_run(s, foreign_sql, params, 2, "ttt",
			       lease_refuse_machine, s, err);
	free(boot);
	return rc;
}

/* A run that was broken off has not had its turn. */
static enum lease_answer lease_judge(const struct lease *before,
				     const struct lease *wanted)
{
	if (before->until > before->now &&
	    strcmp(before->holder, wanted->holder) != 0 &&
	    !process_mark_is_gone(before->pid, before->process))
		return LEASE_BUSY;
	if (wanted->turn_us && !before->ran_open &&
	    before->ran_at >= wanted->turn_us &&
	    before->ran_at - before->now <= LEASE_EARLY_US)
		return LEASE_HAD;
	return !before->until && *before->host ? LEASE_TAKEN : LEASE_INHERITED;
}

static int lease_write(struct store *s, const struct lease *wanted,
		       int64_t now_us, int64_t lease_us, struct error *err)
{
	bool near = wanted->turn_us - now_us <= LEASE_EARLY_US;
	char pid[STORE_NUMBER_SIZE], us[STORE_NUMBER_SIZE];
	char turn[STORE_NUMBER_SIZE];
	const char *params[] = {
		wanted->holder,
		wanted->host,
		store_number(pid, wanted->pid),
		wanted->process,
		store_number(us, lease_us),
		wanted->runs ? "1" : "0",
		store_number(turn, near ? wanted->turn_us : 0),
		wanted->ran_ends ? wanted->ran_ends : "",
		wanted->name,
	};

	return store_exec(s, take_sql, params, ARRAY_SIZE(params), err);
}

/* The row is locked from the first look on. */
int store_lease_take_locked(struct store *s, const struct lease *wanted,
			    int64_t lease_us, enum lease_answer *answer,
			    struct lease *out, struct lease *before,
			    struct error *err)
{
	int rc = lease_read(s, wanted->name, before, err);

	if (!rc && !before->name)
		rc = store_exec(s, make_sql, (const char *[]){ wanted->name },
				1, err);
	if (!rc && !before->name)
		rc = lease_read(s, wanted->name, before, err);
	if (!rc)
		rc = lease_check_machine(s, wanted, err);
	if (rc)
		return rc;
	*answer = lease_judge(before, wanted);
	if (*answer == LEASE_BUSY || *answer == LEASE_HAD)
		return 0;
	rc = lease_write(s, wanted, before->now, lease_us, err);
	if (!rc)
		rc = lease_read(s, wanted->name, out, err);
	out->runs = wanted->runs;
	return rc;
}

int store_lease_take(struct store *s, const struct lease *wanted,
		     int64_t lease_us, enum lease_answer *answer,
		     struct lease *out, struct lease *before, struct error *err)
{
	/* A token that a crash of the server takes back would be given to the
	 * next one, too, while its holder works on. A file's holders end with
	 * the machine. */
	bool is_file = s->ops->dialect->is_file;
	int rc = s->ops->begin(s, is_file ? STORE_USUAL : STORE_DURABLE, err);

	if (rc)
		return rc;
	rc = store_lease_take_locked(s, wanted, lease_us, answer, out, before,
				     err);
	/* With it, so that nobody sees a lease beside a run that had it before.
	 */
	if (!rc && (*answer == LEASE_TAKEN || *answer == LEASE_INHERITED))
		rc = store_attempts_close(s, wanted->name, err);
	return store_end(s, rc, err);
}

int store_lease_renew(struct store *s, const struct lease *l, int64_t lease_us,
		      bool *held, struct error *err)
{
	char us[STORE_NUMBER_SIZE];
	const char *params[] = { store_number(us, lease_us), l->name,
				 l->holder };

	*held = false;
	return store_run(s, renew_sql, params, 3, "t", store_note_any, held,
			 err);
}

int store_lease_amend(struct store *s, const struct lease *l, bool *held,
		      struct error *err)
{
	char fence[STORE_NUMBER_SIZE];
	const char *params[] = { store_number(fence, l->fence), l->session,
				 l->name, l->holder };

	*held = false;
	return store_run(s, amend_sql, params, 4, "t", store_note_any, held,
			 err);
}

int store_lease_give(struct store *s, const struct lease *l, struct error *err)
{
	char until[STORE_NUMBER_SIZE];
	const char *params[] = { store_number(until, l->until), l->session,
				 l->runs && !l->ran_open ? "1" : "0", l->name,
				 l->holder };

	return store_exec(s, give_sql, params, ARRAY_SIZE(params), err);
}

struct lease_starts {
	void (*each)(void *ctx, const char *name, int64_t at, bool broken);
	void *ctx;
};

static int lease_note_start(void *ctx, const char *const *values,
			    struct error *err)
{
	const struct lease_starts *to = ctx;

	(void)err;
	to->each(to->ctx, values[0], store_number_of(values[1]),
		 store_number_of(values[2]) != 0);
	return 0;
}

int store_lease_starts(struct store *s,
		       void (*each)(void *ctx, const char *name, int64_t at,
				    bool broken),
		       void *ctx, struct error *err)
{
	struct lease_starts to = { each, ctx };

	return store_run(s, starts_sql, NULL, 0, "ttt", lease_note_start, &to,
			 err);
}

static int lease_note_clock(void *ctx, const char *const *values,
			    struct error *err)
{
	int64_t *now_us = ctx;

	(void)err;
	*now_us = store_number_of(values[0]);
	return 0;
}

int store_clock(struct store *s, int64_t *now_us, struct error *err)
{
	return store_run(s, "SELECT @", NULL, 0, "1t", lease_note_clock, now_us,
			 err);
}

int store_lease_get(struct store *s, const char *name, bool *held,
		    struct lease *out, struct error *err)
{
	int rc = store_run(s, read_sql, &name, 1, LEASE_SHAPE, lease_note, out,
			   err);

	*held = !rc && out->name && out->until > out->now;
	return rc;
}

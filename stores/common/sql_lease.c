#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/process.h"
#include "core/base/strbuf.h"
#include "stores/common/attempt_fields.h"
#include "stores/common/sql_store.h"

/* @ is the store's now. */
static const char read_sql[] =
	"SELECT name, holder, host, pid, process, session, since, until,\n"
	"  fence, @ FROM leases WHERE name = $1";
#define LEASE_SHAPE "tttttttttt"

/* Nobody is known to have had it: host ''. */
static const char make_sql[] =
	"INSERT INTO leases (name, fence, holder, host, pid, process,\n"
	"                    session, since, until)\n"
	"VALUES ($1, 0, '', '', 0, '', '', 0, 0)\n"
	"ON CONFLICT (name) DO NOTHING";

static const char take_sql[] =
	"UPDATE leases SET fence = fence + 1, holder = $1, host = $2,\n"
	"  pid = $3, process = $4, since = @,\n"
	"  until = @ + $5 WHERE name = $6";

static const char renew_sql[] =
	"UPDATE leases SET until = @ + $1\n"
	"WHERE name = $2 AND holder = $3 AND until > @ RETURNING until";

static const char amend_sql[] =
	"UPDATE leases SET fence = $1, session = $2\n"
	"WHERE name = $3 AND holder = $4 AND until > @ RETURNING until";

static const char give_sql[] = "UPDATE leases SET until = $1, session = $2\n"
			       "WHERE name = $3 AND holder = $4";

/* Of a machine that was started at another time, and has another name. */
static const char foreign_sql[] =
	"SELECT host, pid, name FROM leases\n"
	"WHERE until > @ AND host <> $1\n"
	"  AND substr(process, 1, instr(process, '/')) <> $2 LIMIT 1";

void sql_store_add_now(const struct sql_store *s, struct strbuf *out,
		       const char *sql)
{
	for (; *sql; sql++)
		if (*sql == '@')
			strbuf_addstr(out, s->session->now_sql);
		else
			strbuf_addch(out, *sql);
}

static int lease_run(struct sql_store *s, const char *sql, const char *end,
		     const char *const *params, int n, const char *shape,
		     sql_row row, void *ctx, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	sql_store_add_now(s, &text, sql);
	strbuf_addstr(&text, end);
	rc = s->session->run(s, text.data, params, n, shape, row, ctx, err);
	strbuf_release(&text);
	return rc;
}

static int lease_note(void *ctx, const char *const *values, struct error *err)
{
	struct lease *l = ctx;

	(void)err;
	lease_release(l);
	l->name = xstrdup(values[0]);
	l->holder = xstrdup(values[1]);
	l->host = xstrdup(values[2]);
	l->pid = strtoll(values[3], NULL, 10);
	l->process = xstrdup(values[4]);
	l->session = xstrdup(values[5]);
	l->since = strtoll(values[6], NULL, 10);
	l->until = strtoll(values[7], NULL, 10);
	l->fence = strtoll(values[8], NULL, 10);
	l->now = strtoll(values[9], NULL, 10);
	return 0;
}

/* Locked until the end of the transaction. */
static int lease_read(struct sql_store *s, const char *name, struct lease *out,
		      struct error *err)
{
	return lease_run(s, read_sql, s->session->for_update, &name, 1,
			 LEASE_SHAPE, lease_note, out, err);
}

static int lease_refuse_machine(void *ctx, const char *const *values,
				struct error *err)
{
	const struct sql_store *s = ctx;

	return error_set(err, ERROR_CONFIG,
			 "state store %s is a file, and another machine is "
			 "using it: process %s on %s runs pipeline %s. A file "
			 "is for one machine; give both `state: "
			 "postgresql://...`",
			 s->where, values[1], values[0], values[2]);
}

static int lease_check_machine(struct sql_store *s, const struct lease *wanted,
			       struct error *err)
{
	char *boot =
		xstrndup(wanted->process, strcspn(wanted->process, "/") + 1);
	const char *params[] = { wanted->host, boot };
	int rc = 0;

	if (s->session->is_file && *wanted->process)
		rc = lease_run(s, foreign_sql, "", params, 2, "ttt",
			       lease_refuse_machine, s, err);
	free(boot);
	return rc;
}

static enum lease_answer lease_judge(const struct lease *before,
				     const struct lease *wanted)
{
	if (!before->until)
		return *before->host ? LEASE_TAKEN : LEASE_INHERITED;
	if (before->until <= before->now ||
	    !strcmp(before->holder, wanted->holder) ||
	    process_mark_is_gone(before->pid, before->process))
		return LEASE_INHERITED;
	return LEASE_BUSY;
}

static int lease_write(struct sql_store *s, const struct lease *wanted,
		       int64_t lease_us, struct error *err)
{
	char pid[FIELD_TEXT_SIZE], us[FIELD_TEXT_SIZE];
	const char *params[] = {
		wanted->holder,
		wanted->host,
		field_number(pid, wanted->pid),
		wanted->process,
		field_number(us, lease_us),
		wanted->name,
	};

	return lease_run(s, take_sql, "", params, ARRAY_SIZE(params), NULL,
			 NULL, NULL, err);
}

/* The row is locked from the first look on. */
int sql_store_take_lease_locked(struct sql_store *s, const struct lease *wanted,
				int64_t lease_us, enum lease_answer *answer,
				struct lease *out, struct lease *before,
				struct error *err)
{
	int rc = lease_read(s, wanted->name, before, err);

	if (!rc && !before->name)
		rc = s->session->run(s, make_sql,
				     (const char *[]){ wanted->name }, 1, NULL,
				     NULL, NULL, err);
	if (!rc && !before->name)
		rc = lease_read(s, wanted->name, before, err);
	if (!rc)
		rc = lease_check_machine(s, wanted, err);
	if (rc)
		return rc;
	*answer = lease_judge(before, wanted);
	if (*answer == LEASE_BUSY)
		return 0;
	rc = lease_write(s, wanted, lease_us, err);
	return rc ? rc : lease_read(s, wanted->name, out, err);
}

int sql_store_take_lease(struct store *base, const struct lease *wanted,
			 int64_t lease_us, enum lease_answer *answer,
			 struct lease *out, struct lease *before,
			 struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	/* A token that a crash of the server takes back would be given to the
	 * next one, too, while its holder works on. A file's holders end with
	 * the machine. */
	int rc = s->session->is_file ? s->session->begin(s, err)
				     : s->session->begin_durable(s, err);

	if (rc)
		return rc;
	rc = sql_store_take_lease_locked(s, wanted, lease_us, answer, out,
					 before, err);
	return sql_store_end(s, rc, err);
}

static int lease_note_held(void *ctx, const char *const *values,
			   struct error *err)
{
	(void)values;
	(void)err;
	*(bool *)ctx = true;
	return 0;
}

int sql_store_renew_lease(struct store *base, const struct lease *l,
			  int64_t lease_us, bool *held, struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	char us[FIELD_TEXT_SIZE];
	const char *params[] = { field_number(us, lease_us), l->name,
				 l->holder };

	*held = false;
	return lease_run(s, renew_sql, "", params, 3, "t", lease_note_held,
			 held, err);
}

int sql_store_amend_lease(struct store *base, const struct lease *l, bool *held,
			  struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	char fence[FIELD_TEXT_SIZE];
	const char *params[] = { field_number(fence, l->fence), l->session,
				 l->name, l->holder };

	*held = false;
	return lease_run(s, amend_sql, "", params, 4, "t", lease_note_held,
			 held, err);
}

int sql_store_give_lease(struct store *base, const struct lease *l,
			 struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	char until[FIELD_TEXT_SIZE];
	const char *params[] = { field_number(until, l->until), l->session,
				 l->name, l->holder };

	return s->session->run(s, give_sql, params, 4, NULL, NULL, NULL, err);
}

int sql_store_get_lease(struct store *base, const char *name, bool *held,
			struct lease *out, struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	int rc = lease_run(s, read_sql, "", &name, 1, LEASE_SHAPE, lease_note,
			   out, err);

	*held = !rc && out->name && out->until > out->now;
	return rc;
}

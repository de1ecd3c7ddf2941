#include "core/store/schema.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/store/session.h"

static const char create_migrations_sql[] =
	"CREATE TABLE IF NOT EXISTS " STORE_MIGRATIONS_TABLE " (\n"
	"  number bigint PRIMARY KEY, name text NOT NULL,\n"
	"  checksum text NOT NULL, applied_at bigint NOT NULL)";

static const char list_migrations_sql[] =
	"SELECT number, name, checksum FROM " STORE_MIGRATIONS_TABLE "\n"
	"ORDER BY number";

static const char save_migration_sql[] =
	"INSERT INTO " STORE_MIGRATIONS_TABLE
	"  (number, name, checksum, applied_at)\n"
	"VALUES ($1, $2, $3, $4)";

/* May this binary go on with a database where migration `number` was applied as
 * `name` with `checksum`, and `previous` before it (0: none)? */
static int schema_check_applied(const struct store *s, int previous, int number,
				const char *name, const char *checksum,
				struct error *err)
{
	const struct migrations *known = s->ops->dialect->migrations;
	const struct migration *m;

	if (number > known->n)
		return error_set(err, ERROR_CONFIG,
				 "state store %s has migration %d (%s), this "
				 "tidemark knows them up to %d: use the newer "
				 "tidemark that applied it, or another state "
				 "store",
				 s->where, number, name, known->n);
	if (number != previous + 1)
		return error_set(err, ERROR_CONFIG,
				 "state store %s has migration %d (%s) but not "
				 "%d: restore it from a backup, or use another "
				 "state store",
				 s->where, number, name, previous + 1);
	m = &known->items[number - 1];
	if (strcmp(m->checksum, checksum) == 0)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "state store %s: migration %d was applied as %s with "
			 "checksum %.12s, but this tidemark's %s has %.12s: "
			 "use the tidemark that applied it, or another state "
			 "store",
			 s->where, number, name, checksum, m->name,
			 m->checksum);
}

struct migration_state {
	const struct store *store;
	int version; /* last one applied */
	bool has_table;
	char *foreign; /* a table that is not ours, or NULL */
};

static int schema_note_table(void *ctx, const char *const *values,
			     struct error *err)
{
	struct migration_state *m = ctx;

	(void)err;
	if (strcmp(values[0], STORE_MIGRATIONS_TABLE) == 0)
		m->has_table = true;
	else if (!m->foreign)
		m->foreign = xstrdup(values[0]);
	return 0;
}

static int schema_note_migration(void *ctx, const char *const *values,
				 struct error *err)
{
	struct migration_state *m = ctx;
	int number = (int)store_number_of(values[0]);
	int rc = schema_check_applied(m->store, m->version, number, values[1],
				      values[2], err);

	m->version = number;
	return rc;
}

/* Look at the migrations that this database has seen, and judge whether we may
 * go on. */
static int schema_look(struct store *s, int *version, struct error *err)
{
	struct migration_state m = { .store = s };
	int rc = store_run(s, s->ops->dialect->tables_sql, NULL, 0, "t",
			   schema_note_table, &m, err);

	if (!rc && !m.has_table && m.foreign)
		rc = error_set(err, ERROR_CONFIG,
			       "%s is not a Tidemark state store: it has a "
			       "table %s, but no " STORE_MIGRATIONS_TABLE
			       ". Choose another place under `state`",
			       s->where, m.foreign);
	if (!rc && m.has_table)
		rc = store_run(s, list_migrations_sql, NULL, 0, "ttt",
			       schema_note_migration, &m, err);
	free(m.foreign);
	*version = m.version;
	return rc;
}

static int schema_refuse(void *ctx, const char *const *values,
			 struct error *err)
{
	int rc = error_set(err, ERROR_ACCESS, "%s", values[0]);

	(void)ctx;
	error_hint(err, "%s", values[1]);
	return rc;
}

int store_version(struct store *s, int *version, struct error *err)
{
	const char *barred = s->ops->dialect->barred_sql;
	int rc = schema_look(s, version, err);

	if (!rc && !*version && *barred)
		rc = store_run(s, barred, NULL, 0, "tt", schema_refuse, NULL,
			       err);
	return rc;
}

static int schema_apply_locked(struct store *s, int *version, bool *applied,
			       struct error *err)
{
	const struct migration *m;
	char number[STORE_NUMBER_SIZE], now[STORE_NUMBER_SIZE];
	const char *params[] = { number, NULL, NULL, now };
	int rc = schema_look(s, version, err);

	if (rc || *version >= s->ops->dialect->migrations->n)
		return rc;
	m = &s->ops->dialect->migrations->items[*version];
	store_number(number, m->number);
	store_number(now, clock_now_us());
	params[1] = m->name;
	params[2] = m->checksum;
	rc = s->ops->script(s, create_migrations_sql, err);
	if (!rc)
		rc = s->ops->script(s, m->sql, err);
	if (!rc)
		rc = store_exec(s, save_migration_sql, params, 4, err);
	*version = m->number;
	*applied = true;
	if (rc)
		error_prefix(err, "migration %d (%s)", m->number, m->name);
	return rc;
}

/* The next migration, unless another process has just applied it. */
static int schema_apply_next(struct store *s, int *applied, int *version,
			     struct error *err)
{
	bool done = false;
	int rc = s->ops->begin(s, STORE_MIGRATION, err);

	if (!rc)
		rc = schema_apply_locked(s, version, &done, err);
	rc = store_end(s, rc, err);
	if (!rc && done)
		(*applied)++;
	return rc;
}

int store_migrate(struct store *s, int *applied, int *version,
		  struct error *err)
{
	int rc;

	*applied = 0;
	/* Without the lock: nearly always there is nothing to do. */
	rc = schema_look(s, version, err);
	while (!rc && *version < s->ops->dialect->migrations->n)
		rc = schema_apply_next(s, applied, version, err);
	return rc;
}

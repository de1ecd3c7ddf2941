#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* A setting of a session, and its value as the server shows it. A role,
 * a database or a pooler may set another value. It could falsify values, leave
 * rows out, or give names another meaning. */
struct pg_pinned {
	const char *name, *kept;
};

static const struct pg_pinned pg_pins[] = {
	{ "quote_all_identifiers", "off" },
	{ "search_path", "pg_catalog" },
	{ "client_encoding", "UTF8" },
	{ "DateStyle", "ISO, YMD" },
	{ "IntervalStyle", "postgres" },
	{ "TimeZone", "UTC" },
	{ "standard_conforming_strings", "on" },
	{ "extra_float_digits", "3" },
	{ "bytea_output", "hex" },
	{ "lc_monetary", "C" },
	{ "array_nulls", "on" },
	{ "xmloption", "content" },
	{ "transform_null_equals", "off" },
	/* Else a search of a GIN index may leave rows out. */
	{ "gin_fuzzy_search_limit", "0" },
	{ "default_transaction_isolation", "read committed" },
	/* The last: of a session that only reads. */
	{ "default_transaction_read_only", "on" },
};

/* The first with idle_session_timeout. */
#define PG_PIN_IDLE 140000

static size_t pg_pins_of(const struct pg_options *options)
{
	return ARRAY_SIZE(pg_pins) - (options->read_only ? 0 : 1);
}

static int pg_pin_refuse(struct pg *pg, const char *name, const char *is,
			 const char *kept, struct error *err)
{
	pg->lost = true;
	return error_set(err, ERROR_ACCESS,
			 "%s: the session's %s is \"%s\", although this "
			 "session has set it to \"%s\"; values would be "
			 "falsified. A pooler or a proxy between changes "
			 "sessions: connect to the server itself, or let the "
			 "pooler give each client a session of its own "
			 "(pool_mode = session)",
			 pg->where, name, is, kept);
}

int pg_pin_compare(struct pg *pg, const PGresult *r, struct error *err)
{
	for (size_t i = 0; i < pg->n_pins; i++) {
		const char *is = pg_value(r, 0, (int)i);
		if (!is || strcmp(is, pg_pins[i].kept) != 0)
			return pg_pin_refuse(pg, pg_pins[i].name,
					     is ? is : "not told",
					     pg_pins[i].kept, err);
	}
	return 0;
}

void pg_pin_ask(const struct pg *pg, const char *more, struct strbuf *sql)
{
	for (size_t i = 0; i < pg->n_pins; i++)
		strbuf_addf(sql, "%s pg_catalog.current_setting('%s')",
			    i ? "," : "SELECT", pg_pins[i].name);
	strbuf_addstr(sql, pg->n_pins ? more : "");
}

/* The same as when it was asked first? */
static bool pg_pin_is_same(char **was, const char *is)
{
	if (!*was)
		*was = xstrdup(is);
	return is && !strcmp(is, *was);
}

/* Facts behind the settings. A role that the session was given at its beginning
 * (ALTER ROLE ... SET role) is lost when it is reset. A pooler may give us
 * another session. Another server may be the one to write to by now. */
#define PG_PIN_FACTS                                                           \
	", current_user, pg_backend_pid(),"                                    \
	" concat(pg_is_in_recovery(), "                                        \
	"current_setting('transaction_read_only')), "                          \
	"pg_postmaster_start_time()"

static int pg_pin_facts(struct pg *pg, const PGresult *r, struct error *err)
{
	int n = (int)pg->n_pins;
	const char *other =
		!pg_pin_is_same(&pg->user, pg_value(r, 0, n))	   ? "role"
		: !pg_pin_is_same(&pg->pid, pg_value(r, 0, n + 1)) ? "process"
		: !pg_pin_is_same(&pg->writes, pg_value(r, 0, n + 2))
			? "right to write"
		: !pg_pin_is_same(&pg->server, pg_value(r, 0, n + 3)) ? "server"
								      : NULL;

	if (!other)
		return 0;
	pg->lost = true;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the session's %s is not what it was", pg->where,
			 other);
}

static void pin_write_values(const struct pg *pg, struct strbuf *sql)
{
	for (size_t i = 0; i < pg->n_pins; i++)
		strbuf_addf(sql, "%s pg_catalog.set_config('%s', '%s', false)",
			    i ? "," : "SELECT", pg_pins[i].name,
			    pg_pins[i].kept);
	/* A session waits for the other end as long as that takes. */
	if (pg_server_version(pg) >= PG_PIN_IDLE)
		strbuf_addstr(sql, ", pg_catalog.set_config("
				   "'idle_session_timeout', '0', false)");
}

struct pg_questions *pg_pin_questions(struct pg *pg,
				      const struct pg_options *options)
{
	struct pg_questions *pins = pg_questions_new();
	struct strbuf sql = STRBUF_INIT;

	pg->n_pins = pg_pins_of(options);
	/* A pooler may hand out a session that nobody has reset. Statements
	 * that we have prepared before would have the names of ours. */
	if (!pg->pid)
		pg_questions_add(pins, "DEALLOCATE ALL", 0, NULL);
	pin_write_values(pg, &sql);
	pg_questions_add(pins, sql.data, 0, NULL);
	strbuf_reset(&sql);
	pg_pin_ask(pg, PG_PIN_FACTS, &sql);
	pg_questions_add(pins, sql.data, 0, NULL);
	if (options->settings)
		pg_questions_add(pins, options->settings, 0, NULL);
	strbuf_release(&sql);
	return pins;
}

int pg_pin_judge(struct pg *pg, const struct pg_questions *pins,
		 struct error *err)
{
	const PGresult *facts = pins->items[pg->pid ? 1 : 2].answer;
	int rc = pg_questions_failed(pins, err);

	if (!rc)
		rc = pg_pin_compare(pg, facts, err);
	return rc ? rc : pg_pin_facts(pg, facts, err);
}

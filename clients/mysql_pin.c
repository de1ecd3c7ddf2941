#include <stdlib.h>
#include <string.h>

#include "clients/mysql_session.h"
#include "core/base/alloc.h"

/* As long as InnoDB waits for a row. */
#define PIN_MOST_WAIT_S 50
/* Since these versions @@transaction_isolation has no older name. */
#define PIN_MARIADB_NAMES 110101
#define PIN_MYSQL_NAMES	  50720
/* MySQL has information_schema_stats_expiry. */
#define PIN_MYSQL_EXPIRY 80003

/* Since this version MariaDB has sql_if_exists. With it on, each DROP has IF
 * EXISTS. */
#define PIN_MARIADB_IF_EXISTS 100502

/* The settings, and what they have become. */
#define PIN_QUESTIONS 2

enum pin_when { PIN_ALWAYS, PIN_SOURCE, PIN_LOAD, PIN_OTHERS };

/* A setting of a session: its name, its value as SQL, and as the server shows
 * it. init_connect, character-set-client-handshake=OFF and proxies override the
 * settings that the handshake offers. So each is set afterwards. */
struct pin {
	enum pin_when when;
	const char *name, *sql;
	const char *kept; /* NULL: what it becomes is not asked */
};

/* The connection's charset comes before its collation, which it changes. */
static const struct pin pins[] = {
	{ PIN_ALWAYS, "character_set_client", "'utf8mb4'", "utf8mb4" },
	{ PIN_ALWAYS, "character_set_results", "'utf8mb4'", "utf8mb4" },
	{ PIN_ALWAYS, "character_set_connection", "'utf8mb4'", "utf8mb4" },
	{ PIN_ALWAYS, "collation_connection", "'utf8mb4_general_ci'",
	  "utf8mb4_general_ci" },
	{ PIN_ALWAYS, "time_zone", "'+00:00'", "+00:00" },
	{ PIN_OTHERS, "sql_mode", "'" MYSQL_CLIENT_SQL_MODE "'",
	  MYSQL_CLIENT_SQL_MODE },
	{ PIN_SOURCE, "sql_mode", "'" MYSQL_CLIENT_SQL_MODE "'",
	  MYSQL_CLIENT_SQL_MODE },
	{ PIN_LOAD, "sql_mode", "'" MYSQL_CLIENT_SQL_MODE_LOAD "'",
	  MYSQL_CLIENT_SQL_MODE_LOAD },
	{ PIN_ALWAYS, "autocommit", "1", "1" },
	/* A chained or released transaction would begin another one, or end the
	 * session. */
	{ PIN_ALWAYS, "completion_type", "0", "NO_CHAIN" },
	{ PIN_ALWAYS, "sql_select_limit", "18446744073709551615",
	  "18446744073709551615" },
	{ PIN_ALWAYS, "sql_big_selects", "1", "1" },
	{ PIN_ALWAYS, "sql_safe_updates", "0", "0" },
	/* Else IS NULL finds the row inserted last. */
	{ PIN_ALWAYS, "sql_auto_is_null", "0", "0" },
	{ PIN_ALWAYS, "foreign_key_checks", "1", "1" },
	{ PIN_ALWAYS, "unique_checks", "1", "1" },
	/* max_sort_length: keys that are sorted by a part of their bytes have
	 * no order to page by. No index holds longer keys. */
	{ PIN_ALWAYS, "max_sort_length", "4096", "4096" },
	{ PIN_ALWAYS, "div_precision_increment", "4", "4" },
	/* NOW() is the clock's. */
	{ PIN_ALWAYS, "timestamp", "DEFAULT", NULL },
	{ PIN_ALWAYS, "net_write_timeout", "600", NULL },
	{ PIN_ALWAYS, "net_read_timeout", "600", NULL },
	{ PIN_ALWAYS, "wait_timeout", "28800", NULL },
};

/* The settings of one session, among them those that depend on the server. */
struct pin_session {
	struct mysql_client *db;
	const struct mysql_client_options *options;
	struct strbuf set, ask; /* the second begins with CONNECTION_ID() */
	const char **names, **kept; /* for the asked settings */
	size_t n;
};

static void pin_add(struct pin_session *s, const char *name, const char *sql,
		    const char *kept)
{
	strbuf_addf(&s->set, "%s%s = %s", s->set.len ? ", " : "SET SESSION ",
		    name, sql);
	if (!kept)
		return;
	strbuf_addf(&s->ask, ", @@SESSION.%s", name);
	s->names[s->n] = name;
	s->kept[s->n++] = kept;
}

static bool pin_applies(enum pin_when when,
			const struct mysql_client_options *options)
{
	switch (when) {
	case PIN_ALWAYS:
		return true;
	case PIN_SOURCE:
		return options->read_only;
	case PIN_LOAD:
		return options->load;
	case PIN_OTHERS:
		break;
	}
	return !options->read_only && !options->load;
}

static bool pin_has_new_names(const struct mysql_client *db)
{
	return db->version >=
	       (db->mariadb ? PIN_MARIADB_NAMES : PIN_MYSQL_NAMES);
}

const char *mysql_client_isolation_name(const struct mysql_client *db)
{
	return pin_has_new_names(db) ? "transaction_isolation" : "tx_isolation";
}

static void pin_add_transactions(struct pin_session *s)
{
	const char *writes = s->options->read_only ? "1" : "0";

	pin_add(s, mysql_client_isolation_name(s->db), "'REPEATABLE-READ'",
		"REPEATABLE-READ");
	pin_add(s,
		pin_has_new_names(s->db) ? "transaction_read_only"
					 : "tx_read_only",
		writes, writes);
}

static void pin_fill(struct pin_session *s)
{
	/* A session that waits long for a lock on the table ends with an error
	 * that says so. Otherwise it would look like a connection that fell
	 * silent. */
	unsigned wait_s = s->db->target.silence_s / 2;
	char *wait = xstrfmt("%u", wait_s < 1		      ? 1
				   : wait_s > PIN_MOST_WAIT_S ? PIN_MOST_WAIT_S
							      : wait_s);

	s->names = xcalloc(ARRAY_SIZE(pins) + 6, sizeof(*s->names));
	s->kept = xcalloc(ARRAY_SIZE(pins) + 6, sizeof(*s->kept));
	for (size_t i = 0; i < ARRAY_SIZE(pins); i++)
		if (pin_applies(pins[i].when, s->options))
			pin_add(s, pins[i].name, pins[i].sql, pins[i].kept);
	pin_add_transactions(s);
	/* Rows of a table with versions are those of now. */
	if (s->db->mariadb)
		pin_add(s, "system_versioning_asof", "DEFAULT", "DEFAULT");
	if (s->db->mariadb && s->db->version >= PIN_MARIADB_IF_EXISTS)
		pin_add(s, "sql_if_exists", "0", "0");
	/* Otherwise AUTO_INCREMENT may come from a cache that is a day old. */
	if (!s->db->mariadb && s->options->read_only &&
	    s->db->version >= PIN_MYSQL_EXPIRY)
		pin_add(s, "information_schema_stats_expiry", "0", "0");
	pin_add(s, "lock_wait_timeout", wait, NULL);
	free(wait);
}

static int pin_compare(const struct pin_session *s,
		       const struct mysql_client_result *r, struct error *err)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *is = mysql_client_value(r, 0, i + 1);
		if (is && !strcmp(is, s->kept[i]))
			continue;
		return error_set(err, ERROR_ACCESS,
				 "%s: the session's %s is %s%s%s, although "
				 "this session has set it to %s; values would "
				 "be falsified. A proxy or a pooler between "
				 "changes sessions: connect to the server "
				 "itself, or let the proxy pass SET on",
				 s->db->target.where, s->names[i],
				 is ? "\"" : "", is ? is : "unknown",
				 is ? "\"" : "",
				 *s->kept[i] ? s->kept[i] : "\"\"");
	}
	return 0;
}

/* Facts behind the settings. A pooler may sign in as another user. By now
 * another server may be the one to write to. Whoever makes a server refuse
 * SUPER as well makes it read_only first. */
#define PIN_FACTS                                                              \
	", CURRENT_USER(), CONCAT_WS(' ', @@GLOBAL.read_only, "                \
	"@@GLOBAL.innodb_read_only)"

/* The same as when it was asked first? */
static bool pin_is_same(char **was, const char *is)
{
	if (!*was)
		*was = xstrdup(is);
	return is && !strcmp(is, *was);
}

static int pin_facts(struct mysql_client *db,
		     const struct mysql_client_result *r, size_t at,
		     struct error *err)
{
	const char *other =
		!pin_is_same(&db->user, mysql_client_value(r, 0, at)) ? "user"
		: !pin_is_same(&db->writes, mysql_client_value(r, 0, at + 1))
			? "right to write"
			: NULL;

	if (!other)
		return 0;
	db->lost = true;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the session's %s is not what it was",
			 db->target.where, other);
}

/* A question that the options foresee may fail. It is asked again when its turn
 * comes. */
static int pin_ask(struct pin_session *s, struct strlist *ahead,
		   struct mysql_client_question *q, size_t *answered,
		   struct error *err)
{
	struct mysql_client_watch watch;
	struct error why = ERROR_INIT;
	size_t n = 0;
	int rc;

	q[n++].sql = s->set.data;
	q[n++].sql = s->ask.data;
	for (size_t i = 0; i < ahead->n; i++)
		q[n++].sql = ahead->items[i];
	mysql_client_watch_begin(&watch, s->db);
	rc = mysql_client_ask(s->db, q, n, answered, &why);
	rc = mysql_client_watch_end(&watch, rc, &why);
	if (rc && *answered >= PIN_QUESTIONS && !s->db->lost &&
	    rc != -ERROR_STOPPED)
		return 0;
	if (rc)
		*err = why;
	return rc;
}

static int pin_check(const struct pin_session *s,
		     const struct mysql_client_result *r, struct error *err)
{
	int rc = pin_compare(s, r, err);

	if (!rc)
		rc = pin_facts(s->db, r, s->n + 1, err);
	if (rc || mysql_client_value(r, 0, 0))
		return rc;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the server does not tell its session's number",
			 s->db->target.where);
}

int mysql_client_pin(struct mysql_client *db,
		     const struct mysql_client_options *options,
		     struct error *err)
{
	struct pin_session s = { .db = db,
				 .options = options,
				 .set = STRBUF_INIT,
				 .ask = STRBUF_INIT };
	struct strlist ahead = STRLIST_INIT;
	struct mysql_client_question *q;
	size_t answered = 0, n;
	int rc;

	strbuf_addstr(&s.ask, "SELECT CONNECTION_ID()");
	pin_fill(&s);
	strbuf_addstr(&s.ask, PIN_FACTS);
	if (options->foresee)
		options->foresee(db, &ahead, options->foresee_ctx);
	n = PIN_QUESTIONS + ahead.n;
	q = xcalloc(n, sizeof(*q));
	db->charset = 0;
	rc = pin_ask(&s, &ahead, q, &answered, err);
	if (!rc)
		rc = pin_check(&s, q[1].answer, err);
	if (!rc)
		db->session = xstrdup(mysql_client_value(q[1].answer, 0, 0));
	if (!rc)
		mysql_client_keep_ahead(db, &ahead, q + PIN_QUESTIONS,
					answered - PIN_QUESTIONS);
	db->pinned = !rc;
	mysql_client_answers_free(q, n);
	strlist_release(&ahead);
	strbuf_release(&s.set);
	strbuf_release(&s.ask);
	free(s.names);
	free(s.kept);
	free(q);
	return rc;
}

int mysql_client_check_session(struct mysql_client *db, const char *id,
			       struct error *err)
{
	if (id && !strcmp(id, db->session))
		return 0;
	db->lost = true;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: session %s of the server became session %s, "
			 "whose settings are others. A proxy or a pooler gives "
			 "statements to other sessions: connect to the server "
			 "itself",
			 db->target.where, db->session, id ? id : "unknown");
}

#include "clients/pg.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clients/pg_sqlstate.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/base/strbuf.h"

/* After a stop, what is under way may end by itself for so long ... */
#define PG_STOP_PATIENCE_US (3 * US_PER_SECOND)
/* ... and after a cancel, the server has so long to say that it is over. */
#define PG_CANCEL_PATIENCE_US (5 * US_PER_SECOND)
/* COPY data handed to libpq between two waits for the socket. */
#define PG_COPY_WINDOW	  ((size_t)64 << 10)
#define PG_MAX_PARAMETERS 24

struct pg {
	PGconn *conn;
	char *where; /* "connection shop (postgresql://...)" */
	PGresult *row; /* of the stream */
	bool streaming;
	bool lost; /* given up: fit only for pg_close */
	int64_t silence_us;
	int64_t give_up_us; /* monotonic; 0: not interrupted */
	size_t unflushed;
	int wake_fd;
	atomic_bool interrupted;
	pthread_mutex_t cancel_lock;
	PGcancel *cancel;
};

struct pg_result {
	PGresult *result;
};

struct pg_parameters {
	const char *keywords[PG_MAX_PARAMETERS];
	const char *values[PG_MAX_PARAMETERS];
	size_t n;
};

/* Of the user's URL, what decides how we connect. */
struct pg_target {
	char *hosts;
	bool has_sslmode;
	bool has_root_cert;
};

/* One line: libpq's texts end in a newline and may hold several. */
static void pg_trim(char *text)
{
	size_t n = strlen(text);

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	for (char *p = text; *p; p++) {
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	}
}

static bool pg_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static int pg_target_read(struct pg_target *out, const char *url,
			  const char *where, struct error *err)
{
	char *text = NULL;
	PQconninfoOption *options = PQconninfoParse(url, &text);
	const char *host = NULL, *address = NULL;

	if (!options) {
		if (text)
			pg_trim(text);
		error_set(err, ERROR_CONFIG, "%s: %s", where,
			  text ? text : "not a PostgreSQL URL");
		PQfreemem(text);
		return -ERROR_CONFIG;
	}
	for (PQconninfoOption *o = options; o->keyword; o++) {
		if (!o->val || !*o->val)
			continue;
		if (!strcmp(o->keyword, "host"))
			host = o->val;
		else if (!strcmp(o->keyword, "hostaddr"))
			address = o->val;
		else if (!strcmp(o->keyword, "sslmode"))
			out->has_sslmode = true;
		else if (!strcmp(o->keyword, "sslrootcert"))
			out->has_root_cert = true;
	}
	if (!host && !address)
		host = getenv("PGHOST");
	out->hosts = xstrdup(address ? address : host ? host : "");
	PQconninfoFree(options);
	out->has_sslmode |= pg_environment("PGSSLMODE");
	out->has_root_cert |= pg_environment("PGSSLROOTCERT");
	return 0;
}

static bool pg_is_local(const char *host, size_t n)
{
	return n == 0 || host[0] == '/' || host[0] == '@' ||
	       (n == 9 && !strncmp(host, "localhost", n)) ||
	       (n > 4 && !strncmp(host, "127.", 4)) ||
	       (n == 3 && !strncmp(host, "::1", n));
}

/* Loopback and sockets only: hosts may be a list. */
static bool pg_all_local(const char *hosts)
{
	for (;;) {
		size_t n = strcspn(hosts, ",");
		if (!pg_is_local(hosts, n))
			return false;
		if (!hosts[n])
			return true;
		hosts += n + 1;
	}
}

static void pg_set(struct pg_parameters *p, const char *keyword,
		   const char *value)
{
	if (!value)
		return;
	p->keywords[p->n] = keyword;
	p->values[p->n++] = value;
}

/* libpq looks into ~/.postgresql/root.crt by itself; where there is none, the
 * distribution's authorities are meant. sslrootcert=system is libpq 16's. */
static const char *pg_default_authorities(void)
{
	static const char *const bundles[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem",
	};
	const char *home = getenv("HOME");
	char *own = xstrfmt("%s/.postgresql/root.crt", home ? home : "");
	bool has_own = access(own, R_OK) == 0;

	free(own);
	if (has_own)
		return NULL;
	if (PQlibVersion() >= 160000)
		return "system";
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
		if (access(bundles[i], R_OK) == 0)
			return bundles[i];
	}
	return NULL;
}

static void pg_set_tls(struct pg_parameters *p, const struct connection *conn,
		       const struct pg_target *target)
{
	static const char *const modes[] = {
		[TLS_DISABLED] = "disable",
		[TLS_REQUIRED] = "require",
		[TLS_VERIFY_CA] = "verify-ca",
		[TLS_VERIFY_FULL] = "verify-full",
	};
	bool automatic = conn->tls_mode == TLS_AUTO && !target->has_sslmode;
	bool local = pg_all_local(target->hosts);
	bool verify = conn->tls_mode >= TLS_VERIFY_CA || (automatic && !local);

	if (automatic)
		pg_set(p, "sslmode", local ? "prefer" : "verify-full");
	else if (conn->tls_mode != TLS_AUTO)
		pg_set(p, "sslmode", modes[conn->tls_mode]);
	if (conn->tls_ca)
		pg_set(p, "sslrootcert", conn->tls_ca);
	else if (verify && !target->has_root_cert)
		pg_set(p, "sslrootcert", pg_default_authorities());
	pg_set(p, "sslcert", conn->tls_cert);
	pg_set(p, "sslkey", conn->tls_key);
}

/* Keywords before "dbname" yield to the URL, those behind it win. */
static PGconn *pg_connect_start(const struct connection *conn,
				const struct pg_target *target,
				const char *application)
{
	struct pg_parameters p = { .n = 0 };
	char *silence =
		xstrfmt("%lld", (long long)(conn->silence_timeout_us / 1000));
	PGconn *started;

	pg_set(&p, "keepalives_idle", "30");
	pg_set(&p, "keepalives_interval", "10");
	pg_set(&p, "keepalives_count", "3");
	pg_set(&p, "tcp_user_timeout", silence);
	pg_set(&p, "dbname", conn->url.text);
	pg_set(&p, "password", conn->password);
	pg_set_tls(&p, conn, target);
	pg_set(&p, "application_name", application);
	pg_set(&p, "client_encoding", "UTF8");
	p.keywords[p.n] = p.values[p.n] = NULL;
	started = PQconnectStartParams(p.keywords, p.values, 1);
	free(silence);
	return started;
}

static int pg_connect_error(struct pg *pg, struct error *err)
{
	char *text = xstrdup(PQerrorMessage(pg->conn));
	char state[6];
	bool known = pg_take_sqlstate(text, state);
	enum error_code code =
		known ? pg_sqlstate_code(state) : pg_connect_code(text);

	pg_trim(text);
	if (err && !err->code)
		memcpy(err->server_code, state, sizeof(state));
	error_set(err, code, "%s: %s", pg->where, text);
	if (known && *pg_sqlstate_hint(state))
		error_hint(err, "%s", pg_sqlstate_hint(state));
	free(text);
	return -(int)code;
}

/* Wait for the socket of a connection attempt; 0 when it is ready. */
static int pg_connect_wait(struct pg *pg, short events, int64_t deadline_us,
			   struct error *err)
{
	int64_t left_us = deadline_us - clock_monotonic_us();
	struct pollfd fds[] = {
		{ .fd = PQsocket(pg->conn), .events = events },
		{ .fd = stop_fd(), .events = POLLIN },
	};
	int ready = 0;

	if (stop_requested())
		return error_set(err, ERROR_STOPPED,
				 "stopped while connecting");
	if (left_us > 0)
		ready = poll(fds, 2, (int)(left_us / 1000) + 1);
	if (ready > 0 || (ready < 0 && errno == EINTR))
		return 0;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: no answer to the connection attempt in time "
			 "(timeout.connect)",
			 pg->where);
}

static int pg_connect(struct pg *pg, const struct connection *conn,
		      struct error *err)
{
	int64_t deadline = clock_monotonic_us() + conn->connect_timeout_us;
	PostgresPollingStatusType step = PGRES_POLLING_WRITING;

	if (PQstatus(pg->conn) == CONNECTION_BAD)
		return pg_connect_error(pg, err);
	/* The only way to the SQLSTATE of a refused connection. */
	PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE);
	while (step != PGRES_POLLING_OK) {
		bool reading = step == PGRES_POLLING_READING;
		int rc = pg_connect_wait(pg, reading ? POLLIN : POLLOUT,
					 deadline, err);
		if (rc)
			return rc;
		step = PQconnectPoll(pg->conn);
		if (step == PGRES_POLLING_FAILED)
			return pg_connect_error(pg, err);
	}
	PQsetErrorVerbosity(pg->conn, PQERRORS_DEFAULT);
	return 0;
}

static void pg_notice(void *ctx, const char *text)
{
	char *line = xstrdup(text);

	(void)ctx;
	pg_trim(line);
	log_debug("%s", line);
	free(line);
}

/* Pinned so that text forms are the same everywhere and names mean what they
 * say; in one round trip. */
static int pg_pin(struct pg *pg, const struct pg_options *options,
		  struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc = 0;

	if (options->pin)
		strbuf_addstr(&sql, "SET search_path = pg_catalog;"
				    "SET DateStyle = ISO, YMD;"
				    "SET IntervalStyle = postgres;"
				    "SET TimeZone = UTC;"
				    "SET extra_float_digits = 3;"
				    "SET bytea_output = hex;"
				    "SET lc_monetary = 'C';"
				    "SET standard_conforming_strings = on;"
				    "SET client_encoding = UTF8;");
	if (options->read_only)
		strbuf_addstr(&sql, "SET default_transaction_read_only = on;");
	if (sql.len)
		rc = pg_exec(pg, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

int pg_open(struct pg **out, const struct connection *conn,
	    const struct pg_options *options, struct error *err)
{
	struct pg_target target = { NULL, false, false };
	struct pg *pg = xcalloc(1, sizeof(*pg));
	char *application = xstrfmt("tidemark/%s", options->application);
	int rc;

	pg->where = xstrfmt("connection %s (%s)", conn->name, conn->url.shown);
	pg->silence_us = conn->silence_timeout_us;
	pg->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&pg->cancel_lock, NULL);
	rc = pg_target_read(&target, conn->url.text, pg->where, err);
	if (rc)
		goto out;
	pg->conn = pg_connect_start(conn, &target, application);
	rc = pg_connect(pg, conn, err);
	if (rc)
		goto out;
	PQsetnonblocking(pg->conn, 1);
	PQsetNoticeProcessor(pg->conn, pg_notice, NULL);
	pg->cancel = PQgetCancel(pg->conn);
	rc = pg_pin(pg, options, err);
out:
	free(target.hosts);
	free(application);
	if (rc)
		pg_close(pg);
	else
		*out = pg;
	return rc;
}

void pg_close(struct pg *pg)
{
	if (!pg)
		return;
	PQclear(pg->row);
	pthread_mutex_lock(&pg->cancel_lock);
	PQfreeCancel(pg->cancel);
	pthread_mutex_unlock(&pg->cancel_lock);
	PQfinish(pg->conn);
	if (pg->wake_fd >= 0)
		close(pg->wake_fd);
	pthread_mutex_destroy(&pg->cancel_lock);
	free(pg->where);
	free(pg);
}

/* PQcancel opens a connection of its own and blocks until it is answered: not
 * in a thread that somebody waits for. */
static void *pg_cancel_main(void *arg)
{
	PGcancel *cancel = arg;
	char text[256];

	PQcancel(cancel, text, sizeof(text));
	PQfreeCancel(cancel);
	return NULL;
}

void pg_interrupt(struct pg *pg)
{
	const uint64_t one = 1;
	pthread_t thread;
	PGcancel *cancel;

	pthread_mutex_lock(&pg->cancel_lock);
	atomic_store(&pg->interrupted, true);
	cancel = pg->cancel;
	pg->cancel = NULL;
	pthread_mutex_unlock(&pg->cancel_lock);
	if (cancel && pthread_create(&thread, NULL, pg_cancel_main, cancel))
		PQfreeCancel(cancel);
	else if (cancel)
		pthread_detach(thread);
	if (write(pg->wake_fd, &one, sizeof(one)) < 0)
		return; /* full: it is readable already */
}

int pg_server_version(const struct pg *pg)
{
	return PQserverVersion(pg->conn);
}

int pg_backend_pid(const struct pg *pg)
{
	return PQbackendPID(pg->conn);
}

bool pg_alive(const struct pg *pg)
{
	return !pg->lost && PQstatus(pg->conn) == CONNECTION_OK;
}

static int pg_stopped(struct pg *pg, struct error *err)
{
	return error_set(err, ERROR_STOPPED, "%s: interrupted", pg->where);
}

static int pg_lost(struct pg *pg, struct error *err)
{
	char *text = xstrdup(PQerrorMessage(pg->conn));

	pg->lost = true;
	pg_trim(text);
	if (atomic_load(&pg->interrupted))
		pg_stopped(pg, err);
	else
		error_set(err, ERROR_TRANSIENT, "%s: connection lost: %s",
			  pg->where, text);
	free(text);
	return -(int)err->code;
}

/* One wait for the server: since when, and since when with a stop pending. */
struct pg_waiting {
	int64_t since_us;
	int64_t stop_us;
};

static int64_t pg_nearer(int64_t a_us, int64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

/* How long the next poll may last, µs; what ends the wait is the nearest of
 * silence, the patience after a stop and that after a cancel. */
static int64_t pg_patience(struct pg *pg, struct pg_waiting *w)
{
	int64_t now = clock_monotonic_us();
	int64_t left = w->since_us + pg->silence_us - now;

	if (stop_requested() && !w->stop_us)
		w->stop_us = now;
	if (w->stop_us && now - w->stop_us >= PG_STOP_PATIENCE_US &&
	    !atomic_load(&pg->interrupted))
		pg_interrupt(pg);
	if (atomic_load(&pg->interrupted) && !pg->give_up_us)
		pg->give_up_us = now + PG_CANCEL_PATIENCE_US;
	if (pg->give_up_us)
		return pg_nearer(left, pg->give_up_us - now);
	if (w->stop_us)
		return pg_nearer(left, w->stop_us + PG_STOP_PATIENCE_US - now);
	return left;
}

/* A stop alone ends nothing: the cancel that follows it does. */
static bool pg_is_over(const struct pg *pg, const struct pg_waiting *w)
{
	int64_t now = clock_monotonic_us();

	return now - w->since_us >= pg->silence_us ||
	       (pg->give_up_us && now >= pg->give_up_us);
}

static int pg_silent(struct pg *pg, struct error *err)
{
	pg->lost = true;
	if (pg->give_up_us)
		return pg_stopped(pg, err);
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the server said nothing for %lld s "
			 "(timeout.silence)",
			 pg->where,
			 (long long)(pg->silence_us / US_PER_SECOND));
}

/* Until the socket can be read, or written if `events` asks for it. */
static int pg_wait(struct pg *pg, short events, struct error *err)
{
	struct pg_waiting w = { clock_monotonic_us(), 0 };

	for (;;) {
		int64_t left_us = pg_patience(pg, &w);
		int64_t ms = pg_nearer(left_us / 1000 + 1, INT32_MAX);
		struct pollfd fds[] = {
			{ .fd = PQsocket(pg->conn), .events = events },
			{ .fd = pg->give_up_us ? -1 : pg->wake_fd,
			  .events = POLLIN },
			{ .fd = w.stop_us ? -1 : stop_fd(), .events = POLLIN },
		};

		/* What has arrived is looked at before patience ends. */
		if (poll(fds, 3, ms > 0 ? (int)ms : 0) < 0 && errno != EINTR)
			return error_set(err, ERROR_BUG, "poll: %s",
					 strerror(errno));
		if (fds[0].revents)
			return 0;
		if (left_us <= 0 && pg_is_over(pg, &w))
			return pg_silent(pg, err);
	}
}

/* Everything handed to libpq is on its way. */
static int pg_flush(struct pg *pg, struct error *err)
{
	int rc;

	pg->unflushed = 0;
	while ((rc = PQflush(pg->conn)) > 0) {
		rc = pg_wait(pg, POLLIN | POLLOUT, err);
		if (rc)
			return rc;
		/* A server that reports an error stops reading: take it in, or
		 * both sides wait for ever. */
		if (!PQconsumeInput(pg->conn))
			return pg_lost(pg, err);
	}
	return rc < 0 ? pg_lost(pg, err) : 0;
}

/* The next result, NULL at the end of the command. */
static int pg_take(struct pg *pg, PGresult **out, struct error *err)
{
	while (PQisBusy(pg->conn)) {
		int rc = pg_wait(pg, POLLIN, err);
		if (rc)
			return rc;
		if (!PQconsumeInput(pg->conn))
			return pg_lost(pg, err);
	}
	*out = PQgetResult(pg->conn);
	return 0;
}

static void pg_describe_error(struct strbuf *sb, const PGresult *result)
{
	static const struct {
		int field;
		const char *before;
	} parts[] = {
		{ PG_DIAG_MESSAGE_PRIMARY, "" },
		{ PG_DIAG_MESSAGE_DETAIL, "; detail: " },
		{ PG_DIAG_MESSAGE_HINT, "; hint: " },
		{ PG_DIAG_CONTEXT, "; context: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *text = PQresultErrorField(result, parts[i].field);
		if (text)
			strbuf_addf(sb, "%s%s", parts[i].before, text);
	}
	if (!sb->len)
		strbuf_addstr(sb, PQresultErrorMessage(result));
}

static int pg_result_error(struct pg *pg, const PGresult *result,
			   struct error *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	struct strbuf text = STRBUF_INIT;
	enum error_code code;

	if (!state) {
		if (PQstatus(pg->conn) != CONNECTION_OK)
			return pg_lost(pg, err);
		return error_set(err, ERROR_BUG, "%s: %s", pg->where,
				 PQresultErrorMessage(result));
	}
	if (atomic_load(&pg->interrupted) && !strcmp(state, "57014"))
		return pg_stopped(pg, err);
	code = pg_sqlstate_code(state);
	pg_describe_error(&text, result);
	pg_trim(text.data);
	if (err && !err->code)
		snprintf(err->server_code, sizeof(err->server_code), "%s",
			 state);
	error_set(err, code, "%s: %s", pg->where, text.data);
	if (*pg_sqlstate_hint(state))
		error_hint(err, "%s", pg_sqlstate_hint(state));
	strbuf_release(&text);
	return -(int)code;
}

static bool pg_failed(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE ||
	       status == PGRES_NONFATAL_ERROR;
}

/* Read a command to its end: the first error counts, the last result is
 * handed out. `out` may be NULL. */
static int pg_finish(struct pg *pg, PGresult **out, struct error *err)
{
	PGresult *last = NULL, *next;
	int rc = 0;

	for (;;) {
		int failed = pg_take(pg, &next, err);
		if (failed || !next) {
			rc = rc ? rc : failed;
			break;
		}
		if (pg_failed(next) && !rc)
			rc = pg_result_error(pg, next, err);
		if (PQresultStatus(next) == PGRES_COPY_IN)
			PQputCopyEnd(pg->conn, "unexpected COPY");
		PQclear(last);
		last = next;
	}
	if (rc || !out)
		PQclear(last);
	else
		*out = last;
	return rc;
}

/* May a command begin? */
static int pg_ready(struct pg *pg, struct error *err)
{
	if (atomic_load(&pg->interrupted))
		return pg_stopped(pg, err);
	if (!pg_alive(pg))
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the connection was lost", pg->where);
	if (pg->streaming)
		return error_set(err, ERROR_BUG,
				 "%s: a statement inside a stream", pg->where);
	return 0;
}

/* `sent`: what PQsend... returned. */
static int pg_sent(struct pg *pg, int sent, struct error *err)
{
	return sent ? pg_flush(pg, err) : pg_lost(pg, err);
}

static int pg_send(struct pg *pg, const char *sql, int n,
		   const char *const *params, int format, struct error *err)
{
	int rc = pg_ready(pg, err);

	if (rc)
		return rc;
	return pg_sent(pg,
		       PQsendQueryParams(pg->conn, sql, n, NULL, params, NULL,
					 NULL, format),
		       err);
}

int pg_exec(struct pg *pg, const char *sql, struct error *err)
{
	int rc = pg_ready(pg, err);

	if (!rc)
		rc = pg_sent(pg, PQsendQuery(pg->conn, sql), err);
	return rc ? rc : pg_finish(pg, NULL, err);
}

int pg_execf(struct pg *pg, struct error *err, const char *fmt, ...)
{
	struct strbuf sql = STRBUF_INIT;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	strbuf_vaddf(&sql, fmt, ap);
	va_end(ap);
	rc = pg_exec(pg, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

int pg_exec_count(struct pg *pg, const char *sql, int n,
		  const char *const *params, int64_t *rows, struct error *err)
{
	PGresult *result = NULL;
	int rc = pg_send(pg, sql, n, params, 0, err);

	if (!rc)
		rc = pg_finish(pg, &result, err);
	if (!rc && rows)
		*rows = strtoll(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	return rc;
}

int pg_query(struct pg *pg, struct pg_result **out, const char *sql, int n,
	     const char *const *params, struct error *err)
{
	PGresult *result = NULL;
	int rc = pg_send(pg, sql, n, params, 0, err);

	if (!rc)
		rc = pg_finish(pg, &result, err);
	if (rc)
		return rc;
	*out = xmalloc(sizeof(**out));
	(*out)->result = result;
	return 0;
}

void pg_result_free(struct pg_result *r)
{
	if (!r)
		return;
	PQclear(r->result);
	free(r);
}

int pg_rows(const struct pg_result *r)
{
	return PQntuples(r->result);
}

int pg_columns(const struct pg_result *r)
{
	return PQnfields(r->result);
}

const char *pg_name(const struct pg_result *r, int column)
{
	return PQfname(r->result, column);
}

const char *pg_value(const struct pg_result *r, int row, int column)
{
	if (PQgetisnull(r->result, row, column))
		return NULL;
	return PQgetvalue(r->result, row, column);
}

int pg_describe(struct pg *pg, const char *sql, struct pg_field **out,
		size_t *n, struct error *err)
{
	PGresult *result = NULL;
	int rc = pg_ready(pg, err);

	if (!rc)
		rc = pg_sent(pg, PQsendPrepare(pg->conn, "", sql, 0, NULL),
			     err);
	if (!rc)
		rc = pg_finish(pg, NULL, err);
	if (!rc)
		rc = pg_sent(pg, PQsendDescribePrepared(pg->conn, ""), err);
	if (!rc)
		rc = pg_finish(pg, &result, err);
	if (!rc && PQnparams(result) > 0)
		rc = error_set(err, ERROR_CONFIG,
			       "%s: parameters ($1) have no place here",
			       pg->where);
	if (rc) {
		PQclear(result);
		return rc;
	}
	*n = (size_t)PQnfields(result);
	*out = xcalloc(*n ? *n : 1, sizeof(**out));
	for (size_t i = 0; i < *n; i++) {
		struct pg_field *field = &(*out)[i];
		field->name = xstrdup(PQfname(result, (int)i));
		field->oid = PQftype(result, (int)i);
		field->modifier = PQfmod(result, (int)i);
		field->table_oid = PQftable(result, (int)i);
		field->attribute = (int16_t)PQftablecol(result, (int)i);
	}
	PQclear(result);
	return 0;
}

void pg_fields_free(struct pg_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(fields[i].name);
	free(fields);
}

int pg_stream_begin(struct pg *pg, const char *sql, int n,
		    const char *const *params, struct error *err)
{
	int rc = pg_send(pg, sql, n, params, 1, err);

	if (rc)
		return rc;
	pg->streaming = true;
	PQsetSingleRowMode(pg->conn);
	return 0;
}

int pg_stream_next(struct pg *pg, struct error *err)
{
	int rc;

	if (!pg->streaming)
		return 0;
	PQclear(pg->row);
	pg->row = NULL;
	/* Rows that libpq holds already would never reach the wait. */
	if (atomic_load(&pg->interrupted)) {
		pg_stream_abort(pg);
		return pg_stopped(pg, err);
	}
	rc = pg_take(pg, &pg->row, err);
	if (!rc && PQresultStatus(pg->row) == PGRES_SINGLE_TUPLE)
		return 1;
	if (!rc && pg_failed(pg->row))
		rc = pg_result_error(pg, pg->row, err);
	pg_stream_abort(pg);
	return rc;
}

const uint8_t *pg_stream_value(const struct pg *pg, int column, size_t *n)
{
	if (PQgetisnull(pg->row, 0, column))
		return NULL;
	*n = (size_t)PQgetlength(pg->row, 0, column);
	return (const uint8_t *)PQgetvalue(pg->row, 0, column);
}

/* Cancelling is worth a connection only if rows are still to come. */
static void pg_stream_cancel(struct pg *pg)
{
	char text[256];

	if (!PQisBusy(pg->conn))
		return;
	pthread_mutex_lock(&pg->cancel_lock);
	if (pg->cancel)
		PQcancel(pg->cancel, text, sizeof(text));
	pthread_mutex_unlock(&pg->cancel_lock);
}

void pg_stream_abort(struct pg *pg)
{
	struct error ignored = ERROR_INIT;

	if (!pg->streaming)
		return;
	pg->streaming = false;
	/* At the end of a stream only the closing NULL is left to take. */
	if (pg->row && PQresultStatus(pg->row) == PGRES_SINGLE_TUPLE)
		pg_stream_cancel(pg);
	PQclear(pg->row);
	pg->row = NULL;
	if (!pg->lost)
		pg_finish(pg, NULL, &ignored);
}

int pg_copy_begin(struct pg *pg, const char *sql, struct error *err)
{
	PGresult *result = NULL;
	int rc = pg_ready(pg, err);

	if (!rc)
		rc = pg_sent(pg, PQsendQuery(pg->conn, sql), err);
	if (!rc)
		rc = pg_take(pg, &result, err);
	if (!rc && PQresultStatus(result) != PGRES_COPY_IN) {
		rc = pg_failed(result) ? pg_result_error(pg, result, err)
				       : error_set(err, ERROR_BUG,
						   "%s: not a COPY", pg->where);
		PQclear(result);
		result = NULL;
		pg_finish(pg, NULL, err);
	}
	PQclear(result);
	return rc;
}

int pg_copy_data(struct pg *pg, const void *data, size_t n, struct error *err)
{
	const char *at = data;

	/* A non-blocking libpq takes what it is given into memory: the waits
	 * are ours, one a window. */
	while (n) {
		size_t room = PG_COPY_WINDOW - pg->unflushed;
		size_t piece = n < room ? n : room;
		if (PQputCopyData(pg->conn, at, (int)piece) != 1)
			return pg_lost(pg, err);
		pg->unflushed += piece;
		at += piece;
		n -= piece;
		if (pg->unflushed >= PG_COPY_WINDOW) {
			int rc = pg_flush(pg, err);
			if (rc)
				return rc;
		}
	}
	return atomic_load(&pg->interrupted) ? pg_stopped(pg, err) : 0;
}

int pg_copy_end(struct pg *pg, const char *failure, int64_t *rows,
		struct error *err)
{
	PGresult *result = NULL;
	int rc;

	if (PQputCopyEnd(pg->conn, failure) != 1)
		return pg_lost(pg, err);
	rc = pg_flush(pg, err);
	if (!rc)
		rc = pg_finish(pg, &result, err);
	if (!rc && rows)
		*rows = strtoll(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	return rc;
}

/*
 * The config file, parsed and validated: every key of docs/config.md. The
 * option tables in options*.c also give `tidemark schema`, the reference page
 * and the error texts.
 */
#ifndef TIDEMARK_CORE_SETTINGS_SETTINGS_H
#define TIDEMARK_CORE_SETTINGS_SETTINGS_H

#include <jansson.h>

#include "core/base/config.h"
#include "core/base/listen.h"
#include "core/base/retry.h"
#include "core/base/schedule.h"
#include "core/base/strlist.h"
#include "core/plugin/connector.h"
#include "core/plugin/destination.h"

/* Conditions that rows have to meet; core/sync/gate/gate.h says how. */
enum gate_kind { GATE_NOT_NULL, GATE_MIN, GATE_MAX, GATE_MATCH, GATE_UNIQUE };

struct gate_limit {
	enum gate_kind kind; /* MIN, MAX, MATCH */
	char *column;
	char *text; /* the bound or pattern as written */
};

struct gate_settings {
	struct strlist not_null, unique;
	struct gate_limit *limits;
	size_t n_limits;
	int64_t min_rows, max_rows; /* 0: off */
};

struct row_limit {
	int64_t rows; /* so many, or */
	int64_t share; /* parts per million of all; -1: rows are meant */
};
/* "100" or "0.1%": false on anything else. */
bool row_limit_parse(struct row_limit *out, const char *text);
/* So many of so many rows are allowed. */
int64_t row_limit_allowed(const struct row_limit *limit, int64_t rows);

/* Rows that the destination refuses. */
struct bad_row_settings {
	bool keep; /* as dead letters; false: halt */
	struct row_limit limit; /* a run's */
};

/* SQL of the user's at the destination, around a load. */
struct hook_settings {
	struct strlist before, after; /* a statement each */
	int64_t timeout_us; /* for one statement */
};

/* When a pipeline counts as late: so long without a success. */
struct alert_settings {
	int64_t late_us; /* 0: so many schedules */
	int64_t late_schedules;
};

/* So long without a success is late, in µs; 0: never. `interval_us` is the
 * time between two runs of its schedule, 0: none, or not known. */
int64_t alert_late_us(const struct alert_settings *alert, int64_t interval_us);

/* How gently to read; 0, "" and none are off. */
struct pace_limits {
	int64_t rows_per_second, bytes_per_second;
	int64_t replica_lag_us, max_active;
	char *pause_file;
};

struct pace_settings {
	struct pace_limits limits; /* may change while a run goes on */
	const struct connection **replicas; /* each owned by settings */
	size_t n_replicas;
	const struct connection *probe; /* the same, or NULL: none */
	char *probe_query;
	int64_t probe_below; /* go on while the answer is */
};

struct ends;
struct wildcard;

struct pipeline_settings {
	char *name;
	/* For `copy`: the arguments that stand for the name on a command line.
	 * NULL: the name itself does. */
	char *call;
	char *word; /* the name, as a shell takes it */
	int line; /* in the config, 0 for `copy` */
	/* Path of the config, "copy", or NULL: not known. Owned by settings. */
	const char *origin;
	const struct connection *source; /* owned by settings */
	const struct connection *destination; /* owned by settings */
	/* With a query the first is a name for messages. */
	char *source_table, *destination_table;
	char *query; /* the source's, in place of a table; or NULL */
	struct strlist columns;
	struct source_expression *expressions;
	size_t n_expressions;
	char *where;
	char *pre_check; /* SQL at the source; NULL: a run begins at once */
	struct strlist exclude;
	/* Where the file says so; NULL: it does not. */
	char *exclude_at, *casing_at;
	struct source_rename *renames;
	size_t n_renames;
	struct strlist key;
	enum zero_dates zero_dates;
	enum casing casing;
	enum strategy strategy;
	char *mark_column;
	int64_t lag_us, lag_count;
	char *time_zone;
	bool settle;
	bool exclude_loose; /* tables without those columns are passed over */
	enum tail_policy tail;
	enum nulls_policy nulls;
	enum load_mode mode;
	bool in_place; /* source and destination are the same table */
	struct drift_policy drift;
	int64_t batch_rows, batch_bytes, batch_target_us;
	int64_t streams; /* they load a new table; 0: auto */
	struct gate_settings gate;
	struct bad_row_settings bad_rows;
	bool verify; /* each run: what it has loaded */
	struct pace_settings pace;
	struct retry_policy retry;
	struct breaker_policy breaker;
	struct schedule schedule; /* `serve` keeps to it */
	struct alert_settings alert;
	int64_t logic_version;
	struct hook_settings hooks;
	char *loaded_at; /* a column of the target's own; NULL or "": none */
	char *soft_delete; /* NULL or "": rows are deleted */
	char *tenant;
	/* Pipelines of the config whose target may be the same table, for all
	 * that their URLs and names tell. */
	const struct pipeline_settings **rivals;
	size_t n_rivals;
	/* The wildcard that has caught its table, or NULL. Owned by settings.
	 */
	const struct wildcard *wildcard;
	bool known; /* and it was known under this name before */
	/* The reason why it cannot run, whatever the rest says; or NULL. Its
	 * ends are there in any case. */
	struct error *fault;
	/* Open already, for the first run; NULL: none. Owned by the caller. */
	struct ends *ends;
};

/* The HTTP server of `serve`. */
struct serve_settings {
	char *listen; /* as it is written */
	struct listen_address address; /* the same */
	char *token; /* "": none. Given wherever others can reach it. */
	struct strlist hosts; /* names that it answers to */
	int64_t watchdog_us; /* so long may its loop stand still */
};

/* Changes that somebody is told of. */
enum notify_event {
	NOTIFY_FAILED,
	NOTIFY_RECOVERED,
	NOTIFY_LATE,
	NOTIFY_LETTERS,
	NOTIFY_DIFFERENCES,
	NOTIFY_EVENTS,
};
/* "failed", "recovered", "late", "dead_letters", "differences". */
const char *notify_event_name(enum notify_event event);

/* Somebody to be told: a webhook, or a command. */
struct notify_settings {
	char *webhook; /* a URL; NULL: a command */
	char *secret; /* the webhook's; NULL or "": none */
	char *ca; /* the webhook's authorities, a file; NULL: the system's */
	struct strlist command; /* an absolute path, and arguments */
	struct strlist on; /* as written; none: all events */
	bool wants[NOTIFY_EVENTS];
	int64_t timeout_us;
};

/* So many at most. */
#define SETTINGS_NOTIFY_MOST 16

struct settings {
	char *file; /* "" for `copy` */
	char *origin; /* the same as an absolute path, or "copy" */
	struct connection *state;
	int64_t state_lease_us, state_keep_us;
	int64_t state_letters_us; /* 0: dead letters are kept for ever */
	bool row_values; /* errors may tell contents of rows */
	size_t jobs; /* pipelines at once */
	struct alert_settings alert; /* unless a pipeline says so */
	struct serve_settings serve; /* zeroed for `copy` */
	struct notify_settings *notify; /* `serve` tells them */
	size_t n_notify;
	struct connection **connections;
	size_t n_connections;
	/* Wildcards have theirs among them after settings_expand(). */
	struct pipeline_settings *pipelines;
	size_t n_pipelines;
	struct wildcard **wildcards; /* wildcard.h */
	size_t n_wildcards;
	/* With wildcards: the maps of the file. */
	struct config_node *written, *defaults;
};

/* Load, expand, validate. CONFIG errors carry file:line:column, what was
 * found, what is allowed, and the nearest name. A key whose feature is not
 * built yet (and whose value is not its default) is refused by name with
 * "not supported yet". */
int settings_load(struct settings *out, const char *path, struct error *err);
/* The same from a tree that is already read. */
int settings_parse(struct settings *out, const struct config_file *file,
		   struct error *err);

/* `copy`: one pipeline without a file. Where it is not given its name is
 * derived from the arguments (stable, readable, with a short hash), until
 * copy_name_find() has asked the tables. Table `to` NULL: the same name, or
 * without its schema in a database that is a file. URLs are expanded. */
struct copy_arguments {
	const char *source_url, *destination_url, *table, *to, *watermark,
		*mode, *key, *lag, *zero_dates, *state;
	const char *name; /* NULL: derived */
	const char *call; /* pipeline_settings.call */
};
int settings_from_copy(struct settings *out, const struct copy_arguments *args,
		       struct error *err);
void settings_release(struct settings *s);

/* By name; NULL with a CONFIG error naming the nearest. It may have a fault. */
const struct pipeline_settings *settings_pipeline(const struct settings *s,
						  const char *name,
						  struct error *err);

/* Its fault, or 0. */
int settings_fault(const struct pipeline_settings *p, struct error *err);

/* For advice that names commands: "tidemark RUN CALL", "tidemark verify CALL".
 */
const char *settings_run(const struct pipeline_settings *p); /* "run", "copy" */
const char *settings_call(const struct pipeline_settings *p);

/* Sessions of connection `c` that a run of `p` may have open at once. Runs side
 * by side need the sum, or each may wait for what another one has. */
int64_t settings_sessions(const struct pipeline_settings *p,
			  const struct connection *c);

/* The limits of `p`, replaced by those of `values` (texts as in the config, by
 * key); release `out`. CONFIG if a key cannot be changed in a run, or a value
 * does not fit. */
int settings_pace_limits(const struct pipeline_settings *p,
			 const json_t *values, struct pace_limits *out,
			 struct error *err);
void pace_limits_release(struct pace_limits *l);

/* The specs that connectors and destinations take, pointing into `p`. */
void settings_source_spec(const struct pipeline_settings *p,
			  struct source_spec *out);
void settings_watermark_spec(const struct pipeline_settings *p,
			     struct watermark_spec *out);

json_t *settings_json_schema(void); /* new reference */
void settings_reference(struct strbuf *markdown); /* docs/config.md */
const char *settings_example(void); /* the example in it, static */

#endif

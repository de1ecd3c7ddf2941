/*
 * Between the option tables and struct settings: the parser's results. Some of
 * their texts only mean something together: a connection's name, or a lag whose
 * unit the strategy decides. Shared by the settings_*.c files.
 */
#ifndef TIDEMARK_CORE_SETTINGS_INPUT_H
#define TIDEMARK_CORE_SETTINGS_INPUT_H

#include "core/base/option.h"
#include "core/settings/settings.h"
#include "core/settings/wildcard.h"

#define SETTINGS_STATE_URL "sqlite:.tidemark/state.db"

/* `c` comes first: the connection keys are written through either type. */
struct state_input {
	struct connection c;
	int64_t lease_us, keep_us, letters_keep_us;
};

struct pipeline_input {
	struct pipeline_settings p;
	char *source_name, *destination_name;
	char *lag;
	struct strlist replicas; /* names of connections */
	char *probe_name;
	bool bad_rows_said; /* how many are allowed */
	char *every, *cron, *cron_zone; /* the schedule, as said; or NULL */
	int64_t jitter_us;
};

/* `in` comes first: the keys of a pipeline are written through either type. */
struct wildcard_input {
	struct pipeline_input in;
	struct strlist tables, exclude;
	char *schema;
	bool skip_missing;
};

/* on_bad_row.dead_letter.limit, if it is not said. */
#define SETTINGS_BAD_ROWS "100"

/* alert.late, if it is not said: schedules. */
#define SETTINGS_LATE		"3"
#define SETTINGS_LATE_SCHEDULES 3

/* Pipelines at once, at most. */
#define SETTINGS_JOBS_MOST 1000

/* The parts of a file, in the order in which they are worked on. */
struct settings_input {
	int64_t version, jobs;
	bool row_values;
	struct alert_settings alert;
	struct serve_settings serve;
	const struct config_node *state, *connections, *defaults, *pipelines,
		*notify;
};

extern const struct option notify_options[]; /* struct notify_settings */
extern const struct option settings_options[]; /* struct settings_input */
extern const struct option state_options[]; /* struct state_input */
extern const struct option connection_options[]; /* struct connection */
extern const struct option pipeline_options[]; /* struct pipeline_input */
extern const struct option wildcard_options[]; /* struct wildcard_input */

/* Tables inside pipeline_options. */
extern const struct option source_options[], watermark_options[],
	load_options[];
/* The same: what guards a pipeline's rows and servers. */
extern const struct option gate_options[], on_bad_row_options[], pace_options[],
	retry_options[], alert_options[];
extern const struct option_choice on_bad_row_choices[];

/* markless.c: strategy none is for tables that are loaded whole each time. */
int settings_check_markless(struct option_context *ctx,
			    const struct config_node *node,
			    const struct pipeline_settings *p);
/* naming.c: the key source.rename (parse of an option). */
int settings_parse_renames(struct option_context *ctx,
			   const struct option *option,
			   const struct config_node *node, void *base);
/* The columns that are left out or renamed, as far as the file tells. */
int settings_check_naming(struct option_context *ctx,
			  const struct config_node *node,
			  struct pipeline_settings *p);
void settings_release_naming(struct pipeline_settings *p);
/* settings_update.c: what mode update asks for; p->in_place. */
int settings_check_update(struct option_context *ctx,
			  const struct config_node *node,
			  struct pipeline_settings *p);
/* Any keys of a pipeline, under the key `name`. */
int settings_check_part(struct option_context *ctx, const char *name,
			const struct config_node *node);
/* An error at `path` of a pipeline or connection ("" is itself). */
int settings_fail(struct option_context *ctx, const struct config_node *node,
		  const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The connection of that name. */
int settings_resolve(struct option_context *ctx, const struct settings *s,
		     const struct config_node *node, const char *path,
		     const char *name, const struct connection **out);
/* Resolve and judge one parsed pipeline: names of connections, tables, what
 * the strategy takes. `node` is its merged map. */
int settings_check_pipeline(struct option_context *ctx,
			    const struct settings *s,
			    const struct config_node *node,
			    struct pipeline_input *in);
/* targets.c: pipelines of one destination table exclude each other. `nodes` as
 * the pipelines. */
int settings_check_targets(struct option_context *ctx, const struct settings *s,
			   struct config_node *const *nodes);
/* rivals.c: fill those of each pipeline. */
void settings_find_rivals(struct settings *s);
int settings_check_connection(struct option_context *ctx,
			      const struct config_node *node,
			      const struct connection *c);

/* The keys gate.min, gate.max and gate.match (parse of an option). */
int settings_parse_limits(struct option_context *ctx,
			  const struct option *option,
			  const struct config_node *node, void *base);
/* The key load.streams. */
int settings_parse_streams(struct option_context *ctx,
			   const struct option *option,
			   const struct config_node *node, void *base);
/* The key on_bad_row.dead_letter.limit, and its default. */
int settings_parse_bad_rows(struct option_context *ctx,
			    const struct option *option,
			    const struct config_node *node, void *base);
void settings_default_bad_rows(struct pipeline_input *in);
/* schedule.c: fill p.schedule. */
int settings_check_schedule(struct option_context *ctx,
			    const struct config_node *node,
			    struct pipeline_input *in);
/* The key alert.late, of a pipeline and of all. */
int settings_parse_late(struct option_context *ctx, const struct option *option,
			const struct config_node *node, void *base);
int settings_parse_late_of_all(struct option_context *ctx,
			       const struct option *option,
			       const struct config_node *node, void *base);
/* serve.c: what the HTTP server is told; fills `address`. `root` is the file's
 * map. */
int settings_check_serve(struct option_context *ctx,
			 const struct config_node *root,
			 struct serve_settings *serve);
void settings_release_serve(struct serve_settings *serve);
/* notify.c: the list of those to tell; NULL: none. */
int settings_parse_notify(struct option_context *ctx, struct settings *s,
			  const struct config_node *list);
void settings_release_notify(struct settings *s);
/* The pace: names of replicas, and ends that have none. */
int settings_check_pace(struct option_context *ctx, const struct settings *s,
			const struct config_node *node,
			struct pipeline_input *in);
/* Has each connection of `p` as many sessions as `p` needs? */
int settings_check_sessions(struct option_context *ctx,
			    const struct config_node *node,
			    const struct pipeline_settings *p);
void settings_release_gate(struct gate_settings *gate);
int settings_check_gate(struct option_context *ctx,
			const struct config_node *node,
			const struct gate_settings *gate);

/* wildcard.c: a map that names tables by patterns, or was meant to. */
bool settings_is_wildcard(const struct config_node *node);
/* Add a wildcard; its pipelines are made by settings_expand(). `merged` is the
 * map with the defaults, which the wildcard takes. */
int settings_parse_wildcard(struct option_context *ctx, struct settings *s,
			    const struct config_entry *entry,
			    struct config_node *merged);
void settings_release_wildcard(struct wildcard *w);

/* One pipeline to be made. */
struct pipeline_draft {
	const char *name;
	struct config_place at;
	struct config_node *node; /* merged; owned */
	const struct wildcard *wildcard; /* and that: NULL for one by itself */
	const struct caught *caught;
};

void settings_release_input(struct pipeline_input *in);
/* load.c: the map of an entry, and the defaults for what it does not say. */
struct config_node *settings_merged(const struct config_node *own,
				    const struct config_node *defaults);
int settings_check_name(struct option_context *ctx, const char *name,
			struct config_place at);
/* Make the pipelines, in place of those that there are. The path of `ctx` is
 * "pipelines". A draft of a wildcard that is wrong becomes a pipeline with a
 * fault. Releases the drafts' nodes in any case. */
int settings_make_pipelines(struct option_context *ctx, struct settings *s,
			    struct pipeline_draft *drafts, size_t n);
void settings_release_pipelines(struct settings *s);
/* Two pipelines of one name. */
int settings_check_names(struct option_context *ctx, const struct settings *s);

/* Set it for all pipelines; `origin` is copied. */
void settings_set_origin(struct settings *s, const char *origin);

#endif

#include "cli/progress.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/progress_track.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/sync/pace/pace.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/verify/progress.h"

#define PROGRESS_DRAW_US   (US_PER_SECOND / 10)
#define PROGRESS_LOG_US	   (10 * US_PER_SECOND)
#define PROGRESS_SAMPLE_US US_PER_SECOND

/* The log's hooks carry no context, so there is one of these. */
static struct {
	pthread_mutex_t lock;
	bool on, terminal;
	struct strbuf line; /* as drawn; "" if nothing is */
	struct progress_track *tracks; /* one for each that runs */
	size_t n, room;
	size_t all, done; /* pipelines of the round; `all` 0: not said */
	int64_t drawn_at;
} progress = { .lock = PTHREAD_MUTEX_INITIALIZER, .line = STRBUF_INIT };

/* Members of held_by are the source's own: those that are there are shown. */
static void progress_add_holder(struct strbuf *sb, const json_t *held_by)
{
	static const char *const names[] = { "state", "application", "prepared",
					     "since" };
	const json_t *pid = json_object_get(held_by, "pid");

	strbuf_addstr(sb, ", mark held by");
	if (json_is_integer(pid))
		strbuf_addf(sb, " pid %lld",
			    (long long)json_integer_value(pid));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text =
			json_string_value(json_object_get(held_by, names[i]));

		if (!text || !*text)
			continue;
		strbuf_addstr(sb, i == 3 ? " since " : " ");
		utf8_add_flat(sb, text);
	}
}

void progress_add_pause(struct strbuf *sb, const json_t *paused)
{
	static const char *const names[] = { "by", "since", "reason" };
	static const char *const before[] = { "", " since ", ": " };

	strbuf_addf(
		sb, ", held by %s",
		pace_prefix(json_string_value(json_object_get(paused, "by"))));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text =
			json_string_value(json_object_get(paused, names[i]));

		strbuf_addstr(sb, before[i]);
		utf8_add_flat(sb, text ? text : "");
	}
}

void progress_add_share(struct strbuf *sb, double share, int64_t eta_us)
{
	strbuf_addf(sb, "%.0f%%", share * 100);
	if (eta_us < 0 || share >= 1)
		return;
	strbuf_addstr(sb, ", about ");
	units_print_duration(sb, eta_us / US_PER_SECOND * US_PER_SECOND);
	strbuf_addstr(sb, " left");
}

void progress_render(struct strbuf *sb, const struct progress_view *v)
{
	if (*v->pipeline) {
		utf8_add_flat(sb, v->pipeline);
		strbuf_addstr(sb, ": ");
	}
	units_print_short(sb, (double)v->rows);
	strbuf_addstr(sb, " rows, ");
	units_print_short(sb, v->rows_per_second);
	strbuf_addf(sb, " rows/s, %.1f MB/s", v->bytes_per_second / 1e6);
	if (v->last_batch_us)
		strbuf_addf(sb, ", batch %.0f ms",
			    (double)v->last_batch_us / 1e3);
	if (v->share >= 0) {
		strbuf_addstr(sb, ", ");
		progress_add_share(sb, v->share, v->eta_us);
	}
	if (v->verifying) {
		strbuf_addstr(sb, ", loaded; verifying it: ");
		units_print_short(sb, (double)v->verified);
		strbuf_addstr(sb, " rows so far");
	}
	if (v->paused)
		progress_add_pause(sb, v->paused);
	if (v->held_by && !json_is_null(v->held_by))
		progress_add_holder(sb, v->held_by);
}

static void progress_add_side(struct strbuf *sb, const char *side, int64_t rows,
			      double per_second)
{
	strbuf_addf(sb, ", %s ", side);
	units_print_short(sb, (double)rows);
	strbuf_addstr(sb, " rows (");
	units_print_short(sb, per_second);
	strbuf_addstr(sb, "/s)");
}

void progress_render_look(struct strbuf *sb, const struct progress_look_view *v)
{
	if (*v->pipeline) {
		utf8_add_flat(sb, v->pipeline);
		strbuf_addstr(sb, ": ");
	}
	strbuf_addstr(sb, v->pass);
	progress_add_side(sb, "source", v->source, v->source_per_second);
	progress_add_side(sb, "destination", v->destination,
			  v->destination_per_second);
	if (v->share >= 0) {
		strbuf_addstr(sb, ", ");
		progress_add_share(sb, v->share, v->eta_us);
	}
	if (v->paused)
		progress_add_pause(sb, v->paused);
}

static bool progress_is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void progress_cut(struct strbuf *sb, size_t width)
{
	size_t seen = 0, keep = 0;

	for (size_t i = 0; i < sb->len; i++) {
		if (progress_is_continuation(sb->data[i]))
			continue;
		if (seen + 3 == width)
			keep = i;
		if (seen++ < width)
			continue;
		sb->len = keep;
		sb->data[keep] = '\0';
		if (width >= 3)
			strbuf_addstr(sb, "...");
		return;
	}
}

static size_t progress_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20)
		return 79;
	return size.ws_col - 1u;
}

static void progress_put(const char *text, size_t n)
{
	/* A terminal that is gone is no reason to stop the run. */
	ssize_t written = write(STDERR_FILENO, text, n);

	(void)written;
}

static void progress_erase(void)
{
	if (progress.line.len)
		progress_put("\r\033[K", 4);
}

static void progress_draw(void)
{
	struct strbuf out = STRBUF_INIT;

	if (!progress.line.len)
		return;
	strbuf_addf(&out, "\r%s\033[K", progress.line.data);
	progress_put(out.data, out.len);
	strbuf_release(&out);
}

/* The lock is held while the log line is written, so that no redraw comes
 * between. */
static void progress_before_log(void)
{
	pthread_mutex_lock(&progress.lock);
	progress_erase();
}

static void progress_after_log(void)
{
	progress_draw();
	pthread_mutex_unlock(&progress.lock);
}

void progress_begin(bool quiet)
{
	progress.on = !quiet;
	progress.terminal = isatty(STDERR_FILENO) && !log_is_for_programs();
	if (progress.on && progress.terminal)
		log_set_hooks(progress_before_log, progress_after_log);
}

static struct progress_track *progress_track(const struct progress_point *p)
{
	for (size_t i = 0; i < progress.n; i++)
		if (progress.tracks[i].pipeline == p->pipeline)
			return &progress.tracks[i];
	progress.tracks = xgrow(progress.tracks, &progress.room, progress.n + 1,
				sizeof(*progress.tracks));
	memset(&progress.tracks[progress.n], 0, sizeof(*progress.tracks));
	if (!progress.n)
		progress.drawn_at = clock_monotonic_us();
	return &progress.tracks[progress.n++];
}

/* On a terminal one line is for all. */
static bool progress_is_due(struct progress_track *t, int64_t now)
{
	int64_t every = progress.terminal ? PROGRESS_DRAW_US : PROGRESS_LOG_US;
	int64_t *last = progress.terminal ? &progress.drawn_at : &t->shown_at;

	if (now - *last < every)
		return false;
	*last = now;
	return true;
}

/* Its track if its line is to be drawn anew, else NULL. */
static struct progress_track *progress_advance(const struct progress_point *p)
{
	int64_t now = clock_monotonic_us();
	struct progress_track *t = progress_track(p);

	progress_track_add(t, p, now,
			   progress.terminal ? PROGRESS_SAMPLE_US
					     : PROGRESS_LOG_US);
	if (!progress_is_due(t, now))
		return NULL;
	strbuf_reset(&progress.line);
	return t;
}

void progress_render_all(struct strbuf *sb, const struct progress_track *tracks,
			 size_t n, size_t done, size_t all)
{
	strbuf_addf(sb, "%zu of %zu done, %zu running", done, all, n);
	for (size_t i = 0; i < n; i++) {
		strbuf_addstr(sb, i ? ", " : ": ");
		utf8_add_flat(sb, tracks[i].pipeline->name);
		strbuf_addstr(sb, " ");
		units_print_short(sb, (double)tracks[i].rows);
		strbuf_addstr(sb, " rows (");
		units_print_short(sb, tracks[i].speeds[0]);
		strbuf_addstr(sb, "/s)");
	}
}

/* Several may run, and there is one line for them. */
static bool progress_sums(void)
{
	return progress.terminal && progress.all > 1;
}

static void progress_show(void)
{
	if (progress.terminal) {
		progress_cut(&progress.line, progress_width());
		progress_draw();
	} else {
		log_event(LOG_INFO, &(struct log_event){ .name = "progress" },
			  "%s", progress.line.data);
	}
}

static const char *progress_name(const struct pipeline_settings *p)
{
	return progress.terminal ? p->name : "";
}

static void progress_show_run(const struct run_result *r,
			      const struct progress_track *t)
{
	const struct progress_view view = {
		.pipeline = progress_name(r->pipeline),
		.rows = r->rows_read,
		.rows_per_second = t->speeds[0],
		.bytes_per_second = t->speeds[1],
		.last_batch_us = r->last_batch_us,
		.share = r->progress,
		.eta_us = progress_track_eta(t, r->progress,
					     clock_monotonic_us()),
		.held_by = r->held_by,
		.paused = r->paused,
		.verifying = r->verifying,
		.verified = r->verified.rows,
	};

	if (progress_sums())
		progress_render_all(&progress.line, progress.tracks, progress.n,
				    progress.done, progress.all);
	else
		progress_render(&progress.line, &view);
	progress_show();
}

void progress_update(const struct run_result *so_far, void *ctx)
{
	const struct progress_point point = {
		.pipeline = so_far->pipeline,
		.counts = { so_far->rows_read, so_far->bytes_read },
		.share = so_far->progress,
	};
	const struct progress_track *t;

	(void)ctx;
	if (!progress.on)
		return;
	pthread_mutex_lock(&progress.lock);
	t = progress_advance(&point);
	if (t)
		progress_show_run(so_far, t);
	pthread_mutex_unlock(&progress.lock);
}

static void progress_show_look(const struct verify_progress *p,
			       const struct progress_track *t, double share)
{
	const struct progress_look_view view = {
		.pipeline = progress_name(p->pipeline),
		.pass = p->pass,
		.source = p->rows[COMPARE_SOURCE],
		.destination = p->rows[COMPARE_DESTINATION],
		.source_per_second = t->speeds[COMPARE_SOURCE],
		.destination_per_second = t->speeds[COMPARE_DESTINATION],
		.share = share,
		.eta_us = progress_track_eta(t, share, clock_monotonic_us()),
		.paused = p->paused,
	};

	progress_render_look(&progress.line, &view);
	progress_show();
}

void progress_verify(const struct verify_progress *so_far, void *ctx)
{
	const struct progress_point point = {
		.pipeline = so_far->pipeline,
		.pass = so_far->pass,
		.counts = { so_far->rows[COMPARE_SOURCE],
			    so_far->rows[COMPARE_DESTINATION] },
		.share = verify_progress_share(so_far),
	};
	const struct progress_track *t;

	(void)ctx;
	if (!progress.on)
		return;
	pthread_mutex_lock(&progress.lock);
	t = progress_advance(&point);
	if (t)
		progress_show_look(so_far, t, point.share);
	pthread_mutex_unlock(&progress.lock);
}

bool progress_is_live(void)
{
	return progress.on && progress.terminal;
}

void progress_line(const char *text)
{
	if (!progress_is_live())
		return;
	pthread_mutex_lock(&progress.lock);
	strbuf_reset(&progress.line);
	utf8_add_flat(&progress.line, text);
	progress_cut(&progress.line, progress_width());
	progress_draw();
	pthread_mutex_unlock(&progress.lock);
}

void progress_round(size_t all)
{
	pthread_mutex_lock(&progress.lock);
	progress.all = all;
	progress.done = 0;
	pthread_mutex_unlock(&progress.lock);
}

void progress_pipeline_end(const struct pipeline_settings *p)
{
	pthread_mutex_lock(&progress.lock);
	if (progress.on && progress.terminal)
		progress_erase();
	strbuf_reset(&progress.line);
	progress.done++;
	for (size_t i = 0; i < progress.n; i++)
		if (progress.tracks[i].pipeline == p)
			progress.tracks[i--] = progress.tracks[--progress.n];
	pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
	progress_pipeline_end(NULL);
	log_set_hooks(NULL, NULL);
	progress.on = false;
	progress.n = progress.room = progress.all = 0;
	free(progress.tracks);
	progress.tracks = NULL;
	strbuf_release(&progress.line);
}

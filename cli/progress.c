#include "cli/progress.h"

#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/verify/progress.h"

#define PROGRESS_DRAW_US   (US_PER_SECOND / 10)
#define PROGRESS_LOG_US	   (10 * US_PER_SECOND)
#define PROGRESS_SAMPLE_US US_PER_SECOND
/* With less behind it the end is not guessed. */
#define PROGRESS_ETA_SHARE 0.005
#define PROGRESS_ETA_US	   (2 * US_PER_SECOND)

/* Counts: rows and bytes of a run, or the rows of both sides of a look. */
#define PROGRESS_COUNTS 2

struct progress_point {
	const struct pipeline_settings *pipeline;
	const char *pass;
	int64_t counts[PROGRESS_COUNTS];
	double share;
};

/* The log's hooks carry no context, so there is one of these. */
static struct {
	pthread_mutex_t lock;
	bool on, terminal;
	struct strbuf line; /* as drawn; "" if nothing is */
	const struct pipeline_settings *pipeline;
	const char *pass; /* a look's; NULL: a run */
	int64_t shown_at;
	/* Speed is that between the last two samples. */
	int64_t sample_at, samples[PROGRESS_COUNTS];
	bool sampled;
	double speeds[PROGRESS_COUNTS]; /* a second */
	double first_share;
	int64_t first_at; /* 0: no share is known yet */
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
	static const char *const before[] = { ", held by pace.", " since ",
					      ": " };

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
	progress.terminal = isatty(STDERR_FILENO) && !log_is_json();
	if (progress.on && progress.terminal)
		log_set_hooks(progress_before_log, progress_after_log);
}

static void progress_restart(const struct progress_point *p, int64_t now)
{
	if (progress.pipeline != p->pipeline)
		progress.shown_at = now;
	progress.pipeline = p->pipeline;
	progress.pass = p->pass;
	progress.sampled = false;
	progress.sample_at = now;
	for (size_t i = 0; i < PROGRESS_COUNTS; i++) {
		progress.samples[i] = p->counts[i];
		progress.speeds[i] = 0;
	}
	progress.first_at = 0;
}

/* Until the first sample is full, the speed is that since the begin. */
static void progress_measure(const struct progress_point *p, int64_t now)
{
	int64_t window =
		progress.terminal ? PROGRESS_SAMPLE_US : PROGRESS_LOG_US;
	int64_t passed = now - progress.sample_at;
	double seconds = (double)passed / (double)US_PER_SECOND;

	if (passed < PROGRESS_DRAW_US || (progress.sampled && passed < window))
		return;
	for (size_t i = 0; i < PROGRESS_COUNTS; i++)
		progress.speeds[i] =
			(double)(p->counts[i] - progress.samples[i]) / seconds;
	if (passed < window)
		return;
	progress.sampled = true;
	progress.sample_at = now;
	for (size_t i = 0; i < PROGRESS_COUNTS; i++)
		progress.samples[i] = p->counts[i];
}

/* From where on the rest is reckoned: the first share that is known, and anew
 * once it falls behind that. */
static void progress_anchor(double share, int64_t now)
{
	if (share >= 0 && progress.first_at && share >= progress.first_share)
		return;
	progress.first_share = share;
	progress.first_at = share < 0 ? 0 : now;
}

static int64_t progress_eta(double share, int64_t now)
{
	double done = share - progress.first_share;
	int64_t passed = now - progress.first_at;

	if (!progress.first_at || done < PROGRESS_ETA_SHARE ||
	    passed < PROGRESS_ETA_US)
		return -1;
	return (int64_t)((double)passed / done * (1 - share));
}

/* Its line is to be drawn anew: true. */
static bool progress_advance(const struct progress_point *p)
{
	int64_t now = clock_monotonic_us();
	int64_t every = progress.terminal ? PROGRESS_DRAW_US : PROGRESS_LOG_US;

	if (progress.pipeline != p->pipeline || progress.pass != p->pass)
		progress_restart(p, now);
	progress_measure(p, now);
	progress_anchor(p->share, now);
	if (now - progress.shown_at < every)
		return false;
	progress.shown_at = now;
	strbuf_reset(&progress.line);
	return true;
}

static void progress_show(void)
{
	if (progress.terminal) {
		progress_cut(&progress.line, progress_width());
		progress_draw();
	} else {
		log_info("%s", progress.line.data);
	}
}

static const char *progress_name(const struct pipeline_settings *p)
{
	return progress.terminal ? p->name : "";
}

static void progress_show_run(const struct run_result *r)
{
	const struct progress_view view = {
		.pipeline = progress_name(r->pipeline),
		.rows = r->rows_read,
		.rows_per_second = progress.speeds[0],
		.bytes_per_second = progress.speeds[1],
		.last_batch_us = r->last_batch_us,
		.share = r->progress,
		.eta_us = progress_eta(r->progress, clock_monotonic_us()),
		.held_by = r->held_by,
		.paused = r->paused,
		.verifying = r->verifying,
		.verified = r->verified.rows,
	};

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

	(void)ctx;
	if (!progress.on)
		return;
	pthread_mutex_lock(&progress.lock);
	if (progress_advance(&point))
		progress_show_run(so_far);
	pthread_mutex_unlock(&progress.lock);
}

static void progress_show_look(const struct verify_progress *p, double share)
{
	const struct progress_look_view view = {
		.pipeline = progress_name(p->pipeline),
		.pass = p->pass,
		.source = p->rows[COMPARE_SOURCE],
		.destination = p->rows[COMPARE_DESTINATION],
		.source_per_second = progress.speeds[COMPARE_SOURCE],
		.destination_per_second = progress.speeds[COMPARE_DESTINATION],
		.share = share,
		.eta_us = progress_eta(share, clock_monotonic_us()),
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

	(void)ctx;
	if (!progress.on)
		return;
	pthread_mutex_lock(&progress.lock);
	if (progress_advance(&point))
		progress_show_look(so_far, point.share);
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

void progress_pass(const char *text, size_t n)
{
	pthread_mutex_lock(&progress.lock);
	if (progress_is_live())
		progress_erase();
	progress_put(text, n);
	if (progress_is_live())
		progress_draw();
	pthread_mutex_unlock(&progress.lock);
}

void progress_pipeline_end(void)
{
	pthread_mutex_lock(&progress.lock);
	if (progress.on && progress.terminal)
		progress_erase();
	strbuf_reset(&progress.line);
	progress.pipeline = NULL;
	pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
	progress_pipeline_end();
	log_set_hooks(NULL, NULL);
	progress.on = false;
	strbuf_release(&progress.line);
}

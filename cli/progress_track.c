#include "cli/progress_track.h"

#include "core/base/clock.h"

/* So long a time says something of the speed. */
#define TRACK_LEAST_US (US_PER_SECOND / 10)
/* With less behind it the end is not guessed. */
#define TRACK_ETA_SHARE 0.005
#define TRACK_ETA_US	(2 * US_PER_SECOND)

static void track_restart(struct progress_track *t,
			  const struct progress_point *p, int64_t now)
{
	if (t->pipeline != p->pipeline)
		t->shown_at = now;
	t->pipeline = p->pipeline;
	t->pass = p->pass;
	t->sampled = false;
	t->sample_at = now;
	for (int i = 0; i < PROGRESS_COUNTS; i++) {
		t->samples[i] = p->counts[i];
		t->speeds[i] = 0;
	}
	t->first_at = 0;
}

/* Until the first sample is full, the speed is that since the begin. */
static void track_measure(struct progress_track *t,
			  const struct progress_point *p, int64_t now,
			  int64_t window)
{
	int64_t passed = now - t->sample_at;
	double seconds = (double)passed / (double)US_PER_SECOND;

	if (passed < TRACK_LEAST_US || (t->sampled && passed < window))
		return;
	for (int i = 0; i < PROGRESS_COUNTS; i++)
		t->speeds[i] = (double)(p->counts[i] - t->samples[i]) / seconds;
	if (passed < window)
		return;
	t->sampled = true;
	t->sample_at = now;
	for (int i = 0; i < PROGRESS_COUNTS; i++)
		t->samples[i] = p->counts[i];
}

/* From where on the rest is reckoned: the first share that is known, and anew
 * once it falls behind that. */
static void track_anchor(struct progress_track *t, double share, int64_t now)
{
	if (share >= 0 && t->first_at && share >= t->first_share)
		return;
	t->first_share = share;
	t->first_at = share < 0 ? 0 : now;
}

void progress_track_add(struct progress_track *t,
			const struct progress_point *p, int64_t now,
			int64_t window)
{
	if (t->pipeline != p->pipeline || t->pass != p->pass)
		track_restart(t, p, now);
	t->rows = p->counts[0];
	track_measure(t, p, now, window);
	track_anchor(t, p->share, now);
}

int64_t progress_track_eta(const struct progress_track *t, double share,
			   int64_t now)
{
	double done = share - t->first_share;
	int64_t passed = now - t->first_at;

	if (!t->first_at || done < TRACK_ETA_SHARE || passed < TRACK_ETA_US)
		return -1;
	return (int64_t)((double)passed / done * (1 - share));
}

#include "core/sync/verify/progress.h"

void verify_progress_begin(struct verify_progress *p, const char *pass)
{
	p->pass = pass;
	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		p->rows[i] = 0;
		p->expected[i] = -1;
	}
}

void verify_progress_tick(void *progress)
{
	const struct verify_progress *p = progress;

	if (p && p->tell)
		p->tell(p, p->ctx);
}

void verify_progress_add(struct verify_progress *p, enum compare_side side,
			 size_t rows)
{
	if (!p)
		return;
	p->rows[side] += (int64_t)rows;
	verify_progress_tick(p);
}

/* The expected count is an estimate: beyond it nothing is known. */
double verify_progress_share(const struct verify_progress *p)
{
	double least = 1;

	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		double share;

		if (p->expected[i] < p->rows[i] || p->expected[i] <= 0)
			return -1;
		share = (double)p->rows[i] / (double)p->expected[i];
		least = share < least ? share : least;
	}
	return least;
}

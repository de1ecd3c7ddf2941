#include "core/sync/adapt.h"

/* Times the configured rows, at most. */
#define ADAPT_TIMES 8
/* Configured rows in a step. */
#define ADAPT_STEPS 8
/* What a batch that took too long leaves of its rows. */
#define ADAPT_LEAST 0.5
#define ADAPT_MOST  0.9

static size_t adapt_first(size_t configured, size_t piece)
{
	bool fits = piece && configured < piece &&
		    piece <= configured * ADAPT_TIMES;

	return fits ? piece : configured;
}

void adapt_init(struct adapt *a, size_t configured, size_t piece,
		int64_t target_us)
{
	*a = (struct adapt){
		.rows = adapt_first(configured, piece),
		.fewest = configured < ADAPT_FEWEST ? configured : ADAPT_FEWEST,
		.most = configured * ADAPT_TIMES,
		.step = (configured + ADAPT_STEPS - 1) / ADAPT_STEPS,
		.piece = piece,
		.target_us = target_us,
	};
	a->wanted = (double)a->rows;
}

/* `factor`: how much longer it might have taken. Never beyond what would take
 * the whole time. */
static double adapt_more(const struct adapt *a, double factor)
{
	double aim = a->wanted * factor;
	double more =
		a->backed_off ? a->wanted + (double)a->step : a->wanted * 2;

	return more < aim ? more : aim;
}

void adapt_loaded(struct adapt *a, size_t rows, int64_t load_us)
{
	double factor;

	if (load_us <= 0)
		return;
	factor = (double)a->target_us / (double)load_us;
	if (factor < 1) {
		a->backed_off = true;
		factor = factor < ADAPT_LEAST  ? ADAPT_LEAST
			 : factor > ADAPT_MOST ? ADAPT_MOST
					       : factor;
		a->wanted = (double)a->rows * factor;
	} else if (rows >= a->rows) {
		/* One that was not full says nothing of more. */
		a->wanted = adapt_more(a, factor);
	}
	if (a->wanted < (double)a->fewest)
		a->wanted = (double)a->fewest;
	if (a->wanted > (double)a->most)
		a->wanted = (double)a->most;
	a->rows = (size_t)a->wanted;
	if (a->piece && a->rows > a->piece)
		a->rows -= a->rows % a->piece;
}

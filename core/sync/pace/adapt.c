#include "core/sync/pace/adapt.h"

/* Times the configured rows, at most. */
#define ADAPT_TIMES 8
/* Configured rows in a step. */
#define ADAPT_STEPS 8
/* The part of its rows that a batch keeps after it took too long. */
#define ADAPT_LEAST 0.5
#define ADAPT_MOST  0.9
/* Rows per time, of what they were before: fewer at once make it worse. */
#define ADAPT_IN_VAIN 0.75

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

/* A batch may take its time whatever its rows, as at a server that is busy with
 * others. With fewer and fewer rows nothing would ever be over. */
static bool adapt_in_vain(const struct adapt *a, size_t rows, int64_t load_us)
{
	double before = (double)a->slow_rows / (double)a->slow_us;

	return rows < a->slow_rows &&
	       (double)rows / (double)load_us < before * ADAPT_IN_VAIN;
}

static void adapt_less(struct adapt *a, size_t rows, int64_t load_us)
{
	double factor = (double)a->target_us / (double)load_us;

	a->backed_off = true;
	if (a->slow_us && adapt_in_vain(a, rows, load_us)) {
		/* Bytes may have ended the slow one early. */
		if (a->wanted < (double)a->slow_rows)
			a->wanted = (double)a->slow_rows;
		a->slow_us = 0;
		return;
	}
	a->slow_rows = rows;
	a->slow_us = load_us;
	factor = factor < ADAPT_LEAST  ? ADAPT_LEAST
		 : factor > ADAPT_MOST ? ADAPT_MOST
				       : factor;
	a->wanted = (double)a->rows * factor;
}

void adapt_loaded(struct adapt *a, size_t rows, int64_t load_us)
{
	if (load_us <= 0)
		return;
	if (load_us > a->target_us) {
		adapt_less(a, rows, load_us);
	} else {
		a->slow_us = 0;
		/* One that was not full says nothing of more. */
		if (rows >= a->rows)
			a->wanted = adapt_more(a, (double)a->target_us /
							  (double)load_us);
	}
	if (a->wanted < (double)a->fewest)
		a->wanted = (double)a->fewest;
	if (a->wanted > (double)a->most)
		a->wanted = (double)a->most;
	a->rows = (size_t)a->wanted;
	if (a->piece && a->rows > a->piece)
		a->rows -= a->rows % a->piece;
}

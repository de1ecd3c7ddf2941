#include "core/base/seat.h"

static _Thread_local struct seat *seat_of_thread;

void seat_use(struct seat *s)
{
	seat_of_thread = s;
}

struct seat *seat_mine(void)
{
	return seat_of_thread;
}

void seat_leave(enum seat_wait how)
{
	if (seat_of_thread)
		seat_of_thread->leave(seat_of_thread, how);
}

void seat_back(enum seat_wait how, bool (*over)(void *ctx), void *ctx)
{
	if (seat_of_thread)
		seat_of_thread->back(seat_of_thread, how, over, ctx);
}

bool seat_crowded(void)
{
	return seat_of_thread && seat_of_thread->crowded(seat_of_thread);
}

size_t seat_widen(size_t n)
{
	return seat_of_thread ? seat_of_thread->widen(seat_of_thread, n) : n;
}

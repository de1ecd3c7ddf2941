/*
 * Threads that share work sit on seats, of which there are so many. A thread
 * that is about to wait for long leaves its seat to another one, and takes a
 * seat again behind that. Threads that work for one thing share a seat. A
 * thread without one is bound by nothing.
 */
#ifndef TIDEMARK_CORE_BASE_SEAT_H
#define TIDEMARK_CORE_BASE_SEAT_H

#include <stdbool.h>
#include <stddef.h>

enum seat_wait {
	SEAT_OPEN, /* sessions and files stay open meanwhile */
	SEAT_CLOSED, /* nothing of the work is open */
};

/* First member of whatever gives out seats. */
struct seat {
	void (*leave)(struct seat *s, enum seat_wait how);
	void (*back)(struct seat *s, enum seat_wait how,
		     bool (*over)(void *ctx), void *ctx);
	bool (*crowded)(struct seat *s);
	size_t (*widen)(struct seat *s, size_t n);
};

/* The seat of the calling thread; NULL: none. */
void seat_use(struct seat *s);
struct seat *seat_mine(void);
/* A wait begins. Each is ended by one seat_back() with the same `how`. */
void seat_leave(enum seat_wait how);
/* Wait for a seat. With SEAT_OPEN it comes back without one once `over` says
 * so, which is asked a few times a second (NULL: never). */
void seat_back(enum seat_wait how, bool (*over)(void *ctx), void *ctx);
/* A server has no room for one more session, and nothing is open. Fewer threads
 * are to work at once from now on. True, once another one has ended and there
 * is a seat again: another try may find room. False: no other one works. */
bool seat_crowded(void);
/* The work is to go on in `n` threads more, each with as many sessions as the
 * work itself. So many of them have room, and are counted until this is called
 * anew: with 0 once they have ended. Without a seat, `n`. */
size_t seat_widen(size_t n);

#endif

/*
 * Answers a stop that is requested while one end is asked something and is long
 * about it. The question may be where the mark is, or which point is settled.
 * The end may wait for a lock, or read a table without an index. A wait inside
 * a client library sees no signal, so this interrupts it. Once rows are read
 * the reader does the same.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_STOPPER_H
#define TIDEMARK_CORE_SYNC_PARTS_STOPPER_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/plugin/connector.h"
#include "core/plugin/destination.h"

struct stopper {
	struct connector *source; /* or NULL */
	_Atomic(struct destination *) destination; /* NULL: not open yet */
	pthread_t thread;
	int end[2]; /* a pipe: closed at its writing end, the thread ends */
	bool started;
};

/* Where the system has no room for a thread, nothing is interrupted. `source`
 * NULL: a destination alone is asked. */
void stopper_start(struct stopper *s, struct connector *source);
void stopper_add(struct stopper *s, struct destination *destination);
/* Before either is closed, or read. Harmless if not started. */
void stopper_end(struct stopper *s);

#endif

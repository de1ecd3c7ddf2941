/*
 * Turns of threads at something that takes one at a time, by its name. They
 * spare a server conflicts among the threads of this process: other processes
 * know nothing of them.
 */
#ifndef TIDEMARK_CORE_BASE_TURN_H
#define TIDEMARK_CORE_BASE_TURN_H

struct turn;

/* Wait until all who asked before have had their turn at `name`. Each is ended
 * by one turn_end(). A thread takes no second one meanwhile. */
struct turn *turn_take(const char *name);
void turn_end(struct turn *t);

#endif

/*
 * Who is running: this host, and a mark of a process that no later process
 * with the same number has. For attempts, leases and stages left behind by a
 * process that is gone.
 */
#ifndef TIDEMARK_CORE_BASE_PROCESS_H
#define TIDEMARK_CORE_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "boot-id/start-time" of a process on this host; "" when it is not there or
 * the system does not tell. Caller frees. */
char *process_start(int64_t pid);
/* The process is gone: no such number, or the number has another start. An
 * unknown start ("") alone says nothing. */
bool process_is_gone(int64_t pid, const char *start);

#endif

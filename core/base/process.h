/*
 * This host's name, and a mark of a process that no later process with the same
 * number has. They tell attempts, leases and stages that a dead process left
 * behind, and the process that keeps a file locked.
 */
#ifndef TIDEMARK_CORE_BASE_PROCESS_H
#define TIDEMARK_CORE_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "boot-id/start-time" of a process on this host. "" if it does not exist or
 * the system does not tell. Caller frees. */
char *process_start(int64_t pid);
/* Is the process gone: is there no such number, is it a zombie without threads,
 * or has the number another start? An unknown start ("") alone says nothing. */
bool process_is_gone(int64_t pid, const char *start);

/* "boot-id/pid-namespace/start-time" of this process, by which others can judge
 * it: a number means nothing in another container. Caller frees. */
char *process_mark(void);
/* Did the process that left this mark run here, and is it surely gone? */
bool process_mark_is_gone(int64_t pid, const char *mark);

/* Another process that has a lock of fcntl(2) on the file, for writing or for
 * any purpose. 0 if there is none or the system does not tell. */
int64_t process_locking(const char *path, bool writing);
/* The name of its program; "" if it does not exist. Caller frees. */
char *process_name(int64_t pid);

#endif

/*
 * Words to the service manager that has started this process, if one has
 * (systemd's sd_notify(3): one datagram to $NOTIFY_SOCKET). Without one all of
 * this does nothing.
 */
#ifndef TIDEMARK_CORE_BASE_READY_H
#define TIDEMARK_CORE_BASE_READY_H

#include <stdint.h>

/* Lines as "READY=1" or "STATUS=...", between them "\n". */
void ready_tell(const char *lines);
/* The manager ends a process that is silent for so long ($WATCHDOG_USEC), in
 * µs; 0: it does not. */
int64_t ready_watchdog_us(void);

#endif

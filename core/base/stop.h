/*
 * The stop flag: the only way a signal reaches the engine. The first SIGINT
 * or SIGTERM asks for a clean stop (exit 8), the second ends the process at
 * once with status 8 by _exit(). SIGHUP only asks, unless it came ignored.
 */
#ifndef TIDEMARK_CORE_BASE_STOP_H
#define TIDEMARK_CORE_BASE_STOP_H

#include <stdbool.h>

/* SIGINT, SIGTERM, SIGHUP; ignores SIGPIPE and SIGXFSZ, which write() reports.
 */
void stop_install_handlers(void);
/* From now on SIGHUP does not ask for a stop. */
void stop_keep_hangups(void);
/* Was there a SIGHUP since the last call? */
bool stop_take_hangup(void);
bool stop_requested(void);
void stop_request(void);
int stop_fd(void); /* becomes readable once a stop is requested; for poll() */

#endif

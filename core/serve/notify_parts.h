/* Shared by the files of notify. */
#ifndef TIDEMARK_CORE_SERVE_NOTIFY_PARTS_H
#define TIDEMARK_CORE_SERVE_NOTIFY_PARTS_H

#include "core/base/hmac.h"
#include "core/serve/notify.h"
#include "core/store/notices.h"

enum notify_topic { NOTICE_HEALTH, NOTICE_LETTERS, NOTICE_TOPICS };

/* States that a receiver may know of a topic. The first of each is what it
 * takes for granted before it is told anything. */
enum notify_state {
	NOTICE_OK,
	NOTICE_LATE,
	NOTICE_FAILING,
	NOTICE_DIFFERENT,
	NOTICE_NONE,
	NOTICE_SOME,
	NOTICE_STATES, /* not known, or as it was */
};

const char *notice_topic_name(enum notify_topic topic);
const char *notice_state_name(enum notify_state state);
enum notify_state notice_state_of(const char *name); /* NOTICE_STATES: none */

/* As the receiver is to know it. NOTICE_STATES: nothing can be said now, and
 * what was told holds. */
enum notify_state notice_judge(const struct notify_settings *to,
			       enum notify_topic topic,
			       const struct status_result *status);
/* The event by which a receiver learns the change; NOTIFY_EVENTS: none. */
enum notify_event notice_event(enum notify_state from, enum notify_state to);
/* The attempt that the status names. The newest one is another while a run goes
 * on. `list` is empty before, may own it, and is to be released. */
const struct attempt *notice_counted(struct store *store,
				     const struct status_result *status,
				     struct attempt_list *list);
/* The notification as a JSON text; caller frees. `counted` is the attempt that
 * the status names. `values`: messages may have contents of rows, which are
 * left out. */
char *notice_text(enum notify_event event, const struct status_result *status,
		  const struct attempt *counted, bool values);

/* Send it; 0 when the receiver has taken it. */
int notify_send(const struct notify_settings *to, post_function post,
		const char *text, struct error *err);
/* Run it with `text` on its stdin. Its stderr goes to the log. Past its time,
 * or when a stop is requested, it is ended, with all that it has begun. */
int notify_command(const struct notify_settings *to, const char *text,
		   struct error *err);

#endif

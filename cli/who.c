#include "cli/who.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

char *who_calls(void)
{
	char host[256] = "", room[4096];
	struct passwd entry, *found = NULL;

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	if (getpwuid_r(getuid(), &entry, room, sizeof(room), &found))
		found = NULL;
	if (!found)
		return xstrfmt("user %u@%s", (unsigned)getuid(), host);
	return xstrfmt("%s@%s", found->pw_name, host);
}

void who_has_done(const struct settings *s, who_note note, const void *what)
{
	struct error err = ERROR_INIT;
	struct store *store = NULL;
	char *who = who_calls();

	if (state_open(s, &store, &err) || note(store, who, what, &err))
		log_warn("it is not kept who has done this: %s", err.message);
	error_clear(&err);
	store_close(store);
	free(who);
}

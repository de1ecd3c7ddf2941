#include "cli/who.h"

#include <pwd.h>
#include <unistd.h>

#include "core/base/alloc.h"

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

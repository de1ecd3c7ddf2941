#include "destinations/common/restate.h"

#include <string.h>

#include "core/base/strbuf.h"

char *restate(const char *sql, const char *copy, const char *table)
{
	struct strbuf sb = STRBUF_INIT;
	const char *at;

	while ((at = strstr(sql, copy))) {
		strbuf_add(&sb, sql, (size_t)(at - sql));
		strbuf_addstr(&sb, table);
		sql = at + strlen(copy);
	}
	strbuf_addstr(&sb, sql);
	return strbuf_detach(&sb);
}

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/settings/input.h"

/* Where `path` was written below `node`, or the nearest thing above it. */
static struct config_place settings_place(const struct config_node *node,
					  const char *path)
{
	char *copy = xstrdup(path), *dot;
	const struct config_node *found = config_node_find(node, copy);

	while (!found && (dot = strrchr(copy, '.'))) {
		*dot = '\0';
		found = config_node_find(node, copy);
	}
	free(copy);
	return found ? found->at : node->at;
}

int settings_fail(struct option_context *ctx, const struct config_node *node,
		  const char *path, const char *fmt, ...)
{
	size_t length = *path ? option_path_push(ctx, path) : ctx->path.len;
	struct strbuf text = STRBUF_INIT;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	rc = option_fail(ctx, settings_place(node, path), "%s", text.data);
	strbuf_release(&text);
	option_path_pop(ctx, length);
	return rc;
}

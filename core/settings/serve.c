#include <stdlib.h>
#include <string.h>

#include "core/settings/input.h"

/* Fewer characters can be guessed. */
#define SERVE_TOKEN_LEAST 16
#define SERVE_TOKEN_MOST  1024

/* Lists have no default of their own. */
static void serve_default_hosts(const struct config_node *root,
				struct serve_settings *serve)
{
	if (config_node_find(root, "serve.hosts"))
		return;
	strlist_add(&serve->hosts, "localhost");
	strlist_add(&serve->hosts, "127.0.0.1");
}

static int serve_check_hosts(struct option_context *ctx,
			     const struct config_node *root,
			     const struct serve_settings *serve)
{
	char host[LISTEN_HOST_SIZE];

	for (size_t i = 0; i < serve->hosts.n; i++) {
		const char *item = serve->hosts.items[i];
		bool port = false;

		if (host_parse(item, strlen(item), host, &port) && !port)
			continue;
		return settings_fail(ctx, root, "serve.hosts",
				     "\"%.80s\" is no name or address of a "
				     "host; write it as in a browser's address "
				     "bar, without the port: "
				     "tidemark.example.org, 10.0.0.7 or [::1]",
				     item);
	}
	return 0;
}

/* It has to fit into a header, as it is. */
static int serve_check_token(struct option_context *ctx,
			     const struct config_node *root,
			     const struct serve_settings *serve)
{
	static const char path[] = "serve.token";
	size_t n = serve->token ? strlen(serve->token) : 0;

	if (!n)
		return 0;
	if (n < SERVE_TOKEN_LEAST || n > SERVE_TOKEN_MOST)
		return settings_fail(ctx, root, path,
				     "has %zu characters; it takes %d to %d, "
				     "such as openssl rand -hex 32 writes",
				     n, SERVE_TOKEN_LEAST, SERVE_TOKEN_MOST);
	for (size_t i = 0; i < n; i++)
		if (serve->token[i] <= ' ' || serve->token[i] > '~')
			return settings_fail(ctx, root, path,
					     "has a space, a line break or "
					     "another character that a header "
					     "cannot hold");
	return 0;
}

static int serve_check_reach(struct option_context *ctx,
			     const struct config_node *root,
			     const struct serve_settings *serve)
{
	if (listen_is_local(&serve->address) || (serve->token && *serve->token))
		return 0;
	return settings_fail(
		ctx, root, "serve.listen",
		"%s can be reached from other machines, and there is no "
		"token. Set serve.token to \"${file:PATH}\", or listen on "
		"127.0.0.1 or on unix:PATH behind a proxy or an SSH tunnel, "
		"or write off",
		serve->listen);
}

int settings_check_serve(struct option_context *ctx,
			 const struct config_node *root,
			 struct serve_settings *serve)
{
	struct strbuf why = STRBUF_INIT;
	int rc = 0;

	serve_default_hosts(root, serve);
	if (!listen_parse(&serve->address, serve->listen, &why))
		rc = settings_fail(ctx, root, "serve.listen", "%s", why.data);
	strbuf_release(&why);
	if (!rc)
		rc = serve_check_token(ctx, root, serve);
	if (!rc)
		rc = serve_check_hosts(ctx, root, serve);
	if (!rc)
		rc = serve_check_reach(ctx, root, serve);
	return rc;
}

void settings_release_serve(struct serve_settings *serve)
{
	free(serve->listen);
	free(serve->token);
	strlist_release(&serve->hosts);
}

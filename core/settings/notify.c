#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/base/secret.h"
#include "core/settings/input.h"

#define NOTIFY_SECRET_LEAST 16
#define NOTIFY_SECRET_MOST  1024
/* Shorter paths of a URL are words, and no secrets. */
#define NOTIFY_PATH_LEAST 16

#define NOTIFY_WEBHOOK_US (10 * US_PER_SECOND)
#define NOTIFY_COMMAND_US (30 * US_PER_SECOND)

const struct option notify_options[] = {
	{ .name = "webhook",
	  .type = OPTION_TEXT,
	  .flags = OPTION_URL,
	  OPTION_FIELD(struct notify_settings, webhook),
	  .expects = "an https:// URL",
	  .doc = "The notification is sent there by POST, as JSON. `http://` "
		 "only to this machine." },
	{ .name = "secret",
	  .type = OPTION_TEXT,
	  .flags = OPTION_SECRET,
	  OPTION_FIELD(struct notify_settings, secret),
	  .expects = "a text of 16 characters or more, best as ${file:PATH}",
	  .doc = "Key of the header `X-Tidemark-Signature: sha256=HEX`, the "
		 "HMAC of the body." },
	{ .name = "ca",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct notify_settings, ca),
	  .expects = "a PEM file",
	  .doc = "Authorities that may sign the webhook's certificate; the "
		 "system's, if it is left out." },
	{ .name = "command",
	  .type = OPTION_LIST,
	  .flags = OPTION_REPEATS,
	  OPTION_FIELD(struct notify_settings, command),
	  .expects = "a list such as [/usr/local/bin/page, --now]",
	  .doc = "A program and its arguments, without a shell. It gets the "
		 "JSON on stdin; what it says on stderr goes to the log." },
	{ .name = "on",
	  .type = OPTION_LIST,
	  .flags = OPTION_OR_TEXT,
	  OPTION_FIELD(struct notify_settings, on),
	  .expects = "a list of failed, recovered, late, dead_letters and "
		     "differences",
	  .doc = "Events that are told; all, if it is left out. Without "
		 "`differences` a run that found some is told as `failed`." },
	{ .name = "timeout",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct notify_settings, timeout_us),
	  .min = 100000,
	  .max = INT64_C(600) * US_PER_SECOND,
	  .doc = "How long a webhook (10s, if it is left out) or a command "
		 "(30s) may take." },
	{ .name = NULL },
};

static const char *const notify_names[NOTIFY_EVENTS] = {
	[NOTIFY_FAILED] = "failed",
	[NOTIFY_RECOVERED] = "recovered",
	[NOTIFY_LATE] = "late",
	[NOTIFY_LETTERS] = "dead_letters",
	[NOTIFY_DIFFERENCES] = "differences",
};

const char *notify_event_name(enum notify_event event)
{
	return notify_names[event];
}

static int notify_bad_event(struct option_context *ctx,
			    const struct config_node *node, size_t i)
{
	const struct config_node *on = config_node_find(node, "on");
	const struct config_node *item =
		on->kind == CONFIG_LIST ? on->entries[i].node : on;
	const char *near =
		nearest_name(item->text, notify_names, NOTIFY_EVENTS);
	size_t length = option_path_push(ctx, "on");
	int rc = option_fail(ctx, item->at,
			     "\"%.80s\" is no event;%s%s%s allowed: failed, "
			     "recovered, late, dead_letters, differences",
			     item->text, near ? " did you mean \"" : "",
			     near ? near : "", near ? "\"?" : "");

	option_path_pop(ctx, length);
	return rc;
}

static int notify_check_events(struct option_context *ctx,
			       const struct config_node *node,
			       struct notify_settings *n)
{
	if (config_node_find(node, "on") && !n->on.n)
		return settings_fail(ctx, node, "on",
				     "names no event; leave it out to be told "
				     "of all");
	for (size_t e = 0; e < NOTIFY_EVENTS; e++)
		n->wants[e] = !n->on.n || strlist_has(&n->on, notify_names[e]);
	for (size_t i = 0; i < n->on.n; i++) {
		size_t e = 0;

		while (e < NOTIFY_EVENTS &&
		       strcmp(n->on.items[i], notify_names[e]) != 0)
			e++;
		if (e == NOTIFY_EVENTS)
			return notify_bad_event(ctx, node, i);
	}
	return 0;
}

/* The length of HOST:PORT behind the scheme. */
static size_t notify_authority(const char *rest)
{
	return strcspn(rest, "/?#");
}

static bool notify_is_local(const char *rest)
{
	struct listen_address address;
	struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	char host[LISTEN_HOST_SIZE];
	bool local = false, port = false;

	if (host_parse(rest, notify_authority(rest), host, &port)) {
		strbuf_addf(&text, strchr(host, ':') ? "[%s]:1" : "%s:1", host);
		local = listen_parse(&address, text.data, &why) &&
			listen_is_local(&address);
	}
	strbuf_release(&text);
	strbuf_release(&why);
	return local;
}

static int notify_check_webhook(struct option_context *ctx,
				const struct config_node *node,
				const struct notify_settings *n)
{
	static const char path[] = "webhook";
	const char *url = n->webhook, *rest;
	char host[LISTEN_HOST_SIZE];
	bool port, plain = !strncmp(url, "http://", 7);

	if (!plain && strncmp(url, "https://", 8) != 0)
		return settings_fail(ctx, node, path,
				     "begins neither with https:// nor with "
				     "http://");
	rest = url + (plain ? 7 : 8);
	for (const char *p = url; *p; p++)
		if (*p <= ' ' || *p > '~' || *p == '#')
			return settings_fail(ctx, node, path,
					     "has a space, a # or another "
					     "character that has to be written "
					     "as %%XX in a URL");
	if (memchr(rest, '@', notify_authority(rest)))
		return settings_fail(ctx, node, path,
				     "has a user or password in front of the "
				     "host; the receiver knows us by `secret`");
	if (!host_parse(rest, notify_authority(rest), host, &port))
		return settings_fail(ctx, node, path, "names no host");
	if (plain && !notify_is_local(rest))
		return settings_fail(ctx, node, path,
				     "leaves this machine without TLS; use "
				     "https://");
	secret_add(url);
	rest += notify_authority(rest);
	if (strlen(rest) >= NOTIFY_PATH_LEAST)
		secret_add(rest);
	return 0;
}

static int notify_check_secret(struct option_context *ctx,
			       const struct config_node *node,
			       const struct notify_settings *n)
{
	size_t length = n->secret ? strlen(n->secret) : 0;

	if (!length ||
	    (length >= NOTIFY_SECRET_LEAST && length <= NOTIFY_SECRET_MOST))
		return 0;
	return settings_fail(ctx, node, "secret",
			     "has %zu characters; it takes %d to %d, such as "
			     "openssl rand -hex 32 writes",
			     length, NOTIFY_SECRET_LEAST, NOTIFY_SECRET_MOST);
}

static int notify_check(struct option_context *ctx,
			const struct config_node *node,
			struct notify_settings *n)
{
	int rc = 0;

	if (!n->webhook == !n->command.n)
		return settings_fail(ctx, node, "",
				     "takes either a webhook or a command");
	if (n->webhook)
		rc = notify_check_webhook(ctx, node, n);
	else if (n->secret || n->ca)
		rc = settings_fail(ctx, node, n->secret ? "secret" : "ca",
				   "is for a webhook; a command is this "
				   "machine's own");
	else if (n->command.items[0][0] != '/')
		rc = settings_fail(ctx, node, "command",
				   "\"%.80s\" is no absolute path; write "
				   "/usr/local/bin/NAME, for it is not looked "
				   "for",
				   n->command.items[0]);
	if (!rc)
		rc = notify_check_secret(ctx, node, n);
	if (!rc)
		rc = notify_check_events(ctx, node, n);
	if (!n->timeout_us)
		n->timeout_us =
			n->webhook ? NOTIFY_WEBHOOK_US : NOTIFY_COMMAND_US;
	return rc;
}

static bool notify_is_same(const struct notify_settings *a,
			   const struct notify_settings *b)
{
	if (!a->webhook != !b->webhook || a->command.n != b->command.n)
		return false;
	if (a->webhook && strcmp(a->webhook, b->webhook) != 0)
		return false;
	for (size_t i = 0; i < a->command.n; i++)
		if (strcmp(a->command.items[i], b->command.items[i]) != 0)
			return false;
	return true;
}

static int notify_parse_one(struct option_context *ctx, struct settings *s,
			    const struct config_node *node)
{
	static const struct option table = {
		.name = "notify",
		.type = OPTION_TABLE,
		.table = notify_options,
		.expects = "a map with a webhook or a command",
	};
	struct notify_settings *n = &s->notify[s->n_notify++];
	int rc;

	option_init(notify_options, n);
	rc = option_parse_table(ctx, &table, node, n);
	if (!rc)
		rc = notify_check(ctx, node, n);
	for (size_t i = 0; !rc && i + 1 < s->n_notify; i++)
		if (notify_is_same(&s->notify[i], n))
			rc = settings_fail(ctx, node, "",
					   "is there twice; write all its "
					   "events under one `on`");
	return rc;
}

int settings_parse_notify(struct option_context *ctx, struct settings *s,
			  const struct config_node *list)
{
	size_t length = option_path_push(ctx, "notify");
	int rc = 0;

	if (list->n > SETTINGS_NOTIFY_MOST)
		rc = option_fail(ctx, list->at, "has %zu entries; at most %d",
				 list->n, SETTINGS_NOTIFY_MOST);
	s->notify = xcalloc(list->n + 1, sizeof(*s->notify));
	for (size_t i = 0; !rc && i < list->n; i++)
		rc = notify_parse_one(ctx, s, list->entries[i].node);
	option_path_pop(ctx, length);
	return rc;
}

void settings_release_notify(struct settings *s)
{
	for (size_t i = 0; i < s->n_notify; i++)
		option_release(notify_options, &s->notify[i]);
	free(s->notify);
	s->notify = NULL;
	s->n_notify = 0;
}

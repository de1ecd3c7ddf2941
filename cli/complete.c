#include "cli/complete.h"

#include <ctype.h>
#include <string.h>

#include "cli/config.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/config.h"
#include "core/base/engine.h"
#include "core/settings/settings.h"
#include "core/store/chunks.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

/* A command line up to the word that is to be completed. */
struct complete {
	const struct syntax *syntax;
	const struct command *command; /* NULL: not named yet */
	const struct flag *waits; /* for its value; NULL: none */
	const char *config;
	struct strlist operands;
	struct strbuf *out;
};

static void complete_add(struct complete *c, const char *word, const char *doc)
{
	strbuf_addf(c->out, "%s\t%s\n", word, doc);
}

static void complete_take(struct complete *c, const struct flag *flag,
			  const char *value)
{
	if (flag && flag->kind != FLAG_SWITCH && !value)
		c->waits = flag;
	else if (flag && value && !strcmp(flag->name, "config"))
		c->config = value;
}

static void complete_flag(struct complete *c, const char *word)
{
	size_t n;

	if (word[1] == '-') {
		n = strcspn(word + 2, "=");
		complete_take(c,
			      syntax_flag(c->syntax, c->command, word + 2, n),
			      word[2 + n] ? word + 3 + n : NULL);
	} else {
		complete_take(
			c, syntax_flag_letter(c->syntax, c->command, word[1]),
			word[1] && word[2] ? word + 2 : NULL);
	}
}

/* bash makes three words of "--config=file". */
static void complete_word(struct complete *c, const char *word)
{
	struct error ignored = ERROR_INIT;

	if (c->waits && !strcmp(word, "="))
		return;
	if (c->waits) {
		const struct flag *flag = c->waits;

		c->waits = NULL;
		complete_take(c, flag, word);
	} else if (*word == '-') {
		complete_flag(c, word);
	} else if (c->command) {
		strlist_add(&c->operands, word);
	} else {
		c->command = syntax_command(c->syntax, word, &ignored);
	}
}

/* Chunks that are not done. A file alone is asked, and not for long: a server
 * may be far away. */
static void complete_chunks(struct complete *c)
{
	const char *path = config_path(c->config);
	struct chunk_list list = { NULL, 0, 0 };
	struct error ignored = ERROR_INIT;
	struct connection state;
	struct store *store = NULL;
	struct settings s;

	if (!path || settings_load(&s, path, &ignored))
		return;
	state = *s.state;
	state.silence_timeout_us = US_PER_SECOND;
	if (engine_has(state.url.engine, ENGINE_FILE))
		state_look(&state, &store, &ignored);
	if (store && !store_chunks_list(store, NULL, &list, &ignored))
		for (size_t i = 0; i < list.n; i++)
			if (strcmp(list.items[i].state, CHUNK_DONE) != 0)
				complete_add(c, list.items[i].chunk_id,
					     list.items[i].state);
	chunk_list_release(&list);
	store_close(store);
	settings_release(&s);
}

/* "report|apply" names the values themselves. */
static void complete_value(struct complete *c, const struct flag *flag)
{
	const char *value = flag->value;
	bool words = strchr(value, '|') && islower((unsigned char)*value);

	if (!strcmp(value, "FILE") || !strcmp(value, "PATH"))
		strbuf_addstr(c->out, COMPLETE_FILES "\n");
	if (!strcmp(flag->name, "chunk"))
		complete_chunks(c);
	if (!strcmp(flag->name, "log-format"))
		strbuf_addstr(c->out, "text\t\njson\t\nlogfmt\t\n");
	while (words && *value) {
		size_t n = strcspn(value, "|");

		strbuf_addf(c->out, "%.*s\t\n", (int)n, value);
		value += n + (value[n] == '|');
	}
}

static void complete_flags(struct complete *c, const struct flag *flags)
{
	for (; flags->name; flags++)
		strbuf_addf(c->out, "--%s\t%s\n", flags->name, flags->doc);
}

static void complete_commands(struct complete *c)
{
	for (size_t i = 0; c->syntax->commands[i]; i++)
		complete_add(c, c->syntax->commands[i]->name,
			     c->syntax->commands[i]->summary);
}

/* The config names them. Tables of a wildcard are the source's to tell. A file
 * that cannot be read has none. */
static void complete_pipelines(struct complete *c)
{
	const char *path = config_path(c->config);
	struct strlist names = STRLIST_INIT;
	struct error ignored = ERROR_INIT;

	if (path && !config_file_names(&names, path, "pipelines", &ignored))
		for (size_t i = 0; i < names.n; i++)
			if (!strlist_has(&c->operands, names.items[i]))
				complete_add(c, names.items[i], "pipeline");
	strlist_release(&names);
}

/* One of the ways that a command's operands may be, "show [PIPELINE...]". */
static void complete_way(struct complete *c, const char *way, size_t n)
{
	char *text = xstrndup(way, n);
	char *word = text + strspn(text, " [");
	size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz");
	bool named = length && !isupper((unsigned char)word[length]);
	bool first = !c->operands.n;

	if (first && named)
		strbuf_addf(c->out, "%.*s\t\n", (int)length, word);
	if (named && (first || strlen(c->operands.items[0]) != length ||
		      strncmp(c->operands.items[0], word, length) != 0))
		word = "";
	if (strstr(word, "PIPELINE"))
		complete_pipelines(c);
	if (strstr(word, "COMMAND"))
		complete_commands(c);
	free(text);
}

static void complete_operand(struct complete *c)
{
	const char *ways = c->command->operands;
	bool pipelines = false;

	for (size_t n; *ways; ways += n + (ways[n] == '|')) {
		n = strcspn(ways, "|");
		/* Two ways may begin with the same names. */
		if (!strncmp(ways + strspn(ways, " ["), "PIPELINE", 8)) {
			if (pipelines)
				continue;
			pipelines = true;
		}
		complete_way(c, ways, n);
	}
}

void complete_words(const struct syntax *s, const struct strlist *words,
		    struct strbuf *out)
{
	struct complete c = { .syntax = s, .out = out };
	const char *last = words->n > 1 ? words->items[words->n - 1] : "";

	for (size_t i = 1; i + 1 < words->n; i++)
		complete_word(&c, words->items[i]);
	if (c.waits) {
		complete_value(&c, c.waits);
	} else if (*last == '-') {
		complete_flags(&c, s->flags);
		if (c.command)
			complete_flags(&c, c.command->flags);
	} else if (!c.command) {
		complete_commands(&c);
	} else {
		complete_operand(&c);
	}
	strlist_release(&c.operands);
}

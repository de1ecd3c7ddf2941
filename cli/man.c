#include "cli/man.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "tidemark_config.h"

/* A dash is to be copied as one. A dot or a quote at a line's begin would be a
 * request. */
static void man_add(struct strbuf *sb, const char *text)
{
	bool begins = !sb->len || sb->data[sb->len - 1] == '\n';

	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '\''))
			strbuf_addstr(sb, "\\&");
		begins = *text == '\n';
		if (*text == '\\')
			strbuf_addstr(sb, "\\e");
		else if (*text == '-')
			strbuf_addstr(sb, "\\-");
		else
			strbuf_addch(sb, *text);
	}
}

static void man_line(struct strbuf *sb, const char *before, const char *text,
		     const char *behind)
{
	strbuf_addstr(sb, before);
	man_add(sb, text);
	strbuf_addstr(sb, behind);
}

/* Paragraphs are parted by empty lines. */
static void man_paragraphs(struct strbuf *sb, const char *text)
{
	strbuf_addstr(sb, ".PP\n");
	while (*text) {
		size_t n = strcspn(text, "\n");
		char *line = xstrndup(text, n);

		man_line(sb, n ? "" : ".PP", line, "\n");
		free(line);
		text += n + (text[n] == '\n');
	}
}

static void man_flags(struct strbuf *sb, const struct flag *flags)
{
	for (; flags->name; flags++) {
		strbuf_addstr(sb, ".TP\n");
		if (flags->letter)
			strbuf_addf(sb, "\\fB\\-%c\\fR, ", flags->letter);
		man_line(sb, "\\fB\\-\\-", flags->name, "\\fR");
		if (flags->value)
			man_line(sb, " \\fI", flags->value, "\\fR");
		man_line(sb, "\n", flags->doc, "\n");
	}
}

static void man_command(struct strbuf *sb, const struct command *c)
{
	man_line(sb, ".SS ", c->name, "\n.B tidemark ");
	man_line(sb, "", c->name, "\n");
	if (*c->operands)
		man_line(sb, "", c->operands, "\n");
	strbuf_addstr(sb, ".PP\n");
	strbuf_addch(sb, (char)toupper((unsigned char)*c->summary));
	man_line(sb, "", c->summary + 1, ".\n");
	if (*c->details)
		man_paragraphs(sb, c->details);
	man_flags(sb, c->flags);
	man_line(sb, ".PP\nExample:\n.PP\n.RS 4\n.EX\n", c->example,
		 "\n.EE\n.RE\n");
}

/* error_exit_status() */
static const char *const man_statuses[] = {
	"All is done.",
	"An error within Tidemark, a result that could not be printed, or with "
	"status --fail: a pipeline fails.",
	"The command line or the config is wrong.",
	"A server could not be reached, denied access or has no room, also "
	"after "
	"all attempts.",
	"The tables do not fit each other or the config.",
	"The data was refused.",
	"Another process has the pipeline, or moved its mark.",
	"The tables are different.",
	"Stopped by a signal; nothing is lost.",
};

static void man_exits(struct strbuf *sb)
{
	strbuf_addstr(sb, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < ARRAY_SIZE(man_statuses); i++) {
		strbuf_addf(sb, ".TP\n.B %zu\n", i);
		man_line(sb, "", man_statuses[i], "\n");
	}
}

void man_page(const struct syntax *s)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb,
		    ".TH TIDEMARK 1 \"\" \"tidemark %s\" \"User Commands\"\n"
		    ".SH NAME\ntidemark \\- keep warehouse tables equal to "
		    "database tables\n"
		    ".SH SYNOPSIS\n.B tidemark\n[FLAGS] COMMAND ...\n"
		    ".SH DESCRIPTION\n"
		    "Tidemark reads the rows of a table that changed, loads "
		    "them into another database, and\nremembers how far it "
		    "has come. Results go to stdout, logs and progress to "
		    "stderr.\n.PP\nThese flags stand before or behind the "
		    "command:\n",
		    TIDEMARK_VERSION);
	man_flags(&sb, s->flags);
	strbuf_addstr(&sb, ".SH COMMANDS\n");
	for (size_t i = 0; s->commands[i]; i++)
		man_command(&sb, s->commands[i]);
	man_exits(&sb);
	strbuf_addstr(&sb, ".SH FILES\n.TP\n.I tidemark.yaml\n"
			   "The config file, if no other is named.\n"
			   ".SH ENVIRONMENT\n.TP\n.B TIDEMARK_CONFIG\n"
			   "The config file, if there is no tidemark.yaml "
			   "here.\n");
	output_text(sb.data);
	strbuf_release(&sb);
}

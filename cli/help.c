#include "cli/help.h"

#include <ctype.h>

#include "cli/output.h"
#include "core/base/strbuf.h"

#define HELP_INDENT 30

static void help_flag(struct strbuf *sb, const struct flag *f)
{
	size_t begun = sb->len;

	if (f->letter)
		strbuf_addf(sb, "  -%c, --%s", f->letter, f->name);
	else
		strbuf_addf(sb, "      --%s", f->name);
	if (f->value)
		strbuf_addf(sb, " %s", f->value);
	strbuf_addf(sb, "%*s  %s\n",
		    (int)(HELP_INDENT > sb->len - begun
				  ? HELP_INDENT - (sb->len - begun)
				  : 0),
		    "", f->doc);
}

static void help_flags(struct strbuf *sb, const char *title,
		       const struct flag *flags)
{
	if (flags->name)
		strbuf_addf(sb, "\n%s\n", title);
	for (; flags->name; flags++)
		help_flag(sb, flags);
}

void help_overview(const struct syntax *s)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, "Keeps warehouse tables equal to database tables.\n"
			   "\nusage: tidemark [FLAGS] COMMAND ...\n"
			   "\nCommands:\n");
	for (size_t i = 0; s->commands[i]; i++)
		strbuf_addf(&sb, "  %-10s  %s\n", s->commands[i]->name,
			    s->commands[i]->summary);
	help_flags(&sb, "Flags, before or behind the command:", s->flags);
	strbuf_addstr(&sb, "\nFlags and an example of one command: "
			   "tidemark help COMMAND\n");
	output_text(sb.data);
	strbuf_release(&sb);
}

void help_command(const struct syntax *s, const struct command *c)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "tidemark %s: %s\n\nusage: tidemark %s%s%s\n", c->name,
		    c->summary, c->name, *c->operands ? " " : "", c->operands);
	if (*c->details)
		strbuf_addf(&sb, "\n%s\n", c->details);
	help_flags(&sb, "Flags:", c->flags);
	help_flags(&sb, "Flags of every command:", s->flags);
	strbuf_addf(&sb, "\nExample:\n  %s\n", c->example);
	output_text(sb.data);
	strbuf_release(&sb);
}

/* Markdown ends the cell of a table at a bare |, in code as well. */
static void help_reference_value(struct strbuf *sb, const char *value)
{
	strbuf_addch(sb, ' ');
	for (; *value; value++) {
		if (*value == '|')
			strbuf_addch(sb, '\\');
		strbuf_addch(sb, *value);
	}
}

static void help_reference_flags(struct strbuf *sb, const struct flag *flags)
{
	if (flags->name)
		strbuf_addstr(sb, "\n| flag | meaning |\n| --- | --- |\n");
	for (; flags->name; flags++) {
		strbuf_addstr(sb, "| `");
		if (flags->letter)
			strbuf_addf(sb, "-%c`, `", flags->letter);
		strbuf_addf(sb, "--%s", flags->name);
		if (flags->value)
			help_reference_value(sb, flags->value);
		strbuf_addf(sb, "` | %s |\n", flags->doc);
	}
}

static void help_reference_command(struct strbuf *sb, const struct command *c)
{
	strbuf_addf(sb, "\n## %s\n\n", c->name);
	/* A sentence of the summary. */
	strbuf_addch(sb, (char)toupper((unsigned char)*c->summary));
	strbuf_addf(sb, "%s.\n", c->summary + 1);
	if (*c->details)
		strbuf_addf(sb, "\n%s\n", c->details);
	strbuf_addf(sb, "\n```\ntidemark %s%s%s\n```\n", c->name,
		    *c->operands ? " " : "", c->operands);
	help_reference_flags(sb, c->flags);
	strbuf_addf(sb, "\nExample:\n\n```sh\n%s\n```\n", c->example);
}

void help_reference(const struct syntax *s)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb,
		      "# Commands\n\n"
		      "<!-- Printed by `tidemark help --reference`. -->\n\n"
		      "Results go to stdout, logs and progress to stderr. "
		      "These flags stand before or behind the command:\n");
	help_reference_flags(&sb, s->flags);
	for (size_t i = 0; s->commands[i]; i++)
		help_reference_command(&sb, s->commands[i]);
	output_text(sb.data);
	strbuf_release(&sb);
}

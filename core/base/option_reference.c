#include <string.h>

#include "core/base/option.h"
#include "core/base/units.h"

static void option_reference_choices(const struct option *option,
				     struct strbuf *md)
{
	for (const struct option_choice *c = option->choices; c->name; c++)
		strbuf_addf(md, "%s`%s`%s", c == option->choices ? "" : " ",
			    c->name, c->unsupported ? " (not yet)" : "");
}

static void option_reference_value(const struct option *option,
				   struct strbuf *md)
{
	if (option->type == OPTION_CHOICE)
		option_reference_choices(option, md);
	else
		strbuf_addstr(md, option_expects(option));
}

/* In a table's cell "|" is written "\|". */
static void option_reference_text(const char *text, struct strbuf *md)
{
	for (; *text; text++) {
		if (*text == '|')
			strbuf_addch(md, '\\');
		strbuf_addch(md, *text);
	}
}

static void option_reference_limits(const struct option *option,
				    struct strbuf *md)
{
	void (*print)(struct strbuf *, int64_t) = NULL;

	if (!option->max || option->min == option->max)
		return;
	if (option->type == OPTION_SIZE)
		print = units_print_size;
	else if (option->type == OPTION_DURATION)
		print = units_print_duration;
	if (!print) {
		strbuf_addf(md, " From %lld to %lld.", (long long)option->min,
			    (long long)option->max);
		return;
	}
	strbuf_addstr(md, " From ");
	print(md, option->min);
	strbuf_addstr(md, " to ");
	print(md, option->max);
	strbuf_addch(md, '.');
}

static void option_reference_row(const struct option *option,
				 const char *prefix, unsigned flags,
				 struct strbuf *md)
{
	strbuf_addf(md, "| `%s%s` | ", prefix, option->name);
	option_reference_value(option, md);
	if (option->default_text)
		strbuf_addf(md, " | `%s` | ",
			    *option->default_text ? option->default_text
						  : "\"\"");
	else if (option->flags & OPTION_REQUIRED && !(flags & OPTION_PARTIAL))
		strbuf_addstr(md, " | required | ");
	else
		strbuf_addstr(md, " |  | ");
	option_reference_text(option->doc, md);
	option_reference_limits(option, md);
	if ((option->flags | flags) & OPTION_UNSUPPORTED)
		strbuf_addstr(md, " *Not supported yet.*");
	strbuf_addstr(md, " |\n");
}

static void option_reference_rows(const struct option *table,
				  const char *prefix, unsigned flags,
				  struct strbuf *md)
{
	for (table = option_row(table); table; table = option_row(table + 1)) {
		struct strbuf deeper = STRBUF_INIT;

		option_reference_row(table, prefix, flags, md);
		/* Parts noted by a parse() have a section of their own. */
		if (table->table && !table->parse) {
			strbuf_addf(&deeper, "%s%s.", prefix, table->name);
			option_reference_rows(table->table, deeper.data,
					      flags | table->flags, md);
		}
		strbuf_release(&deeper);
	}
}

void option_reference(const struct option *table, struct strbuf *markdown)
{
	strbuf_addstr(markdown, "| key | value | default | meaning |\n"
				"| --- | --- | --- | --- |\n");
	option_reference_rows(table, "", 0, markdown);
}

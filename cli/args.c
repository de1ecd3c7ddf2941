#include "cli/args.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/base/units.h"

/* Where the parser stands. */
struct cursor {
	struct arguments *out;
	int argc;
	char *const *argv;
	int next;
	bool flags_ended;
};

static const struct flag *flag_find(const struct flag *flags, const char *name,
				    size_t n)
{
	for (; flags && flags->name; flags++)
		if (strlen(flags->name) == n && !memcmp(flags->name, name, n))
			return flags;
	return NULL;
}

static const struct flag *flag_find_letter(const struct flag *flags,
					   char letter)
{
	for (; flags && flags->name; flags++)
		if (flags->letter && flags->letter == letter)
			return flags;
	return NULL;
}

const struct flag *syntax_flag(const struct syntax *s, const struct command *c,
			       const char *name, size_t n)
{
	const struct flag *flag = flag_find(s->flags, name, n);

	return flag || !c ? flag : flag_find(c->flags, name, n);
}

const struct flag *syntax_flag_letter(const struct syntax *s,
				      const struct command *c, char letter)
{
	const struct flag *flag = flag_find_letter(s->flags, letter);

	return flag || !c ? flag : flag_find_letter(c->flags, letter);
}

static size_t flag_collect(const struct flag *flags, const char **names,
			   size_t n, size_t max)
{
	for (; flags && flags->name; flags++)
		if (n < max)
			names[n++] = flags->name;
	return n;
}

static const struct command *command_find(const struct command *const *commands,
					  const char *name)
{
	for (; *commands; commands++)
		if (!strcmp((*commands)->name, name))
			return *commands;
	return NULL;
}

const struct command *syntax_command(const struct syntax *s, const char *name,
				     struct error *err)
{
	const char *names[64], *near;
	size_t n = 0;
	const struct command *c = command_find(s->commands, name);

	if (c)
		return c;
	for (; n < ARRAY_SIZE(names) && s->commands[n]; n++)
		names[n] = s->commands[n]->name;
	near = nearest_name(name, names, n);
	error_set(err, ERROR_CONFIG, "unknown command \"%s\"", name);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	else
		error_hint(err, "(\"tidemark help\" lists the commands)");
	return NULL;
}

/* A flag that belongs to some command, given before the command's name. */
static int flag_unknown_early(const struct arguments *a, const char *name,
			      size_t n, struct error *err)
{
	for (size_t i = 0; a->syntax->commands[i]; i++) {
		const struct command *c = a->syntax->commands[i];

		if (flag_find(c->flags, name, n))
			return error_set(err, ERROR_CONFIG,
					 "--%.*s stands before the command; "
					 "flags of a command go behind its "
					 "name: tidemark %s --%.*s",
					 (int)n, name, c->name, (int)n, name);
	}
	return 0;
}

static int flag_unknown(const struct arguments *a, const char *name, size_t n,
			struct error *err)
{
	const char *names[64], *near;
	size_t n_names;
	char *word;
	int code = a->command ? 0 : flag_unknown_early(a, name, n, err);

	if (code)
		return code;
	n_names = flag_collect(a->syntax->flags, names, 0, ARRAY_SIZE(names));
	if (a->command)
		n_names = flag_collect(a->command->flags, names, n_names,
				       ARRAY_SIZE(names));
	word = xstrndup(name, n);
	near = nearest_name(word, names, n_names);
	code = error_set(err, ERROR_CONFIG, "unknown flag --%s", word);
	free(word);
	if (near)
		error_hint(err, "(did you mean --%s?)", near);
	else
		error_hint(err, "(see tidemark help%s%s)",
			   a->command ? " " : "",
			   a->command ? a->command->name : "");
	return code;
}

static int flag_number(struct flag_value *v, struct error *err)
{
	if (v->flag->kind == FLAG_COUNT) {
		if (units_parse_count(v->text, &v->number) && v->number > 0)
			return 0;
		return error_set(err, ERROR_CONFIG,
				 "--%s takes a whole number from 1, not \"%s\"",
				 v->flag->name, v->text);
	}
	if (units_parse_duration(v->text, &v->number) && v->number > 0)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "--%s takes a duration such as 500ms, 30s or 10m, "
			 "not \"%s\"",
			 v->flag->name, v->text);
}

static const struct flag_value *flag_given(const struct arguments *a,
					   const char *name)
{
	for (size_t i = 0; i < a->n_flags; i++)
		if (!strcmp(a->flags[i].flag->name, name))
			return &a->flags[i];
	return NULL;
}

/* Keep the flag; `inline_value` is what followed "=", or NULL. */
static int flag_take(struct cursor *c, const struct flag *flag,
		     const char *inline_value, struct error *err)
{
	struct flag_value v = { .flag = flag };

	if (flag->kind == FLAG_SWITCH && inline_value)
		return error_set(err, ERROR_CONFIG, "--%s takes no value",
				 flag->name);
	if (flag->kind != FLAG_SWITCH) {
		v.text = inline_value;
		if (!v.text && c->next < c->argc)
			v.text = c->argv[c->next++];
		if (!v.text || !*v.text)
			return error_set(err, ERROR_CONFIG,
					 "--%s needs a value: --%s %s",
					 flag->name, flag->name, flag->value);
		if (flag->kind != FLAG_LIST && flag_given(c->out, flag->name))
			return error_set(err, ERROR_CONFIG,
					 "--%s is given twice", flag->name);
	}
	if (flag->kind == FLAG_COUNT || flag->kind == FLAG_DURATION) {
		int code = flag_number(&v, err);

		if (code)
			return code;
	}
	if (c->out->n_flags == ARGUMENTS_MAX_FLAGS)
		return error_set(err, ERROR_CONFIG, "too many flags");
	c->out->flags[c->out->n_flags++] = v;
	return 0;
}

static int cursor_long(struct cursor *c, const char *word, struct error *err)
{
	struct arguments *a = c->out;
	size_t n = strcspn(word, "=");
	const struct flag *flag = syntax_flag(a->syntax, a->command, word, n);

	if (!flag)
		return flag_unknown(a, word, n, err);
	return flag_take(c, flag, word[n] ? word + n + 1 : NULL, err);
}

/* "-v", "-c FILE", "-cFILE", "-vq". */
static int cursor_short(struct cursor *c, const char *word, struct error *err)
{
	struct arguments *a = c->out;

	for (; *word; word++) {
		const struct flag *flag =
			syntax_flag_letter(a->syntax, a->command, *word);
		const char *rest = NULL;
		int code;

		if (!flag)
			return error_set(err, ERROR_CONFIG,
					 "unknown flag -%c (see tidemark help)",
					 *word);
		if (flag->kind != FLAG_SWITCH && word[1])
			rest = word + 1;
		code = flag_take(c, flag, rest, err);
		if (code || rest)
			return code;
	}
	return 0;
}

static int cursor_word(struct cursor *c, const char *word, struct error *err)
{
	struct arguments *a = c->out;

	if (!c->flags_ended && !strcmp(word, "--")) {
		c->flags_ended = true;
		return 0;
	}
	if (!c->flags_ended && word[0] == '-' && word[1] == '-')
		return cursor_long(c, word + 2, err);
	if (!c->flags_ended && word[0] == '-' && word[1])
		return cursor_short(c, word + 1, err);
	if (a->command) {
		strlist_add(&a->operands, word);
		return 0;
	}
	a->command = syntax_command(a->syntax, word, err);
	return a->command ? 0 : -(int)ERROR_CONFIG;
}

static int arguments_check_operands(const struct arguments *a,
				    struct error *err)
{
	const struct command *c = a->command;

	if (!c || flag_given(a, "help"))
		return 0;
	if (a->operands.n < c->min_operands)
		return error_set(err, ERROR_CONFIG,
				 "%s needs %s (see tidemark help %s)", c->name,
				 c->operands, c->name);
	if (a->operands.n > c->max_operands)
		return error_set(err, ERROR_CONFIG,
				 "%s: unexpected argument \"%s\" (usage: "
				 "tidemark %s%s%s)",
				 c->name, a->operands.items[c->max_operands],
				 c->name, *c->operands ? " " : "", c->operands);
	return 0;
}

int arguments_parse(struct arguments *out, const struct syntax *syntax,
		    int argc, char *const *argv, struct error *err)
{
	struct cursor c = { out, argc, argv, 1, false };

	memset(out, 0, sizeof(*out));
	out->syntax = syntax;
	while (c.next < argc) {
		int code = cursor_word(&c, argv[c.next++], err);

		if (code)
			return code;
	}
	return arguments_check_operands(out, err);
}

void arguments_release(struct arguments *a)
{
	strlist_release(&a->operands);
	a->n_flags = 0;
}

bool arguments_has(const struct arguments *a, const char *flag)
{
	return flag_given(a, flag);
}

const char *arguments_text(const struct arguments *a, const char *flag)
{
	const struct flag_value *v = flag_given(a, flag);

	return v ? v->text : NULL;
}

int64_t arguments_number(const struct arguments *a, const char *flag)
{
	const struct flag_value *v = flag_given(a, flag);

	return v ? v->number : 0;
}

void arguments_list(const struct arguments *a, const char *flag,
		    struct strlist *out)
{
	for (size_t i = 0; i < a->n_flags; i++)
		if (!strcmp(a->flags[i].flag->name, flag))
			strlist_add(out, a->flags[i].text);
}

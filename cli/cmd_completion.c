#include <string.h>

#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/output.h"
#include "core/base/alloc.h"

/* Each script asks the program that is being typed, so it never grows old. A
 * program that is missing or fails gives no words, and no noise. */
static const char completion_bash[] =
	"_tidemark() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} word\n"
	"\tCOMPREPLY=()\n"
	"\t[[ $cur == = ]] && cur=\n"
	"\twhile IFS=$'\\t' read -r word _; do\n"
	"\t\tif [[ $word == " COMPLETE_FILES " ]]; then\n"
	"\t\t\tcompopt -o filenames\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\t\telif [[ $word == \"$cur\"* ]]; then\n"
	"\t\t\tCOMPREPLY+=(\"$(printf %q \"$word\")\")\n"
	"\t\tfi\n"
	"\tdone < <(\"${COMP_WORDS[0]}\" completion words -- \\\n"
	"\t\t\"${COMP_WORDS[@]:0:COMP_CWORD+1}\" 2>/dev/null </dev/null)\n"
	"}\n"
	"complete -F _tidemark tidemark\n";

/* A colon parts a word from its description. */
static const char completion_zsh[] =
	"#compdef tidemark\n"
	"_tidemark() {\n"
	"\tlocal -a found\n"
	"\tlocal line tab=$'\\t'\n"
	"\tfor line in ${(f)\"$(${words[1]} completion words -- \\\n"
	"\t\t\"${(@)words[1,CURRENT]}\" 2>/dev/null </dev/null)\"}; do\n"
	"\t\tif [[ $line == " COMPLETE_FILES " ]]; then\n"
	"\t\t\t_files\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\tfound+=(\"${${line%%$tab*}//:/\\\\:}:${line#*$tab}\")\n"
	"\tdone\n"
	"\t_describe tidemark found\n"
	"}\n"
	"if [[ $funcstack[1] == _tidemark ]]; then\n"
	"\t_tidemark \"$@\"\n"
	"else\n"
	"\tcompdef _tidemark tidemark\n"
	"fi\n";

static const char completion_fish[] =
	"function __tidemark_words\n"
	"\tset -l words (commandline -opc) (commandline -ct)\n"
	"\tfor line in ($words[1] completion words -- $words "
	"2>/dev/null </dev/null)\n"
	"\t\tif test \"$line\" = " COMPLETE_FILES "\n"
	"\t\t\t__fish_complete_path (commandline -ct)\n"
	"\t\telse\n"
	"\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c tidemark -f -a '(__tidemark_words)'\n";

static const struct {
	const char *shell, *script;
} completions[] = {
	{ "bash", completion_bash },
	{ "zsh", completion_zsh },
	{ "fish", completion_fish },
};

static int completion_words(const struct arguments *args)
{
	struct strlist words = STRLIST_INIT;
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 1; i < args->operands.n; i++)
		strlist_add(&words, args->operands.items[i]);
	complete_words(args->syntax, &words, &out);
	output_text(out.len ? out.data : "");
	strbuf_release(&out);
	strlist_release(&words);
	return 0;
}

static int completion_run(const struct arguments *args, struct error *err)
{
	const char *shell = args->operands.items[0];

	if (!strcmp(shell, "words"))
		return completion_words(args);
	for (size_t i = 0; i < ARRAY_SIZE(completions); i++) {
		if (!strcmp(completions[i].shell, shell)) {
			output_text(completions[i].script);
			return 0;
		}
	}
	return error_set(err, ERROR_CONFIG,
			 "completion is for bash, zsh and fish, not for \"%s\"",
			 shell);
}

static const struct flag completion_flags[] = {
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_completion = {
	.name = "completion",
	.operands = "bash | zsh | fish | words -- WORD...",
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.summary = "print a script that lets a shell complete commands",
	.details =
		"The script asks `tidemark completion words` for each word "
		"that is typed: commands,\nflags, values, and the pipelines of "
		"the "
		"config file. No connection is made, and\nnothing is "
		"written.\n\n"
		"bash: eval \"$(tidemark completion bash)\" in ~/.bashrc.\n"
		"zsh: tidemark completion zsh > ~/.zfunc/_tidemark, a folder "
		"of $fpath.\n"
		"fish: tidemark completion fish > "
		"~/.config/fish/completions/tidemark.fish.",
	.example = "eval \"$(tidemark completion bash)\"",
	.flags = completion_flags,
	.run = completion_run,
};

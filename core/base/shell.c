#include "core/base/shell.h"

#include <stdbool.h>
#include <string.h>

void shell_add_word(struct strbuf *sb, const char *word)
{
	bool plain = *word && word[strspn(word, "abcdefghijklmnopqrstuvwxyz"
						"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						"0123456789_./:@=+,-")] == '\0';

	if (plain) {
		strbuf_addstr(sb, word);
		return;
	}
	strbuf_addch(sb, '\'');
	for (; *word; word++)
		if (*word == '\'')
			strbuf_addstr(sb, "'\\''");
		else
			strbuf_addch(sb, *word);
	strbuf_addch(sb, '\'');
}

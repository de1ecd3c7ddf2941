#include "cli/urls.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/strbuf.h"
#include "core/base/url.h"
#include "core/base/url_secrets.h"

char **urls_take(int argc, char **argv)
{
	char **words = xcalloc((size_t)argc + 1, sizeof(*words));

	for (int i = 0; i < argc; i++) {
		char *copy = xstrdup(argv[i]);

		words[i] = argv[i];
		if (url_wipe(argv[i])) {
			words[i] = copy;
			url_remember(copy);
		} else {
			free(copy);
		}
	}
	return words;
}

void urls_free(int argc, char **words, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (words[i] == argv[i])
			continue;
		explicit_bzero(words[i], strlen(words[i]));
		free(words[i]);
	}
	free(words);
}

static void urls_add(struct strbuf *names, const char *name, const char *url)
{
	if (url && url_has_password(url))
		strbuf_addf(names, "%s%s", names->len ? ", " : "", name);
}

void urls_warn(const char *source, const char *destination, const char *state)
{
	struct strbuf names = STRBUF_INIT;

	urls_add(&names, "SOURCE_URL", source);
	urls_add(&names, "DESTINATION_URL", destination);
	urls_add(&names, "--state", state);
	if (names.len)
		log_warn("%s: a password on a command line was readable until "
			 "it was wiped, and the shell's history keeps it; "
			 "better is a variable in single quotes "
			 "('postgresql://app:${SHOP_PASSWORD}@db/shop'), or "
			 "${file:PATH}",
			 names.data);
	strbuf_release(&names);
}

char *urls_shown(const char *word)
{
	char *shown = xstrdup(word);

	url_wipe(shown);
	return shown;
}

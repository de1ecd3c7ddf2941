/* Any bytes as a config file: parsed and judged, or refused with a place. */
#include <stdlib.h>
#include <string.h>

#include "core/base/secret.h"
#include "core/settings/settings.h"
#include "tests/fuzz/fuzz.h"

const char *__lsan_default_suppressions(void);
/* libfyaml 0.7 forgets 512 bytes of a scalar with many quotes or escapes
 * (its issue 233). */
const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml";
}

static void fuzz_settings(const struct config_file *file)
{
	struct error err = ERROR_INIT;
	struct settings s;

	if (settings_parse(&s, file, &err)) {
		if (err.code != ERROR_CONFIG || strncmp(err.message, "f:", 2))
			abort();
		return;
	}
	if (!s.n_pipelines)
		abort();
	settings_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = ERROR_INIT;
	struct config_file file;

	/* Files of this machine are no part of the input. */
	if (memmem(data, size, "${file:", 7))
		return 0;
	if (config_file_parse(&file, "f", (const char *)data, size, &err)) {
		if (err.code != ERROR_CONFIG || !*err.message)
			abort();
		return 0;
	}
	fuzz_settings(&file);
	config_file_release(&file);
	secret_forget_all();
	return 0;
}

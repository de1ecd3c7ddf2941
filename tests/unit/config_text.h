/* Configs from text, for the programs that test settings. */
#ifndef TIDEMARK_TESTS_UNIT_CONFIG_TEXT_H
#define TIDEMARK_TESTS_UNIT_CONFIG_TEXT_H

#include "core/base/alloc.h"
#include "core/settings/settings.h"

/* Line 1. */
#define CONNECTIONS                                                            \
	"connections: {s: postgresql://h/d, w: 'sqlite:w.db', "                \
	"m: mysql://h/d}\n"
/* Lines 2 to 6: a pipeline without its watermark, which follows. */
#define PIPELINE                                                               \
	CONNECTIONS "pipelines:\n"                                             \
		    "  p:\n"                                                   \
		    "    source: {connection: s, table: public.t}\n"           \
		    "    destination: {connection: w, table: t}\n"
/* Lines 2 to 6, complete; more keys of the pipeline may follow. */
#define COMPLETE PIPELINE "    watermark: {strategy: xmin}\n"

static inline int config_text(struct settings *out, const char *text,
			      bool exposed, struct error *err)
{
	struct config_file file;
	int rc = config_file_parse(&file, "t.yaml", text, strlen(text), err);

	if (rc)
		return rc;
	if (exposed)
		file.exposed = xstrdup("t.yaml can be read by others");
	rc = settings_parse(out, &file, err);
	config_file_release(&file);
	return rc;
}

#endif

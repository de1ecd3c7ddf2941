#include "core/store/ids.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/digest.h"
#include "core/store/session.h"

/* Behind every digit of an id, in any collation. */
#define IDS_BEHIND "g"

/* One more than an error names. */
#define IDS_MOST "4"

static const struct {
	const char *what, *sql;
} ids[] = {
	[STORE_IDS_RUNS] = { "runs", "SELECT run_id FROM runs\n"
				     "WHERE run_id >= $1 AND run_id < $2\n"
				     "ORDER BY run_id LIMIT " IDS_MOST },
	[STORE_IDS_LETTERS] = { "dead letters", "SELECT id FROM dead_letters\n"
						"WHERE id >= $1 AND id < $2\n"
						"ORDER BY id LIMIT " IDS_MOST },
};

static int ids_note(void *ctx, const char *const *values, struct error *err)
{
	(void)err;
	strlist_add(ctx, values[0]);
	return 0;
}

static bool ids_is_short(const char *text)
{
	size_t n = strlen(text);

	return n >= STORE_ID_LEAST && n < DIGEST_TEXT_SIZE - 1 &&
	       strspn(text, "0123456789abcdef") == n;
}

static int ids_refuse(enum store_ids of, const char *text,
		      const struct strlist *found, struct error *err)
{
	struct strbuf some = STRBUF_INIT;

	for (size_t i = 0; i < found->n && i < 3; i++)
		strbuf_addf(&some, "%s%s", i ? ", " : "", found->items[i]);
	error_set(err, ERROR_CONFIG,
		  "several %s begin with %s: %s%s; type more of the one that "
		  "is meant",
		  ids[of].what, text, some.data,
		  found->n > 3 ? " and others" : "");
	strbuf_release(&some);
	return -ERROR_CONFIG;
}

int store_id_find(struct store *s, enum store_ids of, const char *text,
		  char **out, struct error *err)
{
	struct strlist found = STRLIST_INIT;
	char *behind;
	int rc = 0;

	*out = NULL;
	if (ids_is_short(text)) {
		behind = xstrfmt("%s" IDS_BEHIND, text);
		rc = store_run(s, ids[of].sql, (const char *[]){ text, behind },
			       2, "t", ids_note, &found, err);
		free(behind);
	}
	if (!rc && found.n > 1)
		rc = ids_refuse(of, text, &found, err);
	if (!rc)
		*out = xstrdup(found.n ? found.items[0] : text);
	strlist_release(&found);
	return rc;
}

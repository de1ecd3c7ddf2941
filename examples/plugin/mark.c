#include "mark.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ndjson_mark_release(struct mark *m)
{
	checkpoint_release(&m->seen);
	m->number = 0;
}

/* The mark as it stands; without one, `seen` is empty. */
int ndjson_mark_read(struct mark *m, const char *path, struct error *err)
{
	json_error_t where;
	json_t *mark = NULL;
	const char *watermark, *batch_id = NULL;
	json_int_t fence, rows, number;

	ndjson_mark_release(m);
	if (access(path, F_OK))
		return errno == ENOENT ? 0 : failed("read", path, err);
	mark = json_load_file(path, 0, &where);
	if (!mark || json_unpack_ex(mark, &where, 0, "{s:s, s:I, s:I, s:I}",
				    "batch_id", &batch_id, "fence", &fence,
				    "rows_total", &rows, "file", &number)) {
		json_decref(mark);
		return error_set(err, ERROR_STATE, "%s is no mark: %s", path,
				 where.text);
	}
	watermark = json_string_value(json_object_get(mark, "watermark"));
	m->seen.found = true;
	m->seen.watermark = watermark ? xstrdup(watermark) : NULL;
	m->seen.batch_id = xstrdup(batch_id);
	m->seen.fence = fence;
	m->seen.rows_total = rows;
	m->number = number;
	json_decref(mark);
	return 0;
}

/* The commit. */
int ndjson_mark_write(const struct names *n, const char *watermark,
		      const char *batch_id, int64_t fence, int64_t rows,
		      int64_t number, struct error *err)
{
	FILE *file = fopen(n->next_mark, "we");
	int rc;

	if (!file)
		return failed("write", n->next_mark, err);
	rc = write_json(file,
			json_pack("{s:s?, s:s, s:I, s:I, s:I}", "watermark",
				  watermark, "batch_id", batch_id, "fence",
				  (json_int_t)fence, "rows_total",
				  (json_int_t)rows, "file", (json_int_t)number),
			n->next_mark, err);
	if (close_file(file, n->next_mark, rc ? NULL : err) && !rc)
		rc = -(int)err->code;
	return rc ? rc : rename_file(n->next_mark, n->mark, n->marks, err);
}

/* A mark's name is that of its pipeline, escaped. */
static bool is_mark_of_other(const char *name, const char *pipeline)
{
	size_t n = strlen(name), own = strlen(pipeline);

	return n > 5 && !strcmp(name + n - 5, ".json") &&
	       (n - 5 != own || strncmp(name, pipeline, own) != 0);
}

static int add_other(const char *marks, const char *name, struct strlist *out,
		     struct error *err)
{
	char *path = xstrfmt("%s/%s", marks, name);
	char *pipeline = url_decode(name, strlen(name) - 5);
	json_error_t where;
	json_t *mark = json_load_file(path, 0, &where);
	const char *watermark =
		json_string_value(json_object_get(mark, "watermark"));
	int rc = 0;

	if (!mark)
		rc = error_set(err, ERROR_STATE, "%s is no mark: %s", path,
			       where.text);
	if (!rc && watermark) {
		strlist_add(out, pipeline);
		strlist_add(out, watermark);
	}
	json_decref(mark);
	free(pipeline);
	free(path);
	return rc;
}

int ndjson_mark_others(const struct names *n, struct strlist *out,
		       struct error *err)
{
	struct dirent **found = NULL;
	int count = scandir(n->marks, &found, NULL, alphasort);
	int rc = count < 0 && errno != ENOENT ? failed("read", n->marks, err)
					      : 0;

	for (int i = 0; i < count; i++) {
		if (!rc && is_mark_of_other(found[i]->d_name, n->pipeline))
			rc = add_other(n->marks, found[i]->d_name, out, err);
		free(found[i]);
	}
	free(found);
	return rc;
}

int ndjson_raise(struct destination *base, const struct target *target,
		 const char *mark, struct error *err)
{
	(void)base;
	(void)target;
	(void)mark;
	(void)err;
	return 0;
}

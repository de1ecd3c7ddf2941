#include "core/sync/verify/work.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void verify_work_release(struct verify_work *w)
{
	compare_release(&w->compare);
	strlist_release(&w->load);
	strlist_release(&w->extra);
	free(w->hashes);
	memset(w, 0, sizeof(*w));
}

void verify_work_reset(struct verify_work *w)
{
	bool load = w->wants_load, extra = w->wants_extra;

	verify_work_release(w);
	w->wants_load = load;
	w->wants_extra = extra;
}

bool verify_work_is_empty(const struct verify_work *w)
{
	return !w->load.n && !w->n_extra;
}

static void work_add_texts(struct strlist *list, const struct suspect *x,
			   size_t n_key)
{
	for (size_t i = 0; i < n_key; i++)
		strlist_add(list, x->texts[COMPARE_SOURCE][i]);
}

/* A key that the source has once and the destination twice is loaded, too:
 * that leaves one. */
void verify_work_add(struct verify_work *w, const struct suspect *x,
		     size_t n_key)
{
	bool gone = !x->rows[COMPARE_SOURCE].rows;

	if (gone ? !w->wants_extra : !w->wants_load)
		return;
	if (w->n_extra == VERIFY_WORK_MOST ||
	    w->load.n == VERIFY_WORK_MOST * n_key) {
		w->more = true;
	} else if (gone) {
		w->hashes = xgrow(w->hashes, &w->capacity, w->n_extra + 1,
				  sizeof(*w->hashes));
		w->hashes[w->n_extra++] = x->key;
		work_add_texts(&w->extra, x, n_key);
	} else {
		work_add_texts(&w->load, x, n_key);
	}
}

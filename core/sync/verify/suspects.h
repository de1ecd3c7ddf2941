/*
 * Answers of the sides of a comparison about keys that are suspects by now.
 * Their rows are looked up, counted, and looked for past the mark.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_SUSPECTS_H
#define TIDEMARK_CORE_SYNC_VERIFY_SUSPECTS_H

#include "core/plugin/store.h"
#include "core/sync/verify/reading.h"
#include "core/sync/verify/tally.h"

/* Keys of one look-up. */
#define VERIFY_KEYS 5000

/* Read the rows of the suspects from `first` to `end`, as they are now. */
int verify_read_suspects(struct verify_side *s, const struct suspects *suspects,
			 size_t first, size_t end,
			 const struct verify_look *look, struct error *err);
/* Counts the rows of suspects, at whichever side it looks. */
struct verify_look verify_counting(const struct compare *compare,
				   struct suspects *suspects);
/* Count at that side what all of these suspects have there now. */
int verify_count_suspects(struct verify_side *s, const struct compare *compare,
			  struct suspects *suspects, struct error *err);
/* The same once more, for the source. Keys may have changed since they were
 * counted. If the row is gone, or its mark lies past `from`, the key is `past`.
 * Any other changed key is `changed` and counts as it is now. A change alone is
 * no excuse, since a view may show other values at each look. `*changed`: there
 * are some, so that the destination is to be counted again. */
int verify_mark_changed(struct verify_side *s, const struct watermark *from,
			const struct compare *compare,
			struct suspects *suspects, bool *changed,
			struct error *err);
/* Note which of them the source `s` has past the mark, by verify_read_past().
 */
int verify_mark_past(struct verify_side *s, const struct watermark *from,
		     const struct compare *compare, struct suspects *suspects,
		     struct error *err);
/* Keys that wait as dead letters are `past`, too: they are not at the
 * destination, and somebody knows. `s`: the source. */
int verify_excuse_letters(const struct verify_side *s, struct store *store,
			  struct suspects *suspects, struct error *err);

#endif

/*
 * How coarse are the marks of a column? A transaction may still write a mark at
 * the beginning of the open tick, so the mark must stay before that. A type
 * says how many digits of a second it has. Only its own text says what an
 * expression does to them.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_TICK_H
#define TIDEMARK_CONNECTORS_COMMON_TICK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/data/type.h"
#include "core/plugin/problem.h"

struct settled;
struct strbuf;

/* Texts that stand for a computation and are never plain: an unknown one, an
 * aggregate, and a view whose rows depend on other rows. */
#define TICK_UNKNOWN "select"
#define TICK_GROUPED "select min()"
#define TICK_OTHERS  "select others()"

/* Why a mark is not plain. */
enum tick_doubt {
	TICK_IS_COARSE,
	TICK_IS_GROUPED,
	TICK_HAS_OTHERS,
};

/* Is the result of `text` as fine as `type` says, and no later than when it was
 * written? It is if `text` only chooses among columns and clocks and changes
 * their type. A step of a second is fine enough: the settled point stays that
 * far behind. `functions` are the engine's own that do no more, in lower case,
 * NULL at the end. NULL as text: nothing is computed. */
bool tick_is_plain(const char *text, const struct type *type,
		   const char *const *functions);

/* Do the texts choose among the values of several rows (an aggregate, a
 * window), or depend on other rows? NULL: they do not. A function of several
 * arguments with such a name in one engine (SQLite's `max(a, b)`) counts as
 * well. */
enum tick_doubt tick_doubt(const char *expression, const char *computed);

/* Is the word, of `n` bytes, among those of " these words "? Case does not
 * count. */
bool tick_lists(const char *words, const char *word, size_t n);

/* If the mark is not plain: the guarantee is lag, and `check` warns. */
void tick_explain(const char *column, enum tick_doubt doubt,
		  struct settled *out, struct strbuf *reason);
void tick_report(struct problems *out, const char *table, const char *column,
		 enum tick_doubt doubt);

#endif

/*
 * A pass that would find nothing. The questions that settle the mark are
 * followed by another one: is there a row behind the mark? Its answer has a
 * snapshot of its own, later than the settled point. If there is none, the
 * pages of the next pass are known to be empty.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_IDLE_H
#define TIDEMARK_CONNECTORS_MYSQL_IDLE_H

#include "connectors/mysql/source.h"

/* The question, for mysql_client_ask_ahead(). */
void mysql_source_idle_foresee(struct mysql_source *c,
			       const struct watermark *from,
			       struct strlist *out);
/* Keep the answer, if it is ahead still. It is not once the transactions were
 * looked at again: it may be older than what has settled since. */
int mysql_source_idle_take(struct mysql_source *c, const struct watermark *from,
			   struct error *err);
void mysql_source_idle_forget(struct mysql_source *c);
/* A pass begins: the answer is for this one alone. */
void mysql_source_idle_pass(struct mysql_source *c);
/* Is the page that is to be opened known to be empty? */
bool mysql_source_idle_page(struct mysql_source *c);

#endif

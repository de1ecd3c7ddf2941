/*
 * The source of a column's ids, for strategy sequence: the greatest one, and
 * whether the server gives them out one after the other.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_IDS_H
#define TIDEMARK_CONNECTORS_MYSQL_IDS_H

#include "connectors/mysql/source.h"

struct mysql_source_ids {
	char *greatest; /* NULL: there is no row */
	int64_t step; /* auto_increment_increment of the server */
	bool given; /* AUTO_INCREMENT */
	bool spent; /* it gives no id beyond the greatest */
};

/* Its question, for mysql_client_ask_ahead(). */
void mysql_source_ids_foresee(const struct mysql_source *c,
			      struct strlist *out);
int mysql_source_ids_read(struct mysql_source *c, struct mysql_source_ids *out,
			  struct error *err);
void mysql_source_ids_release(struct mysql_source_ids *ids);

/* Why an id may come later that the mark has passed. */
struct mysql_source_ids_doubt {
	const char *code; /* the problem's code in `check`; NULL: it cannot */
	char *reason, *fix;
};
void mysql_source_ids_doubt(const struct mysql_source *c,
			    const struct mysql_source_ids *ids,
			    struct mysql_source_ids_doubt *out);
void mysql_source_ids_doubt_release(struct mysql_source_ids_doubt *d);

#endif

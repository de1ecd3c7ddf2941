/*
 * Where the ids of a column come from, for strategy sequence: the greatest one,
 * and whether the server gives them out one after the other.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_IDS_H
#define TIDEMARK_CONNECTORS_MYSQL_IDS_H

#include "connectors/mysql/source.h"

struct mysrc_ids {
	char *greatest; /* NULL: there is no row */
	int64_t step; /* auto_increment_increment of the server */
	bool given; /* AUTO_INCREMENT */
	bool spent; /* it gives no id beyond the greatest */
};

int mysrc_ids_read(struct mysrc *c, struct mysrc_ids *out, struct error *err);
void mysrc_ids_release(struct mysrc_ids *ids);

/* Why an id may come later that the mark has passed. */
struct mysrc_ids_doubt {
	const char *code; /* of check; NULL: it cannot */
	char *reason, *fix;
};
void mysrc_ids_doubt(const struct mysrc *c, const struct mysrc_ids *ids,
		     struct mysrc_ids_doubt *out);
void mysrc_ids_doubt_release(struct mysrc_ids_doubt *d);

#endif

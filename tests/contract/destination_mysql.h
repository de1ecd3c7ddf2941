/* Shared by the files over MariaDB and MySQL. */
#ifndef TIDEMARK_TESTS_CONTRACT_DESTINATION_MYSQL_H
#define TIDEMARK_TESTS_CONTRACT_DESTINATION_MYSQL_H

#include "destination_suite.h"

#define ALL  "SELECT * FROM orders ORDER BY id;"
#define MARK "{\"value\":\"1\"}"

/* An upsert into `orders`. */
struct world *mysql_world(void **state, const char *spec);
/* SQL as somebody who may do everything. */
void mysql_admin(struct world *w, const char *sql);
/* And what it prints; caller frees. */
char *mysql_admin_says(struct world *w, const char *sql);
/* local_infile and max_allowed_packet as the suite found them. */
void mysql_back_to_normal(struct world *w);
/* The world's error has the word in it. */
void mysql_refused(struct world *w, const char *word);
/* "1|row 1\n..."; caller frees. */
char *mysql_many_rows(int n);

#endif

/*
 * How MySQL and MariaDB word their errors: data for core/base/wording.h.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_WORDING_H
#define TIDEMARK_CLIENTS_MYSQL_WORDING_H

/* Both end with NULL. */
extern const char *const mysql_client_wordings[];
extern const char *const mysql_client_words[];

#endif

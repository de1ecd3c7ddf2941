/*
 * The foreign libraries that are loaded when a connection needs them. The file
 * pair that includes a library's header loads it before its first call.
 */
#ifndef TIDEMARK_CLIENTS_LIBRARIES_H
#define TIDEMARK_CLIENTS_LIBRARIES_H

#include "core/base/library.h"

extern struct library library_curl, library_jwt, library_mysql, library_pq,
	library_sqlite, library_zlib, library_zstd;

#endif

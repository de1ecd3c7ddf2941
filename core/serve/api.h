/*
 * The routes of `serve`: metrics, health, and what the commands print as JSON,
 * by the same code. They read the board, or the state store; a source or a
 * destination is asked only by those that change something.
 */
#ifndef TIDEMARK_CORE_SERVE_API_H
#define TIDEMARK_CORE_SERVE_API_H

#include "core/serve/board.h"
#include "core/serve/http.h"

struct api {
	struct board *board;
	int64_t watchdog_us; /* the loop may be silent for so long */
	size_t jobs;
};

/* Their context is a struct api. */
extern const struct http_route api_routes[];
extern const size_t api_n_routes;

#endif

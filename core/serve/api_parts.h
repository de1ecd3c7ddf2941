/* Shared by the files of the API. Inside of it. */
#ifndef TIDEMARK_CORE_SERVE_API_PARTS_H
#define TIDEMARK_CORE_SERVE_API_PARTS_H

#include "core/serve/api.h"

/* The status that fits the error's code, and its message. */
void api_fail(struct http_reply *out, const struct error *err);
/* ?limit=, from 1 to `most`; or `usual`. */
int64_t api_limit(const struct http_request *r, int64_t usual, int64_t most);
/* The pipeline named by ?pipeline=, or by the path if `name`. NULL: the reply
 * says that there is none. */
const struct pipeline_settings *
api_pipeline(struct generation *g, const char *name, struct http_reply *out);
/* A store of the settings, to be closed; NULL: the reply says why. */
struct store *api_store(const struct api *api, struct generation *g,
			struct http_reply *out);

/* api_change.c */
void api_run(const struct http_request *r, struct http_reply *out, void *ctx);
void api_pause(const struct http_request *r, struct http_reply *out, void *ctx);
void api_resume(const struct http_request *r, struct http_reply *out,
		void *ctx);
void api_set_pace(const struct http_request *r, struct http_reply *out,
		  void *ctx);
void api_replay_run(const struct http_request *r, struct http_reply *out,
		    void *ctx);
void api_replay_letter(const struct http_request *r, struct http_reply *out,
		       void *ctx);
void api_discard_letter(const struct http_request *r, struct http_reply *out,
			void *ctx);

#endif

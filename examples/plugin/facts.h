/* The engine's facts that Tidemark needs before anything is opened. */
#ifndef NDJSON_FACTS_H
#define NDJSON_FACTS_H

#include <tidemark/plugin.h>

extern const struct engine ndjson_engine;

#endif

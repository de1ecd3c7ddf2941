/*
 * Engines that run inside this process, over a file. There is no server to
 * spare, and nobody to ask how busy it is.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_EMBEDDED_H
#define TIDEMARK_CONNECTORS_COMMON_EMBEDDED_H

#include "connectors/common/paged.h"

int embedded_pause(struct connector *c, struct error *err);
int embedded_pressure(struct connector *c, const struct pressure_question *q,
		      struct pressure *out, struct error *err);

#endif

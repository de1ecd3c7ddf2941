/* Values of a single key: the leaves below option.c, which alone uses them. */
#ifndef TIDEMARK_CORE_BASE_OPTION_VALUE_H
#define TIDEMARK_CORE_BASE_OPTION_VALUE_H

#include "core/base/option.h"

/* Parse a value that is not a table or map into its field. */
int option_value_parse(struct option_context *ctx, const struct option *option,
		       const struct config_node *node, void *base);
/* Give the field its default; a field without one stays as it is. */
void option_value_default(const struct option *option, void *base);

/* "expected ..., found ..." */
int option_value_wrong(struct option_context *ctx, const struct option *option,
		       const struct config_node *node);
/* Store the choice of this name, if it is one and is kept. */
void option_value_choose(const struct option *option, const char *name,
			 void *base);
/* "not supported yet" */
int option_value_not_yet(struct option_context *ctx,
			 const struct option *option,
			 const struct config_node *node);
bool option_is_unsupported(const struct option_context *ctx,
			   const struct option *option);

#endif

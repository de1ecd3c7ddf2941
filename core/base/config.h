/*
 * A config file as a tree of maps, lists and scalars that remembers where each
 * of them was written. libfyaml reads YAML, and JSON as a part of it. option.h
 * reads the tree and knows the meaning of its keys; this file does not.
 *
 * Refused: duplicate keys, anchors, aliases, tags, a second document, keys that
 * are not plain text, NUL characters. Refused as well: more than 1 MiB, and
 * more than 32 maps in each other.
 */
#ifndef TIDEMARK_CORE_BASE_CONFIG_H
#define TIDEMARK_CORE_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/strlist.h"

enum config_kind { CONFIG_SCALAR, CONFIG_LIST, CONFIG_MAP };

/* Line and column count from 1 (characters). A value that came from the
 * command line has the name of its flag instead. */
struct config_place {
	const char *label; /* static text, or NULL */
	int line, column;
};

struct config_node {
	enum config_kind kind;
	struct config_place at;
	bool quoted; /* scalar: in quotes or a block, so never null */
	bool inherited; /* put here by config_node_merge() */
	char *raw; /* scalar: as written */
	char *text; /* scalar: expanded */
	struct config_entry *entries; /* map, list */
	size_t n, capacity;
};

struct config_entry {
	char *key; /* NULL in a list */
	struct config_place at;
	struct config_node *node; /* never NULL */
};

struct config_file {
	char *name; /* for messages */
	/* The reason why it may hold no literal password, and why its content
	 * is in doubt (trust.h); NULL: none. */
	char *exposed, *doubt;
	struct config_node *root;
};

/* Read, parse and expand a file. CONFIG errors with file:line:column. */
int config_file_load(struct config_file *out, const char *path,
		     struct error *err);
/* The same from memory; `name` for messages. */
int config_file_parse(struct config_file *out, const char *name,
		      const char *data, size_t n, struct error *err);
/* Append the keys of the map `name` at the top of a file, in order. No variable
 * and no secret's file is looked at. */
int config_file_names(struct strlist *out, const char *path, const char *name,
		      struct error *err);
void config_file_release(struct config_file *file);

struct config_node *config_node_new(enum config_kind kind,
				    struct config_place at);
struct config_node *config_node_scalar(const char *text,
				       struct config_place at);
/* `node` becomes the map's (key copied) or the list's (key NULL). */
void config_node_add(struct config_node *parent, const char *key,
		     struct config_place at, struct config_node *node);
struct config_node *config_node_copy(const struct config_node *node);
/* Give the map `dst` the entries of `defaults` that it lacks, map by map; they
 * are marked as inherited. Lists and scalars are taken whole. */
void config_node_merge(struct config_node *dst,
		       const struct config_node *defaults);
void config_node_free(struct config_node *node);

/* The entry of a map, or NULL (also when the node is no map). */
struct config_entry *config_node_entry(const struct config_node *node,
				       const char *key);
/* The value at a path such as "watermark.lag", or NULL. */
struct config_node *config_node_find(const struct config_node *node,
				     const char *path);
void config_node_remove(struct config_node *map, const char *key);
/* `key:`, `key: ~` and `key: null`. */
bool config_node_is_null(const struct config_node *node);

/* CONFIG error "file:line:column: text" or "--flag: text". */
int config_fail(const struct config_file *file, struct config_place at,
		struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Put the place before an error that is already set. */
void config_prefix(const struct config_file *file, struct config_place at,
		   struct error *err);

#endif

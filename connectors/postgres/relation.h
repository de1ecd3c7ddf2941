/*
 * The catalog's facts about the table that is read, and about the tables that
 * really hold its rows (partitions, heirs).
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_RELATION_H
#define TIDEMARK_CONNECTORS_POSTGRES_RELATION_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/pg.h"
#include "connectors/common/source_layout.h"
#include "core/base/strbuf.h"

/* A statement's $1 is the oid of a table. 0 is the one that was found last in
 * the transaction, so that one message may find a table and ask about it. */
#define RELATION_SETTING "tidemark.relation"
#define RELATION_OID                                                           \
	"coalesce(nullif($1::oid, 0),\n"                                       \
	"    nullif(current_setting('" RELATION_SETTING "', true), '')::oid)"
#define RELATION_FOUND_LAST 0
/* The oid that stands for a query: no table has it. */
#define RELATION_OF_QUERY UINT32_MAX

/* pg_class.relkind */
enum relation_kind {
	RELATION_TABLE = 'r',
	RELATION_PARTITIONED = 'p',
	RELATION_VIEW = 'v',
	RELATION_MATERIALIZED = 'm',
	RELATION_FOREIGN = 'f',
};

struct relation {
	uint32_t oid;
	enum relation_kind kind;
	bool has_children; /* partitions or heirs */
};

/* A table that holds rows itself. */
struct leaf {
	uint32_t oid;
	char *sql; /* "schema"."name" */
	enum relation_kind kind;
	uint32_t file; /* relfilenode: another one after every rewrite */
	int64_t blocks;
	double rows; /* reltuples; < 0: never counted */
	bool readable; /* our role may SELECT */
	/* Read by itself it shows our role all that it shows through its
	 * parent. */
	bool direct;
};
struct leaves {
	struct leaf *items;
	size_t n;
};

/* `table` as the config writes it. Names and a view's query go to `names`,
 * which the caller releases. SCHEMA error with the nearest name if there
 * is none, CONFIG if the name is no name. */
int postgres_source_relation_find(struct pg *pg, const char *table,
				  struct relation *out,
				  struct source_table *names,
				  struct error *err);
const char *
postgres_source_relation_kind_name(enum relation_kind kind); /* "view", ... */

/* Ask ahead for the table, nothing if `table` is no name. Its oid, if another
 * session has found it, or else RELATION_FOUND_LAST: for further questions. */
uint32_t postgres_source_relation_ahead(struct pg *pg, const char *table);
/* Ask ahead `sql`, whose only value is the table; for its leaves. */
void postgres_source_relation_ask_ahead(struct pg *pg, const char *sql,
					uint32_t oid);
void postgres_source_leaves_ahead(struct pg *pg, uint32_t oid);
/* In order of oid. A table without heirs is its own leaf. */
int postgres_source_leaves_find(struct pg *pg, uint32_t oid, struct leaves *out,
				struct error *err);
void postgres_source_leaves_release(struct leaves *l);

#endif

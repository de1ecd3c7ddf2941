/*
 * The existing objects at a target's place, their meaning, and the work before
 * rows can go there. An engine looks, says how its types fit, and says what it
 * refuses and which statements it would run. The order of these steps and the
 * decisions are here. Nothing is written.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_PLAN_H
#define TIDEMARK_DESTINATIONS_COMMON_PLAN_H

#include "destinations/common/drift.h"

struct place; /* as the engine has it */
struct plan_engine;

/* The object with the name that readers use, where they are to look at a
 * view. */
enum readable {
	READABLE_FREE, /* nothing, or nobody asks */
	READABLE_OURS,
	READABLE_VIEW, /* others' view */
	READABLE_OTHER /* no view at all */
};

/* The first member of an engine's own. */
struct plan {
	const struct plan_engine *engine;
	struct destination *destination; /* these four are not owned */
	const struct place *place;
	const struct target *target;
	struct inspection inspection;
	/* The table with the rows: */
	bool exists;
	bool plain; /* it is a table that rows can be loaded into */
	bool counts; /* and it can be asked whether it has any */
	struct table_column *columns; /* while the plan is made; texts are the
				       * engine's */
	size_t n_columns;
	enum readable readable;
	/* The pipeline's row: */
	bool has_watermark; /* the table _tidemark_watermark exists */
	bool known; /* the row exists, for this target */
	bool created; /* Tidemark created the target */
	bool marked; /* and has a mark of it */
	bool replaced; /* there is another table of that name by now */
	int64_t delivered; /* rows, to the table as it is */
	struct drift drift;
	struct strlist copy; /* statements that make a dry run's copy */
};

/* An engine brings these. */
struct plan_engine {
	const char *title; /* "SQLite" */
	size_t size; /* its plan's, which begins with struct plan */
	bool case_blind; /* names of columns that differ by case are one */
	/* Fill in what stands there. */
	int (*look)(struct plan *plan, struct error *err);
	/* Refusals and warnings, in the order in which they are told. */
	int (*check)(struct plan *plan, struct error *err);
	/* As in struct drift_types; the context is the plan. */
	void (*fit)(const void *plan, size_t column, struct drift_column *out,
		    char **grown);
	/* Add to inspection.ddl, and for a dry run to `copy`. */
	int (*ddl)(struct plan *plan, struct error *err);
	/* Has the table with the rows any? */
	int (*has_rows)(const struct plan *plan, bool *out, struct error *err);
	/* Warnings that only inspect tells. */
	int (*warn)(struct plan *plan, struct error *err);
	/* Free what it has beside struct plan. */
	void (*release)(struct plan *plan);
};

/* Into a plan that is all zero, or released. */
int plan_make(struct plan *plan, const struct plan_engine *engine,
	      struct destination *destination, const struct place *place,
	      const struct target *target, struct error *err);
/* Whatever the plan was before, which is released. Its first error, if it has
 * one, is the code. */
int plan_make_sure(struct plan *plan, const struct plan_engine *engine,
		   struct destination *destination, const struct place *place,
		   const struct target *target, struct error *err);
/* For inspect: make one, and what it has found becomes the caller's. */
int plan_inspect(const struct plan_engine *engine,
		 struct destination *destination, const struct place *place,
		 const struct target *target, struct inspection *out,
		 struct error *err);
/* Leaves it all zero. */
void plan_release(struct plan *plan);

/* Append a statement, and empty `sql`. */
void plan_push(struct strlist *out, struct strbuf *sql);

/* For an engine's `look`. Our own columns of a raw table are told by name. */
void plan_add_column(struct plan *plan, const struct table_column *column);
/* Something has the name that readers use. */
void plan_set_readable(struct plan *plan, bool is_view, bool is_ours);
/* NULL: the table has no such column. */
const struct table_column *plan_find(const struct plan *plan, const char *name);
/* Is there need for a new row, or for forgetting the mark? The table is new, is
 * not the one that the row was about, or gets a column. */
bool plan_needs_row(const struct plan *plan);
/* Is there anything that prepare has to write? */
bool plan_needs_write(const struct plan *plan);

/* For an engine's `check`. An error of the target: */
void plan_refuse(struct plan *plan, enum error_code error, const char *code,
		 const char *fix, const char *what);
/* Faults of the table of the marks. */
void plan_refuse_marks(struct plan *plan, const struct error *why);
void plan_check_kind(struct plan *plan);
void plan_check_view(struct plan *plan);
/* A refresh replaces what others have made if it is told to. */
void plan_check_ours(struct plan *plan);
/* Names of the source's columns. */
void plan_check_names(struct plan *plan);
/* Is there a table whose index on the key matters, with all of its columns? */
bool plan_keeps_key(const struct plan *plan);
/* `create`: CREATE UNIQUE INDEX, up to the list of columns. */
void plan_refuse_key(struct plan *plan, const char *create, char quote,
		     const char *what);

/* "a", "b": the key's columns. */
void plan_key_list(struct strbuf *sb, const struct schema *schema, char quote);

#endif

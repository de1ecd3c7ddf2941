/*
 * The slots of core/plugin/destination.h that are about a pipeline's mark and
 * name their target. They find out where the target is and whether it exists.
 * Then they read, forget, set or raise the mark, or list the marks of others.
 * An engine says how each step is done. The order, and the consequence of a
 * missing table, are here.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_MARK_KEEPER_H
#define TIDEMARK_DESTINATIONS_COMMON_MARK_KEEPER_H

#include <stdbool.h>

#include "core/plugin/destination.h"

/* A target as its row in the table of marks has it. Nothing is owned. */
struct mark_place {
	const char *marks; /* the table of marks, quoted */
	/* The table with the rows, and the one that a refresh fills, quoted;
	 * NULL where an engine does not say. */
	const char *rows, *building;
	const char *schema; /* plain: where that is */
	const char *table; /* plain: what readers look at */
	int64_t table_id; /* the server's number for it; 0: none */
	/* Pipelines that append to one table share the numbers of its rows. */
	bool shared;
	const char *file; /* the one file of it all; NULL: it is at a server */
};

struct place;
/* As a place says it. */
struct mark_place mark_place_of(const struct place *p);

/* Where a target is, and what is there. */
struct mark_found {
	void *own; /* the engine's names, and what else it has seen */
	struct mark_place at; /* points into those */
	bool has_target, has_marks; /* the tables */
	const char *where; /* they are, or would be; for people */
};

/* How much is looked at, where a look is a question to a server. */
enum mark_look { MARK_LOOK_NAMES, MARK_LOOK_MARKS, MARK_LOOK_ALL };

/* The usual `missing`. */
#define MARK_MISSING                                                           \
	{                                                                      \
		"is not in", ": there is no mark to set before a first run"    \
	}

struct mark_engine;

/* First member of an engine's destination. */
struct mark_keeper {
	struct destination base;
	const struct mark_engine *engine;
};

/* No slot is NULL. */
struct mark_engine {
	/* The target, since prepare; NULL before. */
	const struct target *(*prepared)(const struct mark_keeper *k);
	/* Words around mark_found.where, of a target that is not there. */
	const char *missing[2];
	/* Fill `out`. SCHEMA: something else has the name of the table of
	 * marks. */
	int (*find)(struct mark_keeper *k, const struct target *target,
		    enum mark_look look, struct mark_found *out,
		    struct error *err);
	/* Free `own`, also when find has failed. */
	void (*lose)(struct mark_found *f);
	/* The pipeline's mark, and those that others have of the target. */
	int (*read)(struct mark_keeper *k, const struct mark_found *f,
		    const char *pipeline, struct checkpoint *out,
		    struct error *err);
	/* Behind prepare: take away what killed runs of the pipeline have left,
	 * read its mark once they are over, and go on from it. STATE: another
	 * writer was here. */
	int (*resume)(struct mark_keeper *k, struct checkpoint *out,
		      struct error *err);
	/* The rest is as of struct destination_ops. */
	int (*forget)(struct mark_keeper *k, const struct mark_found *f,
		      const struct target *target, struct error *err);
	int (*set)(struct mark_keeper *k, const struct mark_found *f,
		   const char *pipeline, const char *watermark,
		   struct error *err);
	int (*raise)(struct mark_keeper *k, const struct mark_found *f,
		     const char *pipeline, const char *mark, struct error *err);
};

/* The harm that somebody else's change to the table of marks could do. */
#define MARK_HARM_HIDES ", which could change or hide the mark"
#define MARK_HARM_CODE                                                         \
	", so code of somebody else could run with the rights of this user, "  \
	"or change the mark"
/* SCHEMA: the table of marks `name` (in `file`, unless that is NULL) has a
 * fault, "has trigger x", and so `harm` may be done. 0 where `fault` is NULL or
 * "". */
int mark_keeper_check(const char *name, const char *file, const char *fault,
		      const char *harm, struct error *err);

/* Slots of struct destination_ops. */
int mark_keeper_recover(struct destination *base, const struct target *target,
			struct checkpoint *out, struct error *err);
int mark_keeper_others(struct destination *base, const struct target *target,
		       struct strlist *out, struct error *err);
int mark_keeper_forget(struct destination *base, const struct target *target,
		       struct error *err);
int mark_keeper_set(struct destination *base, const struct target *target,
		    const char *watermark, struct error *err);
int mark_keeper_raise(struct destination *base, const struct target *target,
		      const char *mark, struct error *err);

#endif

#include "destinations/common/mark_keeper.h"

#include <string.h>

#include "core/base/failpoint.h"
#include "destinations/common/names.h"
#include "destinations/common/place.h"

struct mark_place mark_place_of(const struct place *p)
{
	return (struct mark_place){
		.marks = p->watermark,
		.rows = p->rows,
		.building = p->building,
		.schema = p->schema,
		.table = p->table,
		.shared = strcmp(p->table, p->base) != 0,
	};
}

int mark_keeper_check(const char *name, const char *file, const char *fault,
		      const char *harm, struct error *err)
{
	if (!fault || !*fault)
		return 0;
	error_clear(err);
	return error_set(err, ERROR_SCHEMA,
			 "table %s%s%s, where marks are kept, %s%s" ERROR_FIX
			 "; " NAME_MARKS_FIX,
			 name, file ? " of " : "", file ? file : "", fault,
			 harm);
}

static int keeper_resume(struct mark_keeper *k, struct checkpoint *out,
			 struct error *err)
{
	int rc = failpoint("in_recovery", err);

	return rc ? rc : k->engine->resume(k, out, err);
}

int mark_keeper_recover(struct destination *base, const struct target *target,
			struct checkpoint *out, struct error *err)
{
	struct mark_keeper *k = (struct mark_keeper *)base;
	struct mark_found f = { .own = NULL };
	int rc;

	if (k->engine->prepared(k))
		return keeper_resume(k, out, err);
	rc = k->engine->find(k, target, MARK_LOOK_ALL, &f, err);

	if (!rc && f.has_marks)
		rc = k->engine->read(k, &f, target->pipeline, out, err);
	if (!rc && !f.has_target)
		checkpoint_set_missing(out);
	k->engine->lose(&f);
	return rc;
}

int mark_keeper_others(struct destination *base, const struct target *target,
		       struct strlist *out, struct error *err)
{
	struct mark_keeper *k = (struct mark_keeper *)base;
	struct mark_found f = { .own = NULL };
	struct checkpoint mark;
	int rc = k->engine->find(k, target, MARK_LOOK_ALL, &f, err);

	checkpoint_init(&mark);
	if (!rc && f.has_target && f.has_marks)
		rc = k->engine->read(k, &f, target->pipeline, &mark, err);
	for (size_t i = 0; !rc && i < mark.others.n; i++)
		strlist_add(out, mark.others.items[i]);
	checkpoint_release(&mark);
	k->engine->lose(&f);
	return rc;
}

int mark_keeper_forget(struct destination *base, const struct target *target,
		       struct error *err)
{
	struct mark_keeper *k = (struct mark_keeper *)base;
	struct mark_found f = { .own = NULL };
	int rc = k->engine->find(k, target, MARK_LOOK_MARKS, &f, err);

	if (!rc && f.has_marks)
		rc = k->engine->forget(k, &f, target, err);
	k->engine->lose(&f);
	return rc;
}

int mark_keeper_set(struct destination *base, const struct target *target,
		    const char *watermark, struct error *err)
{
	struct mark_keeper *k = (struct mark_keeper *)base;
	struct mark_found f = { .own = NULL };
	int rc = k->engine->find(k, target, MARK_LOOK_ALL, &f, err);

	if (!rc && !f.has_target)
		rc = error_set(err, ERROR_SCHEMA, "table %s %s %s%s",
			       target->table, k->engine->missing[0], f.where,
			       k->engine->missing[1]);
	if (!rc)
		rc = k->engine->set(k, &f, target->pipeline, watermark, err);
	k->engine->lose(&f);
	return rc;
}

int mark_keeper_raise(struct destination *base, const struct target *target,
		      const char *mark, struct error *err)
{
	struct mark_keeper *k = (struct mark_keeper *)base;
	struct mark_found f = { .own = NULL };
	int rc = k->engine->find(k, target, MARK_LOOK_NAMES, &f, err);

	if (!rc)
		rc = k->engine->raise(k, &f, target->pipeline, mark, err);
	k->engine->lose(&f);
	return rc;
}

#include "core/sync/run/task.h"

#include "core/plugin/naming.h"
#include "core/sync/run/run.h"

void task_no_begin(struct run_context *c, struct run_result *out)
{
	(void)c;
	(void)out;
}

int task_no_held(struct run_context *c, struct run_result *out,
		 struct error *err)
{
	(void)c;
	(void)out;
	(void)err;
	return 0;
}

void task_no_init(struct run *r)
{
	(void)r;
}

int task_no_step(struct run *r, struct error *err)
{
	(void)r;
	(void)err;
	return 0;
}

const char *task_no_batch_id(struct run *r)
{
	(void)r;
	return NULL;
}

int task_no_loading(struct run *r, const struct batch *b, struct error *err)
{
	(void)r;
	(void)b;
	(void)err;
	return 0;
}

void task_no_loaded(struct run *r, const struct batch *b)
{
	(void)r;
	(void)b;
}

void task_no_again(struct run_result *out)
{
	(void)out;
}

int task_no_end(struct run_context *c, struct run_result *out, int rc,
		struct error *err)
{
	(void)c;
	(void)out;
	(void)err;
	return rc;
}

int task_describe(struct run *r, struct error *err)
{
	return source_describe(r->source, &r->spec, r->scan.mark, &r->schema,
			       err);
}

int task_prepare(struct run *r, struct error *err)
{
	int rc = run_claim(r, err);

	return rc ? rc : run_prepare(r, err);
}

const char *task_mark(struct run *r, const struct batch *b,
		      struct watermark *mark)
{
	(void)r;
	(void)b;
	return watermark_delivered(mark);
}

#include "core/store/shared.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/alloc.h"

/* The lock is one that a thread may take again: a row of an answer may lead to
 * another question. It is held from begin to the end of the transaction. */
struct shared_store {
	struct store base;
	struct store_ops ops; /* the inner's, behind the lock */
	struct store *inner;
	pthread_mutex_t lock;
	bool in_transaction; /* the thread that has the lock is */
};

static struct shared_store *shared_lock(struct store *s)
{
	struct shared_store *shared = (struct shared_store *)s;

	pthread_mutex_lock(&shared->lock);
	return shared;
}

static void shared_unlock(struct shared_store *shared)
{
	pthread_mutex_unlock(&shared->lock);
}

static int shared_begin(struct store *s, enum store_begin how,
			struct error *err)
{
	struct shared_store *shared = shared_lock(s);
	int rc = shared->inner->ops->begin(shared->inner, how, err);

	if (rc)
		shared_unlock(shared);
	else
		shared->in_transaction = true;
	return rc;
}

/* A second unlock: begin has locked it, too. */
static void shared_end(struct shared_store *shared)
{
	if (!shared->in_transaction)
		return;
	shared->in_transaction = false;
	shared_unlock(shared);
}

/* After a failure the same thread rolls back next. */
static int shared_commit(struct store *s, struct error *err)
{
	struct shared_store *shared = shared_lock(s);
	int rc = shared->inner->ops->commit(shared->inner, err);

	if (!rc)
		shared_end(shared);
	shared_unlock(shared);
	return rc;
}

static void shared_rollback(struct store *s)
{
	struct shared_store *shared = shared_lock(s);

	shared->inner->ops->rollback(shared->inner);
	shared_end(shared);
	shared_unlock(shared);
}

static int shared_script(struct store *s, const char *sql, struct error *err)
{
	struct shared_store *shared = shared_lock(s);
	int rc = shared->inner->ops->script(shared->inner, sql, err);

	shared_unlock(shared);
	return rc;
}

static int shared_run(struct store *s, const char *sql,
		      const char *const *params, int n_params,
		      const char *shape, store_row row, void *ctx,
		      struct error *err)
{
	struct shared_store *shared = shared_lock(s);
	int rc = shared->inner->ops->run(shared->inner, sql, params, n_params,
					 shape, row, ctx, err);

	shared_unlock(shared);
	return rc;
}

static void shared_close(struct store *s)
{
	struct shared_store *shared = (struct shared_store *)s;

	shared->inner->ops->close(shared->inner);
	pthread_mutex_destroy(&shared->lock);
	free(shared->base.where);
	free(shared);
}

struct store *store_share(struct store *inner)
{
	struct shared_store *shared;
	pthread_mutexattr_t attributes;

	if (!inner)
		return NULL;
	shared = xcalloc(1, sizeof(*shared));
	shared->inner = inner;
	shared->ops = *inner->ops;
	shared->ops.begin = shared_begin;
	shared->ops.commit = shared_commit;
	shared->ops.rollback = shared_rollback;
	shared->ops.script = shared_script;
	shared->ops.run = shared_run;
	shared->ops.close = shared_close;
	shared->base.ops = &shared->ops;
	shared->base.where = xstrdup(inner->where);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&shared->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return &shared->base;
}

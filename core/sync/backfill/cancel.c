#include <stdint.h>
#include <string.h>

#include "core/base/log.h"
#include "core/plugin/destination.h"
#include "core/plugin/registry.h"
#include "core/store/chunks.h"
#include "core/sync/backfill/backfill.h"

static bool cancel_is_of(const struct chunk *c, const char *id)
{
	return id ? !strcmp(c->backfill_id, id)
		  : strcmp(c->state, CHUNK_DONE) != 0;
}

/* Whoever works on one finds its row gone, and gives it up. */
static int cancel_marks(const struct pipeline_settings *p,
			const struct chunk_list *known, const char *id,
			struct error *err)
{
	struct target target = { .table = p->destination_table,
				 .mode = p->mode,
				 .drift = p->drift,
				 .writer = { .fence = INT64_MAX } };
	struct destination *d = NULL;
	int rc = 0;

	for (size_t i = 0; !rc && i < known->n; i++) {
		const struct chunk *c = &known->items[i];

		if (!c->started_at || !strcmp(c->state, CHUNK_DONE) ||
		    !cancel_is_of(c, id))
			continue;
		target.pipeline = c->chunk_id;
		if (!d)
			rc = registry_open_destination(p->destination, &d, err);
		if (!rc)
			rc = d->ops->forget(d, &target, err);
	}
	if (d)
		d->ops->close(d);
	return rc;
}

int backfill_forget(const struct pipeline_settings *p, struct store *store,
		    const struct chunk_list *known, const char *id,
		    struct error *err)
{
	struct error left = ERROR_INIT;
	const char *last = "";
	int rc = 0;

	for (size_t i = 0; !rc && i < known->n; i++) {
		const struct chunk *c = &known->items[i];

		if (!cancel_is_of(c, id) || !strcmp(c->backfill_id, last))
			continue;
		last = c->backfill_id;
		rc = store_chunks_delete(store, p->name, last, err);
	}
	/* Nobody takes such a row for that of another backfill. */
	if (!rc && cancel_marks(p, known, id, &left))
		log_warn("rows of chunks that were begun are left in "
			 "_tidemark_watermark, and may be deleted by hand: %s",
			 left.message);
	return rc;
}

int backfill_cancel(const struct pipeline_settings *p, struct store *store,
		    int64_t *chunks, struct error *err)
{
	struct chunk_list known = { NULL, 0, 0 };
	int rc = store_chunks_list(store, p->name, &known, err);

	*chunks = 0;
	for (size_t i = 0; !rc && i < known.n; i++)
		*chunks += cancel_is_of(&known.items[i], NULL);
	if (!rc)
		rc = backfill_forget(p, store, &known, NULL, err);
	chunk_list_release(&known);
	return rc;
}

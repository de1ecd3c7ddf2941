#include "core/store/choices.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/store/session.h"

static const char list_choices_sql[] =
	"SELECT pipeline, wildcard, table_name, chosen FROM choices\n"
	"ORDER BY pipeline";

static const char save_choice_sql[] =
	"INSERT INTO choices\n"
	"  (pipeline, wildcard, table_name, chosen, changed_at)\n"
	"VALUES ($1, $2, $3, $4, $5)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET\n"
	"  wildcard = excluded.wildcard, table_name = excluded.table_name,\n"
	"  chosen = excluded.chosen, changed_at = excluded.changed_at\n"
	"WHERE choices.chosen IS NULL OR choices.wildcard <> "
	"excluded.wildcard\n"
	"  OR choices.table_name <> excluded.table_name";

static const char forget_choice_sql[] =
	"UPDATE choices SET chosen = NULL WHERE pipeline = $1";

void choice_add(struct choice_list *list, const char *pipeline,
		const char *wildcard, const char *table, const char *chosen)
{
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = (struct choice){ .pipeline = xstrdup(pipeline),
						  .wildcard = xstrdup(wildcard),
						  .table = xstrdup(table),
						  .chosen = xstrdup(chosen) };
}

void choice_list_cut(struct choice_list *list, size_t n)
{
	while (list->n > n) {
		struct choice *c = &list->items[--list->n];

		free(c->pipeline);
		free(c->wildcard);
		free(c->table);
		free(c->chosen);
	}
}

void choice_list_release(struct choice_list *list)
{
	choice_list_cut(list, 0);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static int choices_note(void *ctx, const char *const *values, struct error *err)
{
	(void)err;
	choice_add(ctx, values[0], values[1], values[2], values[3]);
	return 0;
}

int store_choices_list(struct store *s, struct choice_list *out,
		       struct error *err)
{
	return store_run(s, list_choices_sql, NULL, 0, "ttt?", choices_note,
			 out, err);
}

int store_choices_save(struct store *s, const struct choice_list *list,
		       struct error *err)
{
	char now[STORE_NUMBER_SIZE];
	int rc = s->ops->begin(s, STORE_USUAL, err);

	store_number(now, clock_now_us());
	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < list->n; i++) {
		const struct choice *c = &list->items[i];
		const char *params[] = { c->pipeline, c->wildcard, c->table,
					 c->chosen, now };

		rc = store_exec(s, save_choice_sql, params, ARRAY_SIZE(params),
				err);
	}
	return store_end(s, rc, err);
}

int store_choice_forget(struct store *s, const char *pipeline,
			struct error *err)
{
	const char *params[] = { pipeline };

	return store_exec(s, forget_choice_sql, params, 1, err);
}

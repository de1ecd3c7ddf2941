/* A trigger, a rule or row security on a target takes rows away without a word.
 * The batch is refused, and the message names the object. */
#include "destination_suite.h"

#include <string.h>

#include "core/base/alloc.h"

#define MARK  "{\"value\":\"1\"}"
#define LATER "{\"value\":\"2\"}"

#define FUNCTION(body)                                                         \
	"CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS "          \
	"$$BEGIN " body " RETURN NEW; END$$;"
#define SKIP FUNCTION("IF NEW.id = 3 OR NEW.v = 11 THEN RETURN NULL; END IF;")
#define AWAY                                                                   \
	FUNCTION("EXECUTE format('DELETE FROM %s WHERE id = 3 OR v = 11', "    \
		 "TG_RELID::regclass);")
#define EACH " FOR EACH ROW EXECUTE FUNCTION take();"

static const struct {
	const char *engine, *name, *sql; /* "%": the table */
	bool updates; /* it takes a change, not a new row */
} watched[] = {
	{ "postgres", "trigger taker",
	  SKIP "CREATE TRIGGER taker BEFORE INSERT ON %" EACH, false },
	{ "postgres", "trigger taker",
	  SKIP "CREATE TRIGGER taker BEFORE UPDATE ON %" EACH, true },
	{ "postgres", "trigger taker",
	  AWAY "CREATE TRIGGER taker AFTER INSERT ON %" EACH, false },
	{ "postgres", "trigger taker",
	  AWAY "CREATE TRIGGER taker AFTER UPDATE ON %" EACH, true },
	{ "postgres", "trigger taker",
	  AWAY "CREATE CONSTRAINT TRIGGER taker AFTER INSERT OR UPDATE ON % "
	       "DEFERRABLE INITIALLY DEFERRED" EACH,
	  false },
	{ "postgres", "trigger taker",
	  AWAY "CREATE CONSTRAINT TRIGGER taker AFTER INSERT OR UPDATE ON % "
	       "DEFERRABLE INITIALLY DEFERRED" EACH,
	  true },
	{ "postgres", "rule taker",
	  "CREATE RULE taker AS ON INSERT TO % WHERE NEW.id = 3 "
	  "DO INSTEAD NOTHING;",
	  false },
	{ "postgres", "rule taker",
	  "CREATE RULE taker AS ON UPDATE TO % WHERE NEW.v = 11 "
	  "DO INSTEAD NOTHING;",
	  true },
	{ "postgres", "policy reader",
	  "ALTER TABLE % FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY;"
	  "CREATE POLICY reader ON % FOR SELECT USING (true);"
	  "CREATE POLICY writer ON % FOR INSERT WITH CHECK (true);"
	  "CREATE POLICY changer ON % FOR UPDATE USING (id <> 1);",
	  true },
	{ "sqlite", "trigger taker",
	  "CREATE TRIGGER taker BEFORE INSERT ON % WHEN NEW.id = 3 BEGIN "
	  "SELECT RAISE(IGNORE); END;",
	  false },
	{ "sqlite", "trigger taker",
	  "CREATE TRIGGER taker BEFORE UPDATE ON % BEGIN "
	  "SELECT RAISE(IGNORE); END;",
	  true },
	{ "sqlite", "trigger taker",
	  "CREATE TRIGGER taker AFTER INSERT ON % BEGIN "
	  "DELETE FROM % WHERE id = 3; END;",
	  false },
	{ "sqlite", "trigger taker",
	  "CREATE TRIGGER taker AFTER UPDATE ON % BEGIN "
	  "DELETE FROM % WHERE v = 11; END;",
	  true },
};

static void watched_put(struct world *w, const char *fmt)
{
	const char *table =
		w->target.mode == LOAD_APPEND ? "orders_raw" : "orders";
	struct strbuf sql = STRBUF_INIT;

	for (const char *p = fmt; *p; p++)
		if (*p == '%' && p[1] != 's')
			strbuf_addstr(&sql, table);
		else
			strbuf_addch(&sql, *p);
	world_exec(w, sql.data);
	strbuf_release(&sql);
}

/* An empty database, or as good as one. */
static void watched_clean(struct world *w)
{
	bool raw = w->target.mode == LOAD_APPEND;

	world_exec(w, w->quirks->clean ? w->quirks->clean
		      : raw ? "DROP VIEW orders; DROP TABLE orders_raw;"
			      "DROP TABLE _tidemark_watermark;"
			    : "DROP TABLE orders;"
			      "DROP TABLE _tidemark_watermark;");
}

/* The row depends on the case: 3 is new, 1 is changed. */
static void watched_load(struct world *w, size_t i, enum load_mode mode)
{
	const char *rows = watched[i].updates ? "1|11\n2|2" : "1|1\n2|2\n3|3";
	const char *before = "1|1\n2|2";
	char *seen;

	w->target.mode = mode == LOAD_UPDATE ? LOAD_UPSERT : mode;
	world_sync(w, before, MARK);
	w->target.mode = mode;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, before, MARK), 0);
	world_expect_counts(w, 0, 0, 2);
	watched_put(w, watched[i].sql);
	if (world_load(w, rows, LATER) != ERROR_TRANSIENT)
		fail_msg("case %zu, %s: not looked at anew: %s", i,
			 load_mode_name(mode), w->err.message);
	world_close(w);
	assert_int_equal(world_begin(w), 0);
	if (world_load(w, rows, LATER) != ERROR_DATA)
		fail_msg("case %zu, %s: not refused: %s, %d+%d+%d", i,
			 load_mode_name(mode), w->err.message,
			 (int)w->counts.inserted, (int)w->counts.updated,
			 (int)w->counts.unchanged);
	if (!strstr(w->err.message, watched[i].name))
		fail_msg("case %zu: no %s in: %s", i, watched[i].name,
			 w->err.message);
	assert_string_equal(world_mark(w), MARK);
	world_close(w);
	seen = xstrdup(world_query(w, "SELECT id, v FROM orders ORDER BY id;"));
	assert_string_equal(seen, "1|1\n2|2");
	free(seen);
}

static void watched_mode(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! v:int64");
	w->target.table = "orders";
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		/* A raw table is inserted into alone; a delete goes before the
		 * insert; a row that is new is not there to be updated. */
		bool update = strstr(watched[i].sql, "UPDATE ON") ||
			      strstr(watched[i].sql, "ON UPDATE") ||
			      strstr(watched[i].sql, "FOR UPDATE");

		if (strcmp(watched[i].engine, w->quirks->engine) ||
		    (mode == LOAD_UPDATE && !watched[i].updates) ||
		    (mode == LOAD_APPEND && watched[i].updates) ||
		    (mode == LOAD_DELETE_INSERT && update))
			continue;
		watched_load(w, i, mode);
		watched_clean(w);
	}
}

static void test_watched_upsert(void **state)
{
	watched_mode(state, LOAD_UPSERT);
}

static void test_watched_append(void **state)
{
	watched_mode(state, LOAD_APPEND);
}

static void test_watched_delete_insert(void **state)
{
	watched_mode(state, LOAD_DELETE_INSERT);
}

static void test_watched_update(void **state)
{
	watched_mode(state, LOAD_UPDATE);
}

const struct CMUnitTest suite_watched[] = {
	SUITE_TEST(test_watched_upsert),
	SUITE_TEST(test_watched_append),
	SUITE_TEST(test_watched_delete_insert),
	SUITE_TEST(test_watched_update),
};
const size_t suite_watched_n = ARRAY_SIZE(suite_watched);

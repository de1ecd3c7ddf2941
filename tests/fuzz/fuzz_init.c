/*
 * The config that `init` writes from names and remarks of a server. Whatever
 * they are, it is read back with just these names. No word of theirs is a
 * reference, another key or another pipeline.
 */
#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/base/utf8.h"
#include "core/settings/settings.h"
#include "core/sync/report/sketch.h"
#include "tests/fuzz/fuzz.h"

#define HEAD                                                                   \
	"version: 1\n"                                                         \
	"connections:\n"                                                       \
	"  source: postgresql://h/d\n"                                         \
	"  destination: sqlite:d\n"                                            \
	"pipelines:\n"
#define TABLES 3

const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 forgets 512 bytes of a scalar with many quotes or escapes
 * (its issue 233). */
const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml";
}

struct fuzz_table {
	char *table, *kind, *key, *column, *reason;
	bool written;
};

static void fuzz_table_take(struct fuzz_input *in, struct fuzz_table *out)
{
	out->table = fuzz_text(in);
	out->key = fuzz_text(in);
	out->column = fuzz_text(in);
	out->kind = fuzz_text(in);
	out->reason = fuzz_text(in);
	out->written = false;
}

static void fuzz_table_free(struct fuzz_table *t)
{
	free(t->table);
	free(t->kind);
	free(t->key);
	free(t->column);
	free(t->reason);
}

static void fuzz_sketch(struct sketch *s, struct fuzz_table *t)
{
	struct table_info info = { .name = t->table,
				   .kind = t->kind,
				   .row_estimate = -1 };
	struct type type = { .kind = TYPE_TEXT, .native = (char *)"text" };
	struct sketch_choice choice = { .table = &info,
					.strategy = STRATEGY_TIMESTAMP,
					.column = t->column,
					.reason = t->reason };
	struct error err = ERROR_INIT;
	struct schema schema;
	size_t key = 0;

	schema_init(&schema);
	schema_add(&schema, t->key, &type, false);
	schema_set_key(&schema, &key, 1);
	choice.schema = &schema;
	t->written = !sketch_add(s, &choice, &err);
	if (!t->written) {
		fuzz_check(err.code && *err.message);
		sketch_skip(s, &info, &err);
	}
	schema_release(&schema);
}

static const char *fuzz_at(const struct config_node *node, const char *path)
{
	const struct config_node *found = config_node_find(node, path);

	fuzz_check(found && found->kind == CONFIG_SCALAR);
	return found->text;
}

static void fuzz_pipeline(const struct config_node *p,
			  const struct fuzz_table *t, const char *target)
{
	const struct config_node *key = config_node_find(p, "key");

	fuzz_check(p->kind == CONFIG_MAP && p->n == 4);
	fuzz_check(!strcmp(fuzz_at(p, "source.table"), t->table));
	fuzz_check(!strcmp(fuzz_at(p, "destination.table"), target));
	fuzz_check(key && key->kind == CONFIG_LIST && key->n == 1);
	fuzz_check(!strcmp(key->entries[0].node->text, t->key));
	if (*t->column)
		fuzz_check(!strcmp(fuzz_at(p, "watermark.column"), t->column));
}

static void fuzz_read_back(const struct config_file *file,
			   const struct sketch *s, const struct fuzz_table *t)
{
	const struct config_node *all =
		config_node_find(file->root, "pipelines");
	size_t n = 0;

	fuzz_check(file->root->n == 3 && all);
	for (size_t i = 0; i < TABLES; i++) {
		if (!t[i].written)
			continue;
		fuzz_check(n < all->n && n < s->pipelines.n);
		fuzz_check(!strcmp(all->entries[n].key, s->pipelines.items[n]));
		fuzz_pipeline(all->entries[n].node, &t[i], s->targets.items[n]);
		n++;
	}
	fuzz_check(n == s->pipelines.n && n == all->n);
}

static void fuzz_config(const struct sketch *s, const struct fuzz_table *t)
{
	char *text = xstrfmt(HEAD "%s", s->body.data);
	struct error err = ERROR_INIT;
	struct config_file file;
	struct settings settings;

	fuzz_check(utf8_is_valid(text, strlen(text)));
	fuzz_check(!config_file_parse(&file, "f", text, strlen(text), &err));
	fuzz_read_back(&file, s, t);
	/* The names may be no tables or columns of any engine. */
	if (!settings_parse(&settings, &file, &err))
		settings_release(&settings);
	config_file_release(&file);
	secret_forget_all();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct fuzz_table tables[TABLES];
	uint8_t choice = fuzz_byte(&in);
	struct sketch s;

	setenv("X", "of the environment", 1);
	sketch_init(&s);
	s.source_engine = "postgres";
	s.destination_engine = choice & 1 ? "postgres" : "sqlite";
	s.same_place = choice & 2;
	for (size_t i = 0; i < TABLES; i++) {
		fuzz_table_take(&in, &tables[i]);
		fuzz_sketch(&s, &tables[i]);
	}
	if (s.pipelines.n)
		fuzz_config(&s, tables);
	sketch_release(&s);
	for (size_t i = 0; i < TABLES; i++)
		fuzz_table_free(&tables[i]);
	return 0;
}

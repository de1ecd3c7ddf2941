#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/config.h"
#include "core/base/expand.h"
#include "core/base/trust.h"
#include "core/base/utf8.h"

#define CONFIG_SIZE_LIMIT    (1024 * 1024)
#define CONFIG_DEPTH_LIMIT   32
#define CONFIG_ENTRIES_LIMIT 10000

/* Builds the tree from libfyaml's events, with the open nodes on a stack. */
struct config_parser {
	struct config_file *file;
	struct error *err;
	struct fy_diag *diag;
	struct fy_parser *fy;
	struct config_node *open[CONFIG_DEPTH_LIMIT];
	size_t depth;
	char *key; /* a map's key that has no value yet */
	struct config_place key_at;
	struct config_place at; /* where the event in hand is */
	size_t documents;
	bool as_written; /* scalars are not expanded */
};

/* libfyaml's marks count from 0. The mark of a quoted scalar points behind its
 * quote. An absent value has none and takes its key's place. */
static struct config_place config_parser_place(const struct config_parser *p,
					       struct fy_event *event)
{
	const struct fy_mark *mark = fy_event_start_mark(event);
	struct config_place at = p->key ? p->key_at : p->at;

	if (!mark)
		return at;
	at.line = mark->line + 1;
	at.column = mark->column + 1;
	if (event->type == FYET_SCALAR) {
		enum fy_scalar_style style =
			fy_token_scalar_style(event->scalar.value);

		if (at.column > 1 && (style == FYSS_SINGLE_QUOTED ||
				      style == FYSS_DOUBLE_QUOTED))
			at.column--;
	}
	return at;
}

static int config_parser_fail(struct config_parser *p, const char *text)
{
	return config_fail(p->file, p->at, p->err, "%s", text);
}

static struct config_node *config_parser_top(struct config_parser *p)
{
	return p->depth ? p->open[p->depth - 1] : NULL;
}

static bool config_parser_wants_key(struct config_parser *p)
{
	struct config_node *top = config_parser_top(p);

	return top && top->kind == CONFIG_MAP && !p->key;
}

/* The node goes to its parent, or is freed with an error. */
static int config_parser_attach(struct config_parser *p,
				struct config_node *node)
{
	struct config_node *top = config_parser_top(p);

	if (!top) {
		p->file->root = node;
		return 0;
	}
	if (top->n >= CONFIG_ENTRIES_LIMIT) {
		config_node_free(node);
		return config_parser_fail(p, "too many entries in one place");
	}
	config_node_add(top, p->key, p->key ? p->key_at : p->at, node);
	free(p->key);
	p->key = NULL;
	return 0;
}

static int config_parser_key(struct config_parser *p, const char *text)
{
	struct config_entry *first =
		config_node_entry(config_parser_top(p), text);

	if (first)
		return config_fail(p->file, p->at, p->err,
				   "key \"%s\" is already given in line %d",
				   text, first->at.line);
	p->key = xstrdup(text);
	p->key_at = p->at;
	return 0;
}

static int config_parser_expand(struct config_parser *p,
				struct config_node *node)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	if (p->as_written) {
		node->text = xstrdup(node->raw);
		return 0;
	}
	rc = expand_text(&text, node->raw, p->err);
	if (rc)
		config_prefix(p->file, p->at, p->err);
	node->text = strbuf_detach(&text);
	return rc;
}

static int config_parser_scalar(struct config_parser *p, struct fy_token *token)
{
	size_t n = 0;
	const char *text = fy_token_get_text(token, &n);
	struct config_node *node;
	char *raw;
	int rc;

	if (!text)
		n = 0;
	if (n && memchr(text, '\0', n))
		return config_parser_fail(p, "a NUL character is not allowed");
	raw = n ? xstrndup(text, n) : xstrdup("");
	if (config_parser_wants_key(p)) {
		rc = config_parser_key(p, raw);
		free(raw);
		return rc;
	}
	node = config_node_new(CONFIG_SCALAR, p->at);
	node->quoted = token && fy_token_scalar_style(token) != FYSS_PLAIN;
	node->raw = raw;
	rc = config_parser_expand(p, node);
	if (rc) {
		config_node_free(node);
		return rc;
	}
	return config_parser_attach(p, node);
}

static int config_parser_open(struct config_parser *p, enum config_kind kind)
{
	struct config_node *node;
	int rc;

	if (config_parser_wants_key(p))
		return config_parser_fail(p, "a key is to be plain text");
	if (p->depth == CONFIG_DEPTH_LIMIT)
		return config_parser_fail(p, "nested too deeply");
	node = config_node_new(kind, p->at);
	rc = config_parser_attach(p, node);
	if (!rc)
		p->open[p->depth++] = node;
	return rc;
}

/* Move to the sign in front of a token whose mark points `behind` it. */
static void config_parser_at_sign(struct config_parser *p,
				  struct fy_token *token, int behind)
{
	const struct fy_mark *mark = fy_token_start_mark(token);

	if (!mark)
		return;
	p->at.line = mark->line + 1;
	p->at.column = mark->column + 1 - behind;
}

static int config_parser_plain_only(struct config_parser *p,
				    struct fy_token *anchor,
				    struct fy_token *tag)
{
	if (anchor)
		config_parser_at_sign(p, anchor, 1);
	if (anchor)
		return config_parser_fail(p, "anchors (&name) are not "
					     "allowed; shared settings go "
					     "under defaults:");
	if (tag)
		config_parser_at_sign(p, tag, 0);
	if (tag)
		return config_parser_fail(p, "tags (!name) are not allowed");
	return 0;
}

static int config_parser_event(struct config_parser *p, struct fy_event *e)
{
	int rc;

	p->at = config_parser_place(p, e);
	switch (e->type) {
	case FYET_DOCUMENT_START:
		if (p->documents++)
			return config_parser_fail(
				p, "a second document (---) in one file");
		return 0;
	case FYET_ALIAS:
		config_parser_at_sign(p, e->alias.anchor, 1);
		return config_parser_fail(p, "aliases (*name) are not "
					     "allowed; shared settings go "
					     "under defaults:");
	case FYET_SCALAR:
		rc = config_parser_plain_only(p, e->scalar.anchor,
					      e->scalar.tag);
		return rc ? rc : config_parser_scalar(p, e->scalar.value);
	case FYET_MAPPING_START:
		rc = config_parser_plain_only(p, e->mapping_start.anchor,
					      e->mapping_start.tag);
		return rc ? rc : config_parser_open(p, CONFIG_MAP);
	case FYET_SEQUENCE_START:
		rc = config_parser_plain_only(p, e->sequence_start.anchor,
					      e->sequence_start.tag);
		return rc ? rc : config_parser_open(p, CONFIG_LIST);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		p->depth--;
		return 0;
	default:
		return 0;
	}
}

/* Report libfyaml's finding about the text itself. */
static int config_parser_syntax(struct config_parser *p)
{
	struct fy_diag_error *found;
	void *at = NULL;

	if (!fy_parser_get_stream_error(p->fy))
		return 0;
	found = fy_diag_errors_iterate(p->diag, &at);
	if (found && found->line > 0) {
		p->at.line = found->line;
		p->at.column = found->column;
	}
	return config_fail(p->file, p->at, p->err, "not valid YAML: %s",
			   found && found->msg ? found->msg : "syntax error");
}

static int config_parser_run(struct config_parser *p)
{
	struct fy_event *event;
	int rc = 0;

	while (!rc && (event = fy_parser_parse(p->fy))) {
		rc = config_parser_event(p, event);
		fy_parser_event_free(p->fy, event);
	}
	return rc ? rc : config_parser_syntax(p);
}

static int config_check_utf8(const struct config_file *file, const char *data,
			     size_t n, struct error *err)
{
	struct config_place at = { NULL, 1, 1 };
	size_t length;

	for (size_t i = 0; i < n; i += length) {
		length = utf8_char_length(data + i, n - i);
		if (!length)
			return config_fail(file, at, err, "not valid UTF-8");
		if (!data[i])
			return config_fail(file, at, err,
					   "a NUL character is not allowed");
		at.column++;
		if (data[i] == '\n') {
			at.line++;
			at.column = 1;
		}
	}
	return 0;
}

static struct fy_diag *config_diag_new(void)
{
	struct fy_diag_cfg cfg;
	struct fy_diag *diag;

	fy_diag_cfg_default(&cfg);
	cfg.fp = NULL;
	cfg.colorize = false;
	diag = fy_diag_create(&cfg);
	if (diag)
		fy_diag_set_collect_errors(diag, true);
	return diag;
}

static int config_parse_tree(struct config_file *file, const char *data,
			     size_t n, bool as_written, struct error *err)
{
	struct config_parser p = { .file = file,
				   .as_written = as_written,
				   .err = err };
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG };
	int rc;

	p.at.line = p.at.column = 1;
	p.diag = cfg.diag = config_diag_new();
	p.fy = p.diag ? fy_parser_create(&cfg) : NULL;
	if (p.fy && !fy_parser_set_string(p.fy, data, n))
		rc = config_parser_run(&p);
	else
		rc = error_set(err, ERROR_BUG, "cannot start the YAML parser");
	fy_parser_destroy(p.fy);
	fy_diag_destroy(p.diag);
	free(p.key);
	return rc;
}

static int config_parse(struct config_file *out, const char *name,
			const char *data, size_t n, bool as_written,
			struct error *err)
{
	struct config_file file = { .name = xstrdup(name) };
	int rc;

	if (n > CONFIG_SIZE_LIMIT)
		rc = error_set(err, ERROR_CONFIG, "%s is larger than %d KiB",
			       name, CONFIG_SIZE_LIMIT / 1024);
	else
		rc = config_check_utf8(&file, data, n, err);
	if (!rc)
		rc = config_parse_tree(&file, data, n, as_written, err);
	if (!rc && !file.root)
		rc = error_set(err, ERROR_CONFIG, "%s is empty", name);
	if (rc)
		config_file_release(&file);
	else
		*out = file;
	return rc;
}

int config_file_parse(struct config_file *out, const char *name,
		      const char *data, size_t n, struct error *err)
{
	return config_parse(out, name, data, n, false, err);
}

static char *config_doubt(const char *path, enum trust kind)
{
	struct strbuf why = STRBUF_INIT;

	return trust_path(path, kind, &why) ? NULL : strbuf_detach(&why);
}

int config_file_load(struct config_file *out, const char *path,
		     struct error *err)
{
	struct strbuf data = STRBUF_INIT;
	int rc = file_read(&data, path, CONFIG_SIZE_LIMIT, err);

	if (!rc)
		rc = config_file_parse(out, path, data.data, data.len, err);
	if (!rc) {
		out->exposed = config_doubt(path, TRUST_SECRET);
		out->doubt = config_doubt(path, TRUST_CONFIG);
	}
	strbuf_release(&data);
	return rc;
}

int config_file_names(struct strlist *out, const char *path, const char *name,
		      struct error *err)
{
	const struct config_entry *entry;
	struct strbuf data = STRBUF_INIT;
	struct config_file file;
	int rc = file_read(&data, path, CONFIG_SIZE_LIMIT, err);

	if (!rc)
		rc = config_parse(&file, path, data.data, data.len, true, err);
	strbuf_release(&data);
	if (rc)
		return rc;
	entry = config_node_entry(file.root, name);
	for (size_t i = 0;
	     entry && entry->node->kind == CONFIG_MAP && i < entry->node->n;
	     i++)
		strlist_add(out, entry->node->entries[i].key);
	config_file_release(&file);
	return 0;
}

#include "core/sync/report/amend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/new_file.h"

/* The config is no larger: core/base/config.h. */
#define AMEND_LARGEST ((size_t)1 << 20)

/* Where line `n` (from 1) of a text begins; its end if there are fewer. */
static size_t amend_line(const char *text, int n)
{
	const char *p = text;

	for (int i = 1; i < n && p; i++) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return p ? (size_t)(p - text) : strlen(text);
}

static char amend_char(const char *text, struct config_place at)
{
	size_t line = amend_line(text, at.line);
	size_t n = strlen(text + line), column = (size_t)at.column - 1;

	return column < n ? text[line + column] : '\0';
}

/* Nothing of the block stands in this line: it is empty, or a comment that
 * begins at its very left. */
static bool amend_is_apart(const char *line)
{
	return *line == '#' || line[strspn(line, " \t\r")] == '\n' ||
	       line[strspn(line, " \t\r")] == '\0';
}

/* Behind the last line of the block of `pipelines:`. */
static size_t amend_end(const char *text, const struct config_node *root,
			const struct config_entry *pipelines)
{
	int next = 0;
	size_t end;

	for (size_t i = 0; i < root->n; i++) {
		int line = root->entries[i].at.line;

		if (line > pipelines->at.line && (!next || line < next))
			next = line;
	}
	end = next ? amend_line(text, next) : strlen(text);
	for (;;) {
		size_t from = end ? end - 1 : 0;

		while (from && text[from - 1] != '\n')
			from--;
		if (from == end || !amend_is_apart(text + from))
			return end;
		end = from;
	}
}

/* With the indentation and the line ends of the file. */
static void amend_write(struct strbuf *out, const char *body, int indent,
			bool dos)
{
	while (*body) {
		size_t n = strcspn(body, "\n");
		const char *line = body;

		if (n >= 2 && !strncmp(line, "  ", 2)) {
			line += 2;
			n -= 2;
			for (int i = 0; i < indent; i++)
				strbuf_addch(out, ' ');
		}
		strbuf_add(out, line, n);
		strbuf_addstr(out, dos ? "\r\n" : "\n");
		body = line + n;
		body += *body == '\n';
	}
}

static bool amend_same(const struct config_node *a, const struct config_node *b)
{
	if (a->kind != b->kind || a->n > b->n ||
	    strcmp(a->raw ? a->raw : "", b->raw ? b->raw : "") != 0)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const char *key = a->entries[i].key, *other = b->entries[i].key;

		if (strcmp(key ? key : "", other ? other : "") != 0 ||
		    !amend_same(a->entries[i].node, b->entries[i].node))
			return false;
	}
	return true;
}

/* All that was there is there, and so many pipelines more. */
static bool amend_is_well(const struct config_node *before,
			  const struct config_node *after, size_t more)
{
	const struct config_node *old = config_node_find(before, "pipelines");
	const struct config_node *now = config_node_find(after, "pipelines");

	return before->n == after->n && amend_same(before, after) && old &&
	       now && now->n == old->n + more;
}

static int amend_refuse(const char *name, const char *why, struct error *err)
{
	return error_set(err, ERROR_CONFIG,
			 "%s: nothing can be added to it, for %s" ERROR_FIX
			 ": print the pipelines with init --stdout, and copy "
			 "what you need",
			 name, why);
}

static int amend_parsed(const char *name, const char *text,
			const struct config_file *file, const char *body,
			struct strbuf *out, struct error *err)
{
	const struct config_entry *entry =
		config_node_entry(file->root, "pipelines");
	bool dos = strstr(text, "\r\n");
	size_t end;

	if (!entry || entry->node->kind != CONFIG_MAP || !entry->node->n)
		return amend_refuse(name, "it has no pipelines", err);
	if (amend_char(text, file->root->at) == '{')
		return amend_refuse(name, "it is written as JSON", err);
	if (amend_char(text, entry->node->at) == '{')
		return amend_refuse(name, "its pipelines are written in braces",
				    err);
	end = amend_end(text, file->root, entry);
	strbuf_add(out, text, end);
	if (end && text[end - 1] != '\n')
		strbuf_addstr(out, dos ? "\r\n" : "\n");
	amend_write(out, body, entry->node->entries[0].at.column - 1, dos);
	strbuf_addstr(out, text + end);
	return 0;
}

int amend_text(const char *name, const char *text, const char *body,
	       size_t n_pipelines, struct strbuf *out, struct error *err)
{
	struct config_file file, made;
	int rc = config_file_parse(&file, name, text, strlen(text), err);

	if (rc)
		return rc;
	rc = amend_parsed(name, text, &file, body, out, err);
	if (rc)
		goto out;
	if (config_file_parse(&made, name, out->data, out->len, err)) {
		error_clear(err);
		rc = amend_refuse(name, "its layout is not plain", err);
		goto out;
	}
	if (!amend_is_well(file.root, made.root, n_pipelines))
		rc = amend_refuse(name, "its layout is not plain", err);
	config_file_release(&made);
out:
	config_file_release(&file);
	return rc;
}

static int amend_read(const char *path, struct strbuf *out, struct stat *st,
		      struct error *err)
{
	FILE *f = fopen(path, "re");
	char buffer[4096];
	size_t n;
	int failed;

	if (!f || fstat(fileno(f), st)) {
		int why = errno;

		if (f)
			fclose(f);
		return error_set(err, ERROR_CONFIG, "cannot read %s: %s", path,
				 strerror(why));
	}
	while (out->len <= AMEND_LARGEST &&
	       (n = fread(buffer, 1, sizeof(buffer), f)) > 0)
		strbuf_add(out, buffer, n);
	failed = ferror(f);
	fclose(f);
	if (failed)
		return error_set(err, ERROR_CONFIG, "cannot read %s", path);
	return 0;
}

static int amend_save(const char *path, const struct strbuf *text,
		      const struct stat *was, struct error *err)
{
	if (!file_replace(path, text->data, text->len, was))
		return 0;
	if (errno == ESTALE)
		return error_set(
			err, ERROR_CONFIG,
			"%s was changed by somebody else just now, and "
			"is left as it is" ERROR_FIX "; try again",
			path);
	return error_set(err, ERROR_CONFIG, "cannot write %s: %s", path,
			 strerror(errno));
}

/* The password of a URL is not in the config. */
static bool amend_is_url(const char *url, const struct connection *c)
{
	struct strlist variables = STRLIST_INIT;
	struct strbuf bare = STRBUF_INIT, other = STRBUF_INIT;
	bool is;

	propose_hide_password(url, "X", &bare, &variables);
	propose_hide_password(c->url.text, "X", &other, &variables);
	is = !strcmp(url, c->url.text) || !strcmp(bare.data, other.data);
	strlist_release(&variables);
	strbuf_release(&bare);
	strbuf_release(&other);
	return is;
}

static int amend_connection(const struct settings *s, const char *word,
			    const char *usual, const struct connection **out,
			    struct error *err)
{
	struct strbuf all = STRBUF_INIT;
	int rc;

	for (size_t i = 0; i < s->n_connections; i++) {
		const struct connection *c = s->connections[i];

		if (!strcmp(c->name, word ? word : usual) ||
		    (word && amend_is_url(word, c))) {
			*out = c;
			strbuf_release(&all);
			return 0;
		}
		strbuf_addf(&all, "%s%s", i ? ", " : "", c->name);
	}
	rc = error_set(err, ERROR_CONFIG,
		       "no connection of %s is %s" ERROR_FIX
		       ": name two of its connections, as in init --add "
		       "SOURCE DESTINATION; there are: %s",
		       s->file, word ? "that URL, or has that name" : usual,
		       all.data);
	strbuf_release(&all);
	return rc;
}

static int amend_propose(const char *path, const char *source,
			 const char *destination, const struct wish *wish,
			 struct proposal *out, struct error *err)
{
	const struct connection *from = NULL, *to = NULL;
	struct settings s;
	int rc = settings_load(&s, path, err);

	if (rc)
		return rc;
	rc = amend_connection(&s, source, "source", &from, err);
	if (!rc)
		rc = amend_connection(&s, destination, "destination", &to, err);
	if (!rc)
		rc = propose_more(&s, from, to, wish, out, err);
	settings_release(&s);
	return rc;
}

int amend(const char *path, const char *source, const char *destination,
	  const struct wish *wish, struct proposal *out, struct error *err)
{
	struct strbuf text = STRBUF_INIT, made = STRBUF_INIT;
	struct stat was;
	int rc = amend_read(path, &text, &was, err);

	if (!rc)
		rc = amend_propose(path, source, destination, wish, out, err);
	if (!rc && out->pipelines.n)
		rc = amend_text(path, text.data, out->yaml.data,
				out->pipelines.n, &made, err);
	if (!rc && out->pipelines.n)
		rc = amend_save(path, &made, &was, err);
	strbuf_release(&text);
	strbuf_release(&made);
	return rc;
}

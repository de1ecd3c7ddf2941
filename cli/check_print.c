#include "cli/check_print.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"

/* More pipelines than these are summed up; more names are counted. */
#define REPORT_LINES 20
#define REPORT_NAMES 20

enum report_rank { RANK_ERROR, RANK_WARNING, RANK_INFO, RANK_WEAK, RANKS };

/* One remark, and the pipelines that it holds for. */
struct remark {
	enum report_rank rank;
	char *shape; /* its text without the names of the pipeline's tables */
	char *text, *fix; /* the first pipeline's; fix NULL: none */
	struct strlist pipelines;
};

struct check_report {
	struct check_report_options options;
	struct remark *remarks;
	size_t n_remarks, remarks_capacity;
	size_t n, ready, warned, failing;
	size_t guarantees[GUARANTEE_NONE + 1], unsettled; /* without an error */
	struct strlist lines; /* one a pipeline, as long as they are few */
	/* Kept for `columns`. */
	struct output_table **tables;
	struct strlist *ddl;
	struct strlist names;
	size_t details_capacity, ddl_capacity;
};

struct check_report *check_report_new(const struct check_report_options *o)
{
	struct check_report *r = xcalloc(1, sizeof(*r));

	r->options = *o;
	return r;
}

void check_report_free(struct check_report *r)
{
	for (size_t i = 0; i < r->n_remarks; i++) {
		free(r->remarks[i].shape);
		free(r->remarks[i].text);
		free(r->remarks[i].fix);
		strlist_release(&r->remarks[i].pipelines);
	}
	for (size_t i = 0; i < r->names.n; i++) {
		output_table_free(r->tables[i]);
		strlist_release(&r->ddl[i]);
	}
	free(r->remarks);
	free(r->tables);
	free(r->ddl);
	strlist_release(&r->names);
	strlist_release(&r->lines);
	free(r);
}

static bool report_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* Each whole word `name` in `text` becomes a sign. */
static char *report_blank(char *text, const char *name)
{
	struct strbuf sb = STRBUF_INIT;
	size_t n = name ? strlen(name) : 0;

	if (!n)
		return text;
	for (const char *p = text; *p;) {
		bool begins = p == text || !report_is_word(p[-1]);

		if (begins && !strncmp(p, name, n) && !report_is_word(p[n])) {
			strbuf_addch(&sb, '\1');
			p += n;
		} else {
			strbuf_addch(&sb, *p++);
		}
	}
	free(text);
	return strbuf_detach(&sb);
}

/* Remarks of two pipelines are alike if they differ in these names alone. */
static char *report_shape(const struct pipeline_settings *p, const char *text)
{
	char *shape = xstrdup(text);
	const char *tables[] = { p->source_table, p->destination_table };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		shape = report_blank(shape, tables[i]);
	shape = report_blank(shape, settings_call(p));
	shape = report_blank(shape, p->name);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct table_name name = { NULL, NULL, NULL };
		struct error ignored = ERROR_INIT;

		if (!table_name_parse(&name, tables[i], &ignored))
			shape = report_blank(shape, name.name);
		table_name_release(&name);
	}
	return shape;
}

static void report_remark(struct check_report *r, enum report_rank rank,
			  const struct pipeline_settings *p, const char *text,
			  const char *fix)
{
	char *shape = report_shape(p, text);
	struct remark *m = NULL;

	for (size_t i = 0; !m && i < r->n_remarks; i++)
		if (r->remarks[i].rank == rank &&
		    !strcmp(r->remarks[i].shape, shape))
			m = &r->remarks[i];
	if (m) {
		free(shape);
	} else {
		r->remarks = xgrow(r->remarks, &r->remarks_capacity,
				   r->n_remarks + 1, sizeof(*r->remarks));
		m = &r->remarks[r->n_remarks++];
		*m = (struct remark){ .rank = rank,
				      .shape = shape,
				      .text = xstrdup(text),
				      .fix = fix && *fix ? xstrdup(fix)
							 : NULL };
	}
	strlist_add(&m->pipelines, p->name);
}

static struct output_table *report_columns(const struct check_result *c)
{
	static const struct output_column columns[] = {
		{ "COLUMN", false },
		{ "SOURCE TYPE", false },
		{ "DESTINATION TYPE", false },
		{ "MAPPING", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < c->n_columns; i++) {
		const struct check_column *col = &c->columns[i];
		char *both = col->source_name
				     ? xstrfmt("%s -> %s", col->source_name,
					       col->name)
				     : NULL;
		const char *cells[] = { both ? both : col->name,
					col->source_type, col->destination_type,
					col->destination_type
						? mapping_name(col->mapping)
						: NULL };

		output_table_row(t, cells);
		free(both);
	}
	return t;
}

static void report_keep_details(struct check_report *r,
				const struct check_result *c)
{
	size_t n = r->names.n;

	r->tables = xgrow(r->tables, &r->details_capacity, n + 1,
			  sizeof(*r->tables));
	r->ddl = xgrow(r->ddl, &r->ddl_capacity, n + 1, sizeof(*r->ddl));
	r->tables[n] = c->n_columns ? report_columns(c) : NULL;
	r->ddl[n] = (struct strlist)STRLIST_INIT;
	strlist_copy(&r->ddl[n], &c->ddl);
	strlist_add(&r->names, c->pipeline->name);
}

static void report_count(struct check_report *r, const struct check_result *c,
			 bool warned)
{
	bool fails = check_result_error(c) != ERROR_NONE;
	char *line;

	r->n++;
	if (fails)
		r->failing++;
	else if (warned)
		r->warned++;
	else
		r->ready++;
	if (!fails && c->settled)
		r->guarantees[c->guarantee]++;
	else if (!fails)
		r->unsettled++;
	if (!r->options.all && r->n > REPORT_LINES)
		return;
	line = xstrfmt("%s: %s%s%s", c->pipeline->name,
		       fails ? "a run would fail" : "ok",
		       c->settled ? "; guarantee " : "",
		       c->settled ? guarantee_name(c->guarantee) : "");
	strlist_add(&r->lines, line);
	free(line);
}

void check_report_add(struct check_report *r, const struct check_result *c)
{
	static const enum report_rank ranks[] = {
		[SEVERITY_ERROR] = RANK_ERROR,
		[SEVERITY_WARNING] = RANK_WARNING,
		[SEVERITY_INFO] = RANK_INFO,
	};
	bool warned = false;

	for (size_t i = 0; i < c->problems.n; i++) {
		const struct problem *p = &c->problems.items[i];
		char *text = xstrfmt("%s %s: %s", severity_name(p->severity),
				     p->code, p->message);

		warned = warned || p->severity == SEVERITY_WARNING;
		report_remark(r, ranks[p->severity], c->pipeline, text, p->fix);
		free(text);
	}
	if (c->settled && *c->guarantee_reason) {
		char *text = xstrfmt("guarantee %s: %s",
				     guarantee_name(c->guarantee),
				     c->guarantee_reason);

		report_remark(r, RANK_WEAK, c->pipeline, text, NULL);
		free(text);
	}
	report_count(r, c, warned);
	if (r->options.columns)
		report_keep_details(r, c);
}

/* "1,280" */
static const char *report_number(char out[32], size_t n)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%zu", n);
	char *to = out;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

static char *report_pipelines(size_t n)
{
	char number[32];

	return xstrfmt("%s pipeline%s", report_number(number, n),
		       n == 1 ? "" : "s");
}

static void report_print_names(const struct check_report *r, const char *who,
			       const struct strlist *names)
{
	struct strbuf sb = STRBUF_INIT;
	char number[32];
	size_t n = names->n;

	if (!r->options.all && n > REPORT_NAMES)
		n = REPORT_NAMES;
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&sb, "%s%s", i ? ", " : "", names->items[i]);
	if (n < names->n)
		strbuf_addf(&sb, " and %s more (-v names them all)",
			    report_number(number, names->n - n));
	output_line("%s:   the text is that of %s; they are %s", who,
		    names->items[0], sb.data);
	strbuf_release(&sb);
}

static void report_print_remark(const struct check_report *r,
				const struct remark *m)
{
	char *who = m->pipelines.n > 1 ? report_pipelines(m->pipelines.n)
				       : xstrdup(m->pipelines.items[0]);

	output_line("%s: %s", who, m->text);
	if (m->fix)
		output_line("%s:   fix: %s", who, m->fix);
	if (m->pipelines.n > 1)
		report_print_names(r, who, &m->pipelines);
	free(who);
}

static void report_print_sound(const struct check_report *r)
{
	for (size_t i = 0; i <= GUARANTEE_NONE; i++) {
		char *who = report_pipelines(r->guarantees[i]);

		if (r->guarantees[i])
			output_line("%s: ok; guarantee %s", who,
				    guarantee_name((enum guarantee)i));
		free(who);
	}
	if (r->unsettled) {
		char *who = report_pipelines(r->unsettled);

		output_line("%s: ok", who);
		free(who);
	}
}

static void report_print_details(const struct check_report *r)
{
	for (size_t i = 0; i < r->names.n; i++) {
		output_line("%s:", r->names.items[i]);
		if (r->tables[i])
			output_table_print(r->tables[i]);
		for (size_t k = 0; k < r->ddl[i].n; k++)
			output_line("%s: the first run does: %s",
				    r->names.items[i], r->ddl[i].items[k]);
	}
}

static void report_print_sum(const struct check_report *r)
{
	const struct {
		size_t n;
		const char *words;
	} parts[] = {
		{ r->ready, "ready" },
		{ r->warned, "with warnings" },
		{ r->failing, "cannot run" },
	};
	struct strbuf sb = STRBUF_INIT;
	char *all = report_pipelines(r->n);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char number[32];

		if (parts[i].n)
			strbuf_addf(&sb, "%s %s %s", sb.len ? "," : "",
				    report_number(number, parts[i].n),
				    parts[i].words);
	}
	output_line("%s:%s", all, sb.data);
	strbuf_release(&sb);
	free(all);
}

void check_report_print(const struct check_report *r)
{
	int ranks = r->options.quiet ? RANK_WARNING + 1 : RANKS;

	for (int rank = 0; rank < ranks; rank++)
		for (size_t i = 0; i < r->n_remarks; i++)
			if ((int)r->remarks[i].rank == rank)
				report_print_remark(r, &r->remarks[i]);
	if (r->options.quiet)
		return;
	report_print_details(r);
	if (r->lines.n == r->n)
		for (size_t i = 0; i < r->n; i++)
			output_line("%s", r->lines.items[i]);
	else
		report_print_sound(r);
	report_print_sum(r);
}

#include "cli/verify_print.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/output.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"

static char *verify_cell(const json_t *value)
{
	char *text = json_text_dump(value, JSON_COMPACT | JSON_ENCODE_ANY |
						   JSON_REAL_PRECISION(15));

	return text ? text : xstrdup("-");
}

static void verify_add_row(struct output_table *t, const json_t *example)
{
	char *key = verify_cell(json_object_get(example, "key"));
	char *source = verify_cell(json_object_get(example, "source"));
	char *destination =
		verify_cell(json_object_get(example, "destination"));
	const char *cells[] = { json_string_value(
					json_object_get(example, "kind")),
				key, source, destination };

	output_table_row(t, cells);
	free(key);
	free(source);
	free(destination);
}

static void verify_print_examples(const struct verify_result *r, bool values)
{
	static const struct output_column columns[] = {
		{ "KIND", false },
		{ "KEY", false },
		{ "SOURCE", false },
		{ "DESTINATION", false },
	};
	struct output_table *t;

	if (!json_array_size(r->examples))
		return;
	t = output_table_new(columns, values ? 4 : 2);
	for (size_t i = 0; i < json_array_size(r->examples); i++)
		verify_add_row(t, json_array_get(r->examples, i));
	output_table_print(t);
	output_table_free(t);
}

/* A verdict about a part must not read as if it were about the whole. */
static void verify_print_verdict(const struct verify_result *r)
{
	struct strbuf part = STRBUF_INIT;

	if (!verify_part_is_whole(&r->part)) {
		strbuf_addstr(&part, " in the part looked at, ");
		verify_part_print(&part, &r->part, r->pipeline);
	}
	output_line("%s: %s%s: %" PRId64 " missing, %" PRId64 " extra, %" PRId64
		    " different, %" PRId64 " unsettled; %" PRId64
		    " compared in %.3f s",
		    r->pipeline->name,
		    verify_result_equal(r) ? "equal" : "not equal", part.data,
		    r->found.of[DIFFERENCE_MISSING],
		    r->found.of[DIFFERENCE_EXTRA],
		    r->found.of[DIFFERENCE_DIFFERENT], r->found.unsettled,
		    r->compared, (double)r->elapsed_us / (double)US_PER_SECOND);
	strbuf_release(&part);
}

static void verify_print_kept(const struct verify_result *r)
{
	struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < r->kept.n; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", r->kept.items[i]);
	if (r->kept.n)
		output_line("%s: kept: %s (gone from the source; the "
			    "destination has old values, which were not "
			    "compared)",
			    r->pipeline->name, names.data);
	strbuf_release(&names);
}

static void verify_print_sides(const struct verify_result *r)
{
	const char *name = r->pipeline->name;
	const char *of = verify_part_is_whole(&r->part) ? "" : " of that part";
	char sums[COMPARE_SIDES][DIGEST_TEXT_SIZE];

	for (size_t i = 0; i < COMPARE_SIDES; i++)
		digest_text(&r->rows[i], sums[i]);
	output_line("%s: source %" PRIu64 " rows%s, checksum %s", name,
		    r->rows[COMPARE_SOURCE].rows, of, sums[COMPARE_SOURCE]);
	output_line("%s: destination %" PRIu64 " rows%s, checksum %s", name,
		    r->rows[COMPARE_DESTINATION].rows, of,
		    sums[COMPARE_DESTINATION]);
}

void verify_report_print(struct verify_report *report,
			 const struct verify_result *r)
{
	const char *name = r->pipeline->name;
	bool equal = r->done && verify_result_equal(r);

	report->equal += equal;
	report->failed += !r->done;
	if (report->quiet && equal)
		return;
	if (!r->done) {
		output_line("%s: not verified: %s", name, r->error.message);
		return;
	}
	verify_print_verdict(r);
	if (r->repaired || r->deleted)
		output_line("%s: %" PRId64 " repaired and %" PRId64
			    " deleted before this comparison",
			    name, r->repaired, r->deleted);
	if (!equal || report->n == 1)
		verify_print_sides(r);
	verify_print_kept(r);
	verify_print_examples(r, report->values);
}

void verify_report_sum(const struct verify_report *r)
{
	const struct {
		size_t n;
		const char *words;
	} parts[] = {
		{ r->equal, "equal" },
		{ r->n - r->equal - r->failed, "not equal" },
		{ r->failed, "not verified" },
	};
	struct strbuf sb = STRBUF_INIT;

	if (r->quiet || r->n < 2)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].n)
			strbuf_addf(&sb, "%s %zu %s", sb.len ? "," : "",
				    parts[i].n, parts[i].words);
	output_line("%zu pipelines:%s", r->n, sb.data);
	strbuf_release(&sb);
}

#include "core/sync/verify/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/sync/parts/others.h"

void verify_result_init(struct verify_result *r,
			const struct pipeline_settings *p)
{
	memset(r, 0, sizeof(*r));
	r->pipeline = p;
	r->examples = json_array();
}

void verify_result_release(struct verify_result *r)
{
	json_decref(r->examples);
	free(r->hidden);
	strlist_release(&r->others);
	strlist_release(&r->kept);
	memset(r, 0, sizeof(*r));
}

int verify_result_stopped(const struct verify_result *r, struct error *err)
{
	error_clear(err);
	return error_set(err, ERROR_STOPPED,
			 "stopped by a signal, when %" PRIu64
			 " rows of the source and %" PRIu64
			 " of the destination had been read",
			 r->rows[COMPARE_SOURCE].rows,
			 r->rows[COMPARE_DESTINATION].rows);
}

/* Count the keys of both sides that are not past the mark. The two were not
 * read at one instant: the side that shows more of them counts. */
void verify_result_count(struct verify_result *r)
{
	int64_t source = (int64_t)r->rows[COMPARE_SOURCE].rows +
			 r->found.of[DIFFERENCE_EXTRA];
	int64_t there = (int64_t)r->rows[COMPARE_DESTINATION].rows +
			r->found.of[DIFFERENCE_MISSING];
	int64_t all = source > there ? source : there;

	r->compared = all > r->found.unsettled ? all - r->found.unsettled : 0;
}

bool verify_result_is_blind(const struct verify_result *r)
{
	return r->done && !r->compared && r->found.unsettled;
}

/* Without a mark nothing was promised, and nothing is confirmed: rows that
 * differ may be on their way, or lost. */
bool verify_result_equal(const struct verify_result *r)
{
	return r->done && !differences_sum(&r->found) &&
	       (r->marked || !r->found.unsettled) && !verify_result_is_blind(r);
}

static void result_warn_empty(const struct verify_result *r)
{
	if (!verify_part_is_whole(&r->part) && !r->rows[COMPARE_SOURCE].rows &&
	    !r->rows[COMPARE_DESTINATION].rows)
		log_warn("no rows were looked at: neither side has any in the "
			 "part that was asked for");
}

int verify_result_verdict(const struct verify_result *r, struct error *err)
{
	const struct pipeline_settings *p = r->pipeline;
	struct strbuf part = STRBUF_INIT;
	int rc;

	if (verify_result_equal(r)) {
		result_warn_empty(r);
		return 0;
	}
	if (verify_result_is_blind(r) && r->marked)
		return error_set(err, ERROR_DIFFERENT,
				 "no row could be compared: all %" PRId64
				 " rows that differ lie past the mark, so "
				 "nothing says whether %s is what %s is; run "
				 "it first (tidemark %s %s)",
				 r->found.unsettled, p->destination_table,
				 p->source_table, settings_run(p),
				 settings_call(p));
	if (!r->marked && !differences_sum(&r->found))
		return error_set(err, ERROR_DIFFERENT,
				 "%s has no mark: nothing says how far it was "
				 "loaded, and %" PRId64 " rows are not what %s "
				 "has; run it first (tidemark %s %s)",
				 p->destination_table, r->found.unsettled,
				 p->source_table, settings_run(p),
				 settings_call(p));
	if (!verify_part_is_whole(&r->part)) {
		strbuf_addstr(&part, " (looked at: ");
		verify_part_print(&part, &r->part, p);
		strbuf_addstr(&part, ")");
	}
	rc = error_set(err, ERROR_DIFFERENT,
		       "%s is not what the source's %s is: %" PRId64
		       " missing, %" PRId64 " extra, %" PRId64 " different%s",
		       p->destination_table, p->source_table,
		       r->found.of[DIFFERENCE_MISSING],
		       r->found.of[DIFFERENCE_EXTRA],
		       r->found.of[DIFFERENCE_DIFFERENT], part.data);
	strbuf_release(&part);
	return rc;
}

void verify_result_name_others(struct verify_result *r, struct error *err)
{
	const struct pipeline_settings *p = r->pipeline;
	struct error ignored = ERROR_INIT;

	if (others_find(p, &r->others, &ignored) || !r->others.n)
		return;
	error_hint(err,
		   "pipeline \"%s\"%s loads %s, too: extra rows may be from "
		   "there",
		   r->others.items[0], r->others.n > 1 ? ", not alone," : "",
		   p->destination_table);
}

json_t *verify_result_json(const struct verify_result *r)
{
	char sums[COMPARE_SIDES][DIGEST_TEXT_SIZE];
	json_t *error = json_null(), *others = json_array(),
	       *kept = json_array();

	for (size_t i = 0; i < r->kept.n; i++)
		json_array_append_new(kept, json_string(r->kept.items[i]));
	for (size_t i = 0; i < r->others.n; i++)
		json_array_append_new(others, json_string(r->others.items[i]));
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		digest_text(&r->rows[i], sums[i]);
	if (r->error.code)
		error = json_pack("{s:s, s:s}", "code",
				  error_code_name(r->error.code), "message",
				  r->error.message);
	return json_pack(
		"{s:s, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:s, "
		"s:s, s:O, "
		"s:o, s:I, s:I, s:f, s:o}",
		"pipeline", r->pipeline->name, "equal", verify_result_equal(r),
		"scope", verify_part_json(&r->part, r->pipeline), "source_rows",
		(json_int_t)r->rows[COMPARE_SOURCE].rows, "destination_rows",
		(json_int_t)r->rows[COMPARE_DESTINATION].rows,
		difference_name(DIFFERENCE_MISSING),
		(json_int_t)r->found.of[DIFFERENCE_MISSING],
		difference_name(DIFFERENCE_EXTRA),
		(json_int_t)r->found.of[DIFFERENCE_EXTRA],
		difference_name(DIFFERENCE_DIFFERENT),
		(json_int_t)r->found.of[DIFFERENCE_DIFFERENT], "unsettled",
		(json_int_t)r->found.unsettled, "compared",
		(json_int_t)r->compared, "kept", kept, "checksum_source",
		sums[COMPARE_SOURCE], "checksum_destination",
		sums[COMPARE_DESTINATION], "examples", r->examples,
		"also_loaded_by", others, "repaired", (json_int_t)r->repaired,
		"deleted", (json_int_t)r->deleted, "seconds",
		(double)r->elapsed_us / (double)US_PER_SECOND, "error", error);
}

#include "connectors/common/trouble.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/value.h"

int refuse_null_marks(const struct scan *scan, const char *column,
		      int64_t count, const char *sample, struct error *err)
{
	if (scan->mark->nulls == NULLS_ERROR)
		return error_set(
			err, ERROR_DATA,
			"%" PRId64 " rows of %s have NULL in the mark "
			"column \"%s\" (one of them: %s)" ERROR_FIX
			"; watermark.nulls: include reads such rows on "
			"every run, skip leaves them out",
			count, scan->source->table, column, sample);
	log_warn("%" PRId64 " rows of %s have NULL in \"%s\" and are left out "
		 "(watermark.nulls: skip)",
		 count, scan->source->table, column);
	return 0;
}

int refuse_altered(const char *table, const char *column, struct error *err)
{
	if (!column)
		return error_set(err, ERROR_TRANSIENT,
				 "table %s was altered while it was read; the "
				 "next try looks at it anew",
				 table);
	return error_set(err, ERROR_TRANSIENT,
			 "table %s, column \"%s\": the column was altered "
			 "while the table was read; the next try looks at it "
			 "anew",
			 table, column);
}

int refuse_null_key(const char *table, const char *sample, struct error *err)
{
	return error_set(
		err, ERROR_DATA,
		"NULL in a key column of %s (%s)" ERROR_FIX
		": choose key columns that are always filled, or leave such "
		"rows out with `where`",
		table, sample);
}

int refuse_sql(const char *key, const struct error *why, struct error *err)
{
	char *what = error_what(why), *fix = error_fix(why);
	bool user = why->code == ERROR_SCHEMA || why->code == ERROR_CONFIG ||
		    why->code == ERROR_DATA || why->code == ERROR_BUG ||
		    why->code == ERROR_UNKNOWN;
	int rc = error_set(err, user ? ERROR_CONFIG : why->code, "%s: %s", key,
			   what);

	if (*fix)
		error_hint(err, "%s", fix);
	else if (user)
		error_hint(err, "correct it: SQL as this source takes it");
	free(what);
	free(fix);
	return rc;
}

int refuse_repeat(const char *table, const char *key, struct error *err)
{
	return error_set(
		err, ERROR_SCHEMA,
		"the key of %s repeats: more than one row has %s" ERROR_FIX
		"; name columns in `key` that tell the rows apart, or "
		"leave rows out with `where`",
		table, key);
}

static bool trouble_same_key(const struct batch *b, size_t row)
{
	for (size_t i = 0; i < b->schema->n_key; i++) {
		const struct vector *v = &b->vectors[b->schema->key[i]];
		size_t n = v->width, m = v->width;
		const uint8_t *x = v->data + row * n;
		const uint8_t *y = v->data + (row - 1) * m;
		if (!v->width) {
			x = vector_bytes(v, row, &n);
			y = vector_bytes(v, row - 1, &m);
		}
		if (n != m || memcmp(x, y, n) != 0)
			return false;
	}
	return true;
}

int refuse_repeat_row(const char *table, const struct batch *b, size_t row,
		      struct error *err)
{
	struct strbuf key = STRBUF_INIT;

	if (!row || !trouble_same_key(b, row))
		return 0;
	value_print_key(&key, b, row);
	refuse_repeat(table, key.data, err);
	strbuf_release(&key);
	return -ERROR_SCHEMA;
}

void report_null_marks(struct problems *out, const char *table,
		       const char *column, enum nulls_policy policy,
		       int64_t count)
{
	bool stops = policy == NULLS_ERROR;

	problems_add(out,
		     stops		    ? SEVERITY_ERROR
		     : policy == NULLS_SKIP ? SEVERITY_WARNING
					    : SEVERITY_INFO,
		     stops ? ERROR_DATA : ERROR_NONE, "null-marks",
		     stops ? "watermark.nulls: include, or skip"
			   : "fill the column; watermark.nulls says what "
			     "happens until then",
		     "%" PRId64 " rows of %s have NULL in \"%s\"%s", count,
		     table, column,
		     policy == NULLS_SKIP      ? ": they are left out"
		     : policy == NULLS_INCLUDE ? ": they are read on every run"
					       : "");
}

void report_nullable_key(struct problems *out, const char *table,
			 const char *column)
{
	problems_add(out, SEVERITY_WARNING, ERROR_NONE, "key-nullable",
		     "name columns under `key` that are always filled, or "
		     "leave such rows out with `where`",
		     "key column \"%s\" of %s may be NULL: such a row stops "
		     "the run",
		     column, table);
}

void report_repeat(struct problems *out, const char *table, const char *key)
{
	struct error found = ERROR_INIT;

	refuse_repeat(table, key, &found);
	problems_add_error(out, "key-repeats", &found);
}

void report_unvouched(struct problems *out, const char *table, const char *fix)
{
	problems_add(out, SEVERITY_WARNING, ERROR_NONE,
		     "key-without-unique-index",
		     fix ? fix
			 : "name a key whose values the source keeps "
			   "apart, if there is one",
		     "no unique index of %s vouches for the key: every run "
		     "looks for keys that repeat, and one stops it",
		     table);
}

void report_cascade(struct problems *out, const struct source_spec *source,
		    const char *key, const char *how, const char *column,
		    const char *other)
{
	char *fix = xstrfmt("%srun tidemark verify --repair %s after such a "
			    "change",
			    other, source->call ? source->call : "PIPELINE");

	problems_add(out, SEVERITY_WARNING, ERROR_NONE, "key-cascades", fix,
		     "foreign key %s changes rows of %s by itself (%s) and "
		     "leaves \"%s\" as it was: no run reads such a change",
		     key, source->table, how, column);
	free(fix);
}

void report_zone_unknown(struct problems *out, const char *table,
			 const char *column, const char *own)
{
	problems_add(out, SEVERITY_WARNING, ERROR_NONE, "time-zone-unknown",
		     "watermark.time_zone: UTC (or +05:30, Europe/Rome, ...)",
		     "\"%s\" of %s has no time zone: say whose clock it "
		     "holds%s, and the guarantee becomes exact",
		     column, table, own);
}

int report_zone(struct problems *out, int rc, const struct error *why,
		struct error *err)
{
	if (rc && why->code == ERROR_CONFIG) {
		problems_add(out, SEVERITY_ERROR, ERROR_CONFIG,
			     "time-zone-unknown", "watermark.time_zone", "%s",
			     why->message);
		return 0;
	}
	if (rc)
		*err = *why;
	return rc;
}

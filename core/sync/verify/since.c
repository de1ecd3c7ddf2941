#include "core/sync/verify/since.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"
#include "core/plugin/naming.h"
#include "core/sync/parts/range.h"
#include "core/sync/parts/range_value.h"

/* Years that every engine's timestamps have. */
#define SINCE_FIRST_US INT64_C(-62135596800000000)
#define SINCE_LAST_US  INT64_C(253402300799999999)

int verify_since_check(const struct pipeline_settings *p, struct error *err)
{
	if (strategy_has_column(p->strategy))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "--since needs a mark that the rows carry, and those "
			 "of %s have none at the destination (strategy %s): "
			 "--sample is as quick a look, and tidemark verify %s "
			 "without either looks at all rows",
			 p->name, strategy_name(p->strategy), settings_call(p));
}

/* It is the rows' to say how late they are: nothing is held back or left out,
 * and no open transaction asked for. */
static int since_mark(struct verify_side *s, struct watermark_spec *out,
		      struct error *err)
{
	long at = verify_side_mark(s);

	settings_watermark_spec(s->p, out);
	out->lag_us = out->lag_count = 0;
	out->tail = TAIL_HOLD;
	out->nulls = NULLS_INCLUDE;
	out->settle = false;
	if (at < 0)
		return error_set(err, ERROR_CONFIG,
				 "--since: table %s has no column \"%s\", by "
				 "which rows are marked: verify it whole, or "
				 "with --sample",
				 s->spec.table, s->p->mark_column);
	out->column = column_source(&s->schema.columns[at]);
	if (s->which == COMPARE_DESTINATION)
		out->time_zone = "UTC";
	return 0;
}

static int since_refuse(const struct verify_side *s, const char *since,
			const char *why, struct error *err)
{
	return error_set(err, ERROR_CONFIG,
			 "--since: \"%s\" is not a value of column %s of %s: "
			 "%s",
			 since, s->since_mark.column, s->spec.table, why);
}

/* As the column's type writes it: the same instant at either side. */
static int since_time(const struct verify_side *s, enum type_kind kind,
		      const char *since, char **out, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int64_t us = 0;

	value_parse_instant(since, &us);
	if (us < SINCE_FIRST_US || us > SINCE_LAST_US)
		return since_refuse(s, since, "years are 1 to 9999", err);
	if (kind == TYPE_DATE)
		value_print_date(&sb, (int32_t)(us / US_PER_DAY -
						(us % US_PER_DAY < 0)));
	else
		value_print_timestamp(&sb, us, kind == TYPE_TIMESTAMPTZ);
	*out = strbuf_detach(&sb);
	return 0;
}

static int since_number(const struct verify_side *s, enum type_kind kind,
			const char *since, char **out, struct error *err)
{
	static const struct {
		enum type_kind kind;
		const char *least, *most;
	} bounds[] = {
		{ TYPE_INT16, "-32768", "32767" },
		{ TYPE_INT32, "-2147483648", "2147483647" },
		{ TYPE_INT64, "-9223372036854775808", "9223372036854775807" },
		{ TYPE_UINT64, "0", "18446744073709551615" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		if (bounds[i].kind == kind &&
		    (range_value_compare(RANGE_NUMBER, since, bounds[i].least) <
			     0 ||
		     range_value_compare(RANGE_NUMBER, since, bounds[i].most) >
			     0))
			return since_refuse(s, since, "its type ends before",
					    err);
	*out = xstrdup(since);
	return 0;
}

static int since_value(struct verify_side *s, const char *since,
		       struct error *err)
{
	const struct watermark_spec *mark = &s->since_mark;
	enum range_kind kind = range_value_kind(mark, &s->schema);
	long at = schema_find_source(&s->schema, mark->column);
	enum type_kind type = s->schema.columns[at].type.kind;
	char *text = NULL;
	int rc = range_value_read(kind, mark->column, "--since", since, &text,
				  err);

	free(text);
	if (!rc && kind == RANGE_TIME)
		rc = since_time(s, type, since, &s->since_text, err);
	else if (!rc)
		rc = since_number(s, type, since, &s->since_text, err);
	return rc;
}

int verify_since_begin(struct verify_side *s, const char *since,
		       struct error *err)
{
	struct schema schema;
	int rc = since_mark(s, &s->since_mark, err);

	schema_init(&schema);
	if (!rc)
		rc = source_describe(s->connector, &s->spec, &s->since_mark,
				     &schema, err);
	schema_release(&schema);
	if (!rc)
		rc = since_value(s, since, err);
	if (!rc)
		rc = range_settle(s->connector, &s->spec, &s->since_mark,
				  &s->schema, err);
	s->since.from = s->since_text;
	s->since_from.strategy = s->since_mark.strategy;
	return rc;
}

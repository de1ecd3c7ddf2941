/*
 * Values as text and back. A text that a parser takes is printed and taken
 * again as the same value. Any bits are printed whole, and spaces do not change
 * a canonical form.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/canonical.h"
#include "core/data/table_name.h"
#include "core/data/value.h"
#include "tests/fuzz/fuzz.h"

static void fuzz_times(struct strbuf *sb, const char *text)
{
	int64_t us, us_again;
	int32_t days, days_again;

	if (value_parse_timestamp(text, &us)) {
		strbuf_reset(sb);
		value_print_timestamp(sb, us, true);
		fuzz_check(value_parse_timestamp(sb->data, &us_again));
		fuzz_check(us == us_again);
	}
	if (value_parse_date(text, &days)) {
		strbuf_reset(sb);
		value_print_date(sb, days);
		fuzz_check(value_parse_date(sb->data, &days_again));
		fuzz_check(days == days_again);
	}
}

static void fuzz_bits(struct strbuf *sb, const uint8_t *data)
{
	struct interval_value interval;
	double f64;
	float f32;
	int64_t us, us_again;

	memcpy(&interval, data, sizeof(interval));
	memcpy(&f64, data, sizeof(f64));
	memcpy(&f32, data, sizeof(f32));
	memcpy(&us, data, sizeof(us));
	strbuf_reset(sb);
	value_print_float64(sb, f64);
	fuzz_check(isnan(f64) || strtod(sb->data, NULL) == f64);
	strbuf_reset(sb);
	value_print_float32(sb, f32);
	fuzz_check(isnan(f32) || strtof(sb->data, NULL) == f32);
	strbuf_reset(sb);
	value_print_timestamp(sb, us, false);
	fuzz_check(value_parse_timestamp(sb->data, &us_again) &&
		   us == us_again);
	value_print_interval(sb, &interval);
	value_print_uuid(sb, data);
	fuzz_check(!sb->failed && strlen(sb->data) == sb->len);
}

static void fuzz_table_name(struct strbuf *sb, const char *text)
{
	struct table_name name, again;
	char *quoted;

	if (table_name_parse(&name, text, NULL))
		return;
	strbuf_reset(sb);
	table_name_quote(sb, &name, '"');
	quoted = xstrdup(sb->data);
	fuzz_check(!table_name_parse(&again, quoted, NULL));
	strbuf_reset(sb);
	table_name_quote(sb, &again, '"');
	fuzz_check(!strcmp(sb->data, quoted));
	table_name_release(&name);
	table_name_release(&again);
	free(quoted);
}

/* Spaces around a JSON text change nothing. */
static void fuzz_canonical(const char *text, size_t size)
{
	struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;
	char *spaced = xmalloc(size + 2);

	canonical_number(&one, text, size);
	fuzz_check(one.len <= size + 12);
	strbuf_reset(&one);
	canonical_json(&one, text, size);
	memcpy(spaced + 1, text, size);
	spaced[0] = ' ';
	spaced[size + 1] = '\n';
	canonical_json(&two, spaced, size + 2);
	if (one.data[0] != '\xff')
		fuzz_check(one.len == two.len &&
			   !memcmp(one.data, two.data, one.len));
	free(spaced);
	strbuf_release(&one);
	strbuf_release(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf sb = STRBUF_INIT;
	char *text = xmalloc(size + 1);

	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	fuzz_times(&sb, text);
	fuzz_table_name(&sb, text);
	fuzz_canonical(text, size);
	if (size >= 16)
		fuzz_bits(&sb, data);
	free(text);
	strbuf_release(&sb);
	return 0;
}

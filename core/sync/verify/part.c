#include "core/sync/verify/part.h"

#include <inttypes.h>

#include "core/base/retry.h"

bool verify_part_sample(struct verify_part *part, const char *text)
{
	struct row_limit limit;

	if (!row_limit_parse(&limit, text) || limit.share <= 0)
		return false;
	part->share = limit.share;
	part->offset = retry_random();
	return true;
}

bool verify_part_is_whole(const struct verify_part *part)
{
	return !part->since && !part->share;
}

bool verify_part_has(const struct verify_part *part,
		     const struct compare_hash *key)
{
	if (!part->share || part->share == VERIFY_PART_ALL)
		return true;
	return key->low - part->offset <
	       UINT64_MAX / VERIFY_PART_ALL * (uint64_t)part->share;
}

static void part_print_share(struct strbuf *sb, int64_t share)
{
	const int64_t percent = VERIFY_PART_ALL / 100;

	strbuf_addf(sb, "%" PRId64, share / percent);
	if (share % percent)
		strbuf_addf(sb, ".%04" PRId64, share % percent);
	while (share % percent && sb->data[sb->len - 1] == '0')
		sb->data[--sb->len] = '\0';
	strbuf_addstr(sb, "% of the keys");
}

void verify_part_print(struct strbuf *sb, const struct verify_part *part,
		       const struct pipeline_settings *p)
{
	if (part->share)
		part_print_share(sb, part->share);
	if (part->share && part->since)
		strbuf_addstr(sb, ", of ");
	if (part->since)
		strbuf_addf(sb, "rows since %s by %s", part->since,
			    p->mark_column);
}

json_t *verify_part_json(const struct verify_part *part,
			 const struct pipeline_settings *p)
{
	json_t *out = json_object();

	if (verify_part_is_whole(part)) {
		json_decref(out);
		return json_null();
	}
	if (part->since) {
		json_object_set_new(out, "since", json_string(part->since));
		json_object_set_new(out, "column", json_string(p->mark_column));
	}
	if (part->share)
		json_object_set_new(out, "sample",
				    json_real((double)part->share /
					      (double)VERIFY_PART_ALL));
	return out;
}

#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse_handle.h"
#include "core/base/alloc.h"

/* The longest text of a statement, in which keys stand. No profile has this
 * very number, so it also tells whether settings reach the server. */
#define QUERY_BYTES "67108865"

/* Settings by which a profile of the user or the server would change an answer
 * or a statement's effect without an error. ClickHouse 25.8 knows all of them.
 * Limits that end in an error are left as they are. */
static const struct {
	const char *name, *value;
	bool writes; /* only where rows are written */
} settings_pinned[] = {
	{ "max_query_size", QUERY_BYTES, false },
	/* Rows that are left out. */
	{ "limit", "0", false },
	{ "offset", "0", false },
	{ "result_overflow_mode", "throw", false },
	{ "read_overflow_mode", "throw", false },
	{ "read_overflow_mode_leaf", "throw", false },
	{ "timeout_overflow_mode", "throw", false },
	{ "timeout_overflow_mode_leaf", "throw", false },
	{ "set_overflow_mode", "throw", false },
	{ "join_overflow_mode", "throw", false },
	{ "group_by_overflow_mode", "throw", false },
	{ "distinct_overflow_mode", "throw", false },
	{ "sort_overflow_mode", "throw", false },
	{ "transfer_overflow_mode", "throw", false },
	{ "skip_unavailable_shards", "0", false },
	{ "max_parallel_replicas", "1", false },
	{ "parallel_replicas_count", "0", false },
	{ "parallel_replica_offset", "0", false },
	/* Rows that were deleted, or are there no longer. */
	{ "apply_deleted_mask", "1", false },
	{ "use_query_cache", "0", false },
	{ "do_not_merge_across_partitions_select_final", "0", false },
	/* Another value of an expression. */
	{ "join_use_nulls", "0", false },
	{ "join_default_strictness", "ALL", false },
	{ "transform_null_in", "0", false },
	{ "group_by_use_nulls", "0", false },
	{ "aggregate_functions_null_for_empty", "0", false },
	{ "empty_result_for_aggregation_by_empty_set", "0", false },
	{ "cast_keep_nullable", "0", false },
	{ "cast_ipv4_ipv6_default_on_conversion_error", "0", false },
	{ "decimal_check_overflow", "1", false },
	{ "prefer_column_name_to_alias", "0", false },
	{ "session_timezone", "", false },
	/* Another text of a value. */
	{ "extremes", "0", false },
	{ "date_time_output_format", "simple", false },
	{ "bool_true_representation", "true", false },
	{ "bool_false_representation", "false", false },
	{ "format_tsv_null_representation", "\\N", false },
	{ "output_format_tsv_crlf_end_of_line", "0", false },
	{ "output_format_decimal_trailing_zeros", "0", false },
	{ "http_write_exception_in_output_format", "0", false },
	{ "output_format_binary_encode_types_in_binary_format", "0", false },
	/* The rows of a statement make one block, which is written whole or not
	 * at all. With several threads, or with blocks that are not put
	 * together, some rows would stay when the statement fails. */
	{ "max_insert_threads", "1", true },
	{ "min_insert_block_size_rows", "1000000000", true },
	{ "min_insert_block_size_bytes", "0", true },
	/* Rows that are not written, later, twice, or as others. */
	{ "final", "0", true },
	{ "async_insert", "0", true },
	{ "insert_deduplicate", "1", true },
	{ "insert_deduplication_token", "", true },
	{ "insert_null_as_default", "0", true },
	{ "data_type_default_nullable", "0", true },
	{ "input_format_null_as_default", "0", true },
	{ "input_format_skip_unknown_fields", "0", true },
	{ "input_format_defaults_for_omitted_fields", "1", true },
	{ "input_format_allow_errors_num", "0", true },
	{ "input_format_allow_errors_ratio", "0", true },
};

/* Filters that hide rows, as their author wants it. The connection is refused,
 * and the filters are not overruled. */
#define SETTINGS_FILTERS                                                       \
	"if(toString(getSetting('additional_table_filters')) IN ('', '{}'), "  \
	"'', ' additional_table_filters'), "                                   \
	"if(toString(getSetting('additional_result_filter')) = '', "           \
	"'', ' additional_result_filter')"

const char clickhouse_settings_sql[] =
	"SELECT concat(version(), "
	"if(toString(getSetting('max_query_size')) = '" QUERY_BYTES "', "
	"'', ' max_query_size'), " SETTINGS_FILTERS ")";

void clickhouse_settings_write(struct strbuf *path, bool writes)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings_pinned); i++) {
		if (settings_pinned[i].writes && !writes)
			continue;
		strbuf_addf(path, "&%s=", settings_pinned[i].name);
		http_add_escaped(path, settings_pinned[i].value);
	}
}

int clickhouse_settings_check(const struct clickhouse *c, const char *said,
			      struct error *err)
{
	const char *name = strchr(said, ' ');
	int rc;

	if (!name)
		return 0;
	name++;
	if (!strncmp(name, "max_query_size", 14)) {
		rc = error_set(err, ERROR_ACCESS,
			       "%s does not get the settings that Tidemark "
			       "sends with each statement, such as "
			       "max_query_size and limit: something between "
			       "drops them, and answers may lack rows",
			       c->shown);
		error_hint(err, "Name ClickHouse itself in the URL, or let "
				"the proxy pass on all parameters");
		return rc;
	}
	rc = error_set(err, ERROR_ACCESS,
		       "%s: user %s has the setting %s, which hides rows from "
		       "every statement",
		       c->shown, clickhouse_user(c), name);
	error_hint(err, "Take it out of the user's profile, or give Tidemark "
			"another user; to sync a part of a table, write where "
			"under source");
	return rc;
}

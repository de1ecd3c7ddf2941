"""The settings profile of Tidemark's user at ClickHouse would leave out rows,
change values, or give old answers. None of it counts, or the run says which
setting stands in the way.
"""

import pytest

import workload
from bench import EXIT_ACCESS, sync_items
from clickhouse_items import MODES, change, check, items

__all__ = ["items"]  # a fixture

LIMITS = {"limit": "5", "offset": "1"}
BREAKS = {"max_result_rows": "7", "result_overflow_mode": "break",
          "max_rows_in_set": "3", "set_overflow_mode": "break"}
GROUPS = {"max_rows_to_group_by": "3", "group_by_overflow_mode": "any",
          "max_rows_in_join": "3", "join_overflow_mode": "break"}
VALUES = {"transform_null_in": "1", "join_use_nulls": "1",
          "cast_keep_nullable": "1", "data_type_default_nullable": "1",
          "aggregate_functions_null_for_empty": "1",
          "empty_result_for_aggregation_by_empty_set": "1",
          "prefer_column_name_to_alias": "1", "use_query_cache": "1",
          "query_cache_nondeterministic_function_handling": "save",
          "query_cache_system_table_handling": "save"}
TEXTS = {"date_time_output_format": "unix_timestamp", "extremes": "1",
         "session_timezone": "Asia/Tokyo", "bool_true_representation": "1",
         "format_tsv_null_representation": "NULL",
         "output_format_tsv_crlf_end_of_line": "1",
         "output_format_decimal_trailing_zeros": "1",
         "output_format_binary_encode_types_in_binary_format": "1"}
WRITES = {"final": "1", "insert_deduplication_token": "one",
          "min_insert_block_size_rows": "1", "max_block_size": "1",
          "insert_deduplicate": "0", "min_insert_block_size_bytes": "1"}
PROFILES = {"limits": LIMITS, "breaks": BREAKS, "groups": GROUPS,
            "values": VALUES, "texts": TEXTS, "writes": WRITES}


@pytest.fixture
def profile(clickhouse_server):
    yield clickhouse_server().profile
    clickhouse_server().profile()


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("name", ("limits", "values", "texts", "writes"))
def test_profile_of_who_writes(tidemark, items, profile, name, mode):
    source, destination = items(mode)
    profile(**PROFILES[name])
    tidemark.run()
    check(source, destination)
    change(source)
    workload.settle(source)
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_updated"] == 0
    tidemark("verify").expect(0)


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("name", ("breaks", "groups"))
def test_limit_of_who_writes(tidemark, items, profile, name, mode):
    """It is said; no part of an answer is taken for the whole."""
    source, destination = items(mode)
    tidemark.run()
    change(source)
    workload.settle(source)
    profile(**PROFILES[name])
    done = tidemark("run", "--json").expect(EXIT_ACCESS)
    assert "imit" in done.err, done
    profile()
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("name", ("limits", "breaks", "groups", "values",
                                  "texts"))
def test_profile_of_who_reads(tidemark, make_clickhouse, make_destination,
                              profile, name):
    """A limit is said."""
    source, destination = make_clickhouse(), make_destination("sqlite")
    source.execute(
        "CREATE TABLE items (id Int64, b Bool, d Decimal(9, 4), "
        "n Nullable(String), a Array(DateTime64(3, 'UTC')), "
        "updated_at DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY id",
        "INSERT INTO items SELECT number, number % 2, number / 8, "
        "if(number % 3 = 0, NULL, 'x'), [toDateTime64(number, 3, 'UTC')], "
        "toDateTime64('2024-01-01 00:00:00', 6, 'UTC') + number "
        "FROM numbers(60)")
    sync_items(tidemark, source, destination, "timestamp", batch={"rows": 20})
    tidemark.pipelines["items"]["key"] = ["id"]
    tidemark.write_config()
    profile(**PROFILES[name])
    done = tidemark("run", "--json")
    if name in ("breaks", "groups"):
        done.expect(EXIT_ACCESS)
        assert "imit for" in done.err, done
        return
    done.expect(0)
    assert destination.query("SELECT count(*), sum(CAST(d AS REAL) = id / 8.0), "
                             "sum(n IS NULL) FROM items") == [(60, 60, 20)]
    tidemark("verify").expect(0)


@pytest.mark.parametrize("setting", ("limit", "final"))
def test_constraint_is_named(tidemark, items, profile, setting):
    source, destination = items()
    profile(const=[setting], **{setting: "1"})
    for command in ("run", "check"):
        said = tidemark(command).expect(EXIT_ACCESS)
        assert f"Setting {setting} should not be changed" in said.err + said.out
        assert "constraint" in said.err + said.out
    profile(const=["limit"], limit="0")
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("said, words", (
    ({"deaf": True}, "does not get the settings"),
    ({"additional_table_filters": "{'items_raw': 'id > 7'}"},
     "additional_table_filters, which hides rows")))
def test_what_cannot_be_overruled(tidemark, items, profile, said, words):
    items()
    profile(**said)
    for command in ("run", "check"):
        done = tidemark(command).expect(EXIT_ACCESS)
        assert words in done.err + done.out, done

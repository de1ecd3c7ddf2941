"""A first look: `copy ... -` shows rows as they would be loaded, and a dry run
with --limit or --since loads some of them nowhere. No mark, no state, no lease."""

import csv
import decimal
import glob
import io
import json
import os
import subprocess

import pytest

import workload
from bench import EXIT_CONFIG, EXIT_SCHEMA, PASSWORD_VARIABLE, sync_items
from test_naming import NAMES, make_orders, orders

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
ROWS = 1000


def lines(result):
    return [json.loads(line) for line in result.expect(0).out.splitlines()]


def nothing_is_kept(tidemark):
    return not os.path.exists(tidemark.state_file) and not glob.glob(
        os.path.join(tidemark.dir, "**", "state.db*"), recursive=True)


def url(end):
    """The password comes from the environment."""
    return end.url().replace("://app@", "://app:${%s}@" % PASSWORD_VARIABLE)


def copy(tidemark, source, *args, table=None):
    table = table or f"{source.schema}.items"
    return tidemark("copy", url(source), "-", "--table", table, *args)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_in_order(tidemark, make_source, engine):
    source = make_source(engine)
    workload.create_items(source, rows=ROWS)
    rows = lines(copy(tidemark, source))
    assert [row["id"] for row in rows] == list(range(1, ROWS + 1))
    seen = source.rows(f"{source.schema}.items",
                       {"id": "int", "amount": "decimal", "name": "text"})
    for row, (key, amount, name) in zip(rows, sorted(seen)):
        assert (row["id"], row["name"]) == (key, name)
        assert amount is None and row["amount"] is None or \
            decimal.Decimal(row["amount"]) == decimal.Decimal(str(amount))
    assert copy(tidemark, source).out == copy(tidemark, source).out
    assert [row["id"] for row in lines(copy(tidemark, source, "--limit", "7"))
            ] == list(range(1, 8))
    marked = ("--watermark", "timestamp:updated_at", "--since")
    late = rows[ROWS - 100]["updated_at"]
    some = lines(copy(tidemark, source, *marked, late))
    assert some == sorted(
        (row for row in rows if row["updated_at"] >= late),
        key=lambda row: (row["updated_at"], row["id"]))
    assert 0 < len(some) < ROWS
    assert lines(copy(tidemark, source, *marked, "2199-01-01")) == []
    read = list(csv.reader(io.StringIO(
        copy(tidemark, source, "--format", "csv").out, newline="")))
    assert read[0] == list(rows[0]) and len(read) == ROWS + 1
    for cells, row in zip(read[1:], rows):
        assert cells[:2] == [str(row["id"]), row["name"]]
    assert nothing_is_kept(tidemark)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine", ENGINES)
def test_text_keys_have_one_order(tidemark, make_source, engine):
    source = make_source(engine)
    kind = "varchar(20)" if engine in ("mariadb", "mysql") else "text"
    source.execute(f"CREATE TABLE t (k {kind} PRIMARY KEY, n int)",
                   "INSERT INTO t VALUES ('b', 1), ('a', 2), ('ab', 3), "
                   "('é', 4), ('', 5)")
    rows = lines(copy(tidemark, source, table=f"{source.schema}.t"))
    assert {row["k"] for row in rows} == {"b", "a", "ab", "é", ""}
    assert rows == lines(copy(tidemark, source, table=f"{source.schema}.t"))


def test_a_pipeline_as_it_would_be_loaded(tidemark, source, make_destination):
    """Names, expressions and conditions of the config; the state store and the
    destination are not touched."""
    make_orders(source)
    orders(tidemark, source, make_destination("duckdb"), exclude=["secret"],
           rename={"orderID": "id"}, casing="snake",
           expressions={"note": "upper(note)"}, where='"orderID" <> 4')
    rows = lines(tidemark("copy", "orders", "-", "--limit", "5"))
    assert [row["id"] for row in rows] == [1, 2, 3, 5, 6]
    assert list(rows[0]) == [{"remark": "note"}.get(n, n) for n in NAMES]
    assert rows[0]["note"] == "NOTE 1" and rows[0]["total"] == "0.1429"
    late = lines(tidemark("copy", "orders", "-", "--since",
                          "2024-03-01 00:00:28+00"))
    assert [row["id"] for row in late] == [28, 29, 30]
    assert nothing_is_kept(tidemark)
    assert not glob.glob(os.path.join(tidemark.dir, "*.duckdb"))


def test_exact_values(tidemark, source):
    source.execute(
        "CREATE TABLE t (k int PRIMARY KEY, big bigint, n numeric, b bytea, "
        "f float8, g float4, j jsonb, s text, ok bool, d timestamptz)",
        "INSERT INTO t VALUES (1, 9223372036854775807, "
        "12345678901234567890.1234567890, '\\x00ff', 0.1, 0.1, '{\"a\": 1.0}', "
        "E'a\"b,\\n\\u0085\\u202e ü', true, '2024-01-02 03:04:05.000006+00'), "
        "(2, NULL, 'NaN', NULL, 'NaN', '-Infinity', NULL, '', false, NULL)")
    text = copy(tidemark, source, table="public.t").expect(0).out
    first, second = [json.loads(x, parse_float=str) for x in text.splitlines()]
    assert first == {
        "k": 1, "big": 9223372036854775807,
        "n": "12345678901234567890.1234567890", "b": "\\x00ff", "f": "0.1",
        "g": "0.1", "j": '{"a": 1.0}', "s": 'a"b,\n\x85\u202e ü', "ok": True,
        "d": "2024-01-02 03:04:05.000006+00"}
    assert second == {"k": 2, "big": None, "n": "NaN", "b": None, "f": "NaN",
                      "g": "-Infinity", "j": None, "s": "", "ok": False,
                      "d": None}
    assert "\x85" not in text and "\u202e" not in text
    table = copy(tidemark, source, "--format", "csv", table="public.t").out
    assert table.splitlines()[-1] == '2,,NaN,,NaN,-Infinity,,"",false,'


def test_a_reader_that_has_enough(tidemark, source):
    workload.create_items(source, rows=ROWS)
    source.execute("INSERT INTO items (name) SELECT repeat('x', 900) "
                   "FROM generate_series(1, 20000)")
    done = subprocess.run(
        ["bash", "-c", '"$0" copy "$1" - --table public.items | head -n 3; '
         'echo "${PIPESTATUS[0]}"', str(tidemark.binary), url(source)],
        capture_output=True, text=True, cwd=tidemark.dir, check=True,
        env=tidemark.command_env())
    out = done.stdout.splitlines()
    assert [json.loads(x)["id"] for x in out[:3]] == [1, 2, 3]
    assert out[3] == "0" and "error" not in done.stderr, done.stderr


def test_memory_is_flat(tidemark, source):
    source.execute("CREATE TABLE items (id int PRIMARY KEY, name text)",
                   "INSERT INTO items SELECT n, repeat(md5(n::text), 60) "
                   "FROM generate_series(1, 60000) n")
    few, all_of = [peak(tidemark, source, *limit)
                   for limit in (("--limit", "20000"), ())]
    assert all_of < few * 1.3, (few, all_of)


def peak(tidemark, source, *args):
    """The most memory of a copy, in KiB."""
    done = subprocess.run(
        ["/usr/bin/time", "-q", "-f", "%M", tidemark.binary, "copy",
         url(source), "-", "--table", "public.items", *args], check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        cwd=tidemark.dir, env=tidemark.command_env())
    return int(done.stderr.split()[-1])


@pytest.mark.parametrize("args, words", (
    (["--mode", "append"], "leave out --mode"),
    (["--dry-run"], "leave out --dry-run"),
    (["--to", "x"], "leave out --to"),
    (["--format", "xml"], "ndjson or csv"),
    (["--since", "5"], "--watermark timestamp:COLUMN"),
    (["--since", "soon", "--watermark", "timestamp:updated_at"],
     "points in time"),
    (["--since", "5", "--watermark", "xmin"], "has none"),
))
def test_what_cannot_be_shown(tidemark, source, args, words):
    workload.create_items(source, rows=3)
    done = copy(tidemark, source, *args).expect(EXIT_CONFIG)
    assert words in done.err and done.out == "", done


def test_more_that_cannot_be_shown(tidemark, source, make_destination):
    make_orders(source)
    orders(tidemark, source, make_destination("sqlite"))
    said = tidemark("copy", "orders", "-", "--table", "x").expect(EXIT_CONFIG)
    assert "has its own" in said.err
    said = tidemark("copy", "oders", "-").expect(EXIT_CONFIG)
    assert "did you mean" in said.err
    copy(tidemark, source, table="public.gone").expect(EXIT_SCHEMA)


LOOKS = [(engine, strategy) for engine in ("postgres", "mariadb", "duckdb")
         for strategy in ("timestamp", "sequence")]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("engine, strategy", LOOKS)
def test_a_bounded_dry_run(tidemark, make_source, make_destination, engine,
                           strategy):
    source, destination = make_source(engine), make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, strategy, batch={"rows": 300})
    workload.settle(source)
    done = tidemark("run", "--dry-run", "--limit", "701", "--json").expect(0)
    assert (done.pipeline()["rows_read"], done.pipeline()["outcome"]) == (
        701, "stopped")
    assert "--limit was reached" in tidemark(
        "run", "--dry-run", "--limit", "5").expect(0).out
    tidemark.run()
    mark = tidemark("watermark", "show", "--json").expect(0).out
    column = {"timestamp": "updated_at", "sequence": "seq"}[strategy]
    since = lines(copy(tidemark, source))[ROWS - 50][column]
    look = ("run", "--dry-run", "--since", str(since), "--json")
    done = tidemark(*look).expect(0).pipeline()
    at_least = sum(row[column] >= since for row in lines(copy(tidemark,
                                                              source)))
    assert done["rows_read"] == done["rows_unchanged"] == at_least > 0
    assert done["watermark_after"] == done["watermark_before"]
    done = tidemark(*look, "--limit", "2").expect(0).pipeline()
    assert done["rows_read"] == 2
    assert tidemark("watermark", "show", "--json").out == mark
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_a_load_is_not_bounded_by_them(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=30)
    sync_items(tidemark, source, destination, "xmin")
    for flag in ("--limit", "--since"):
        said = tidemark("run", flag, "5").expect(EXIT_CONFIG).err
        assert f"{flag} is for a first look" in said
    assert destination.tables() == []
    said = tidemark("run", "--dry-run", "--since", "5").expect(EXIT_CONFIG)
    assert "strategy xmin has none" in said.err
    assert tidemark("run", "--dry-run", "--limit", "9",
                    "--json").expect(0).pipeline()["rows_read"] == 9
    said = tidemark("copy", url(source), url(destination), "--table",
                    "public.items", "--limit", "5").expect(EXIT_CONFIG)
    assert "first look" in said.err and destination.tables() == []


def test_a_table_that_is_loaded_whole(tidemark, source, make_destination):
    """A run would compare it first. A look at some rows does not."""
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, make_destination("postgres"), "none",
               "replace")
    tidemark.run()
    for limit in (9, 300):
        done = tidemark("run", "--dry-run", "--limit", str(limit),
                        "--json").expect(0).pipeline()
        assert done["rows_read"] == limit
        assert done["outcome"] == "stopped"

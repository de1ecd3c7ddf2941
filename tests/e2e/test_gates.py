"""Gates: rows that break a condition are not loaded, the mark stays before
them, and the run says which they are."""

import json

import pytest

import oracle
import workload
from bench import (EXIT_DATA, EXIT_OK, EXIT_SCHEMA, check_accounting,
                   sync_items, written)
from oracle import check_items

ENGINES = ("postgres", "sqlite", "duckdb")
every_engine = pytest.mark.parametrize("engine", ENGINES)


def ids(destination):
    return {row[0] for row in destination.rows(f"{destination.schema}.items",
                                               {"id": "int"})}


def refused(tidemark, *words):
    """The run ends with exit 5 and says all this."""
    result = tidemark.run(expect=EXIT_DATA).pipeline()
    assert result["outcome"] == "failed"
    assert result["error"]["code"] == "data"
    for word in ("gate", *words):
        assert word in result["error"]["message"], result["error"]
    return result


# The gate, what breaks it in row 30 of 40, what mends it, what is said.
RULES = {
    "not_null": ({"not_null": ["amount"]}, "amount = NULL", "amount = 1",
                 ['column "amount"', "not_null"]),
    "min-decimal": ({"min": {"amount": 0}}, "amount = -0.01", "amount = 0",
                    ['column "amount"', "min 0"]),
    "max-decimal": ({"max": {"amount": 9999999999.98}},
                    "amount = 9999999999.99", "amount = 9999999999.98",
                    ['column "amount"', "max 9999999999.98"]),
    "min-integer": ({"min": {"quantity": 0}}, "quantity = -1", "quantity = 0",
                    ['column "quantity"', "min 0"]),
    "max-float": ({"max": {"ratio": 1e6}}, "ratio = 'NaN'", "ratio = 1000000",
                  ['column "ratio"', "max 1"]),
    "max-date": ({"max": {"born": "2030-01-01"}}, "born = 'infinity'",
                 "born = '2030-01-01'", ['column "born"', "max 2030-01-01"]),
    "min-timestamp": ({"min": {"updated_at": "2000-01-01"}},
                      "updated_at = '1999-12-31 23:59:59.999999+00'",
                      "updated_at = '2000-01-01 00:00:00+00'",
                      ['column "updated_at"', "min 2000-01-01"]),
    "match": ({"match": {"name": "^item [0-9]+"}}, "name = 'itme 30'",
              "name = 'item 30'", ['column "name"', "match ^item [0-9]+"]),
    "unique": ({"unique": ["name"]}, "name = (SELECT name FROM items "
               "WHERE id = 1)", "name = 'another'",
               ['column "name"', "unique"]),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(tidemark, source, make_destination, rule):
    gate, broken, mended, words = RULES[rule]
    destination = make_destination("sqlite")
    workload.create_items(source, rows=40)
    source.execute("UPDATE items SET amount = id, ratio = id, "
                   "born = '2020-01-01', name = 'item ' || id")
    source.execute(f"UPDATE items SET {broken} WHERE id = 30")
    sync_items(tidemark, source, destination, "timestamp", gate=gate)
    result = refused(tidemark, *words, "1 row (id=", "not loaded")
    # The second of two equal names is the one that repeats.
    assert rule == "unique" or "id=30" in result["error"]["message"]
    assert result["rows_read"] == 0 and result["watermark_after"] is None
    assert not ids(destination)
    source.execute(f"UPDATE items SET {mended} WHERE id = 30")
    assert written(tidemark.run().pipeline()) == 40
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@every_engine
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_batches_before_it_stay(tidemark, source, make_destination, engine,
                                mode):
    """The mark goes up to the batch that is refused, and no further."""
    destination = make_destination(engine)
    workload.create_items(source, rows=400)
    source.execute("UPDATE items SET quantity = -1 WHERE id IN (210, 215, 220,"
                   " 225, 230, 235, 390)",
                   "UPDATE items SET updated_at = timestamptz '2024-01-01' "
                   "+ id * interval '1 s'")
    sync_items(tidemark, source, destination, "timestamp", mode,
               gate={"min": {"quantity": 0}},
               batch={"rows": 50, "target": "1ms"})
    result = refused(tidemark, 'column "quantity", min 0: ', "(id=210")
    check_accounting(result)
    assert ids(destination) == set(range(1, result["rows_read"] + 1))
    assert 0 < result["rows_read"] < 210
    # A batch may have grown over the bad row; the next run's first one is
    # small again and may still fit before it.
    again = refused(tidemark, "id=210")
    loaded = result["rows_read"] + again["rows_read"]
    assert ids(destination) == set(range(1, loaded + 1)) and loaded < 210
    if not again["rows_read"]:
        assert again["watermark_after"] == result["watermark_after"]
    source.execute("UPDATE items SET quantity = 0 WHERE quantity < 0")
    rest = tidemark.run().pipeline()
    assert rest["rows_read"] == 400 - loaded
    check_items(source, destination)


@every_engine
def test_a_full_copy_is_not_swapped_in(tidemark, source, make_destination,
                                       engine):
    """The old rows stay, for a bad row, too few and too many."""
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", "replace",
               batch={"rows": 20},
               gate={"max": {"quantity": 50}, "min_rows": 80,
                     "max_rows": 120})
    tidemark.run()
    check_items(source, destination)
    items = f"{destination.schema}.items"
    before = sorted(destination.rows(items, oracle.ITEMS), key=repr)

    def unchanged(*words):
        refused(tidemark, *words)
        assert sorted(destination.rows(items, oracle.ITEMS),
                      key=repr) == before

    source.execute("UPDATE items SET quantity = 51 WHERE id = 99")
    unchanged("id=99", "max 50")
    source.execute("UPDATE items SET quantity = 1 WHERE id = 99",
                   "DELETE FROM items WHERE id > 79")
    unchanged("79 rows", "min_rows 80")
    workload.fill_items(source, 200, 241)
    unchanged("max_rows 120")
    source.execute("DELETE FROM items WHERE id = (SELECT max(id) FROM items)")
    assert tidemark.run().pipeline()["rows_read"] == 120
    check_items(source, destination)


@pytest.mark.parametrize("engine,strategy", (
    ("postgres", "timestamp"), ("postgres", "xmin"), ("postgres", "sequence"),
    ("mariadb", "timestamp")))
def test_rows_of_the_window(tidemark, make_source, make_destination, engine,
                            strategy):
    """Counted before the first of many batches is loaded."""
    source, destination = make_source(engine), make_destination("sqlite")
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, strategy, batch={"rows": 20})

    def gate(**bounds):
        tidemark.pipelines["items"]["gate"] = bounds
        tidemark.write_config()

    def untouched(word):
        result = refused(tidemark, word)
        assert result["rows_read"] == result["batches"] == 0
        assert result["watermark_after"] == result["watermark_before"]
        stored = destination.watermark("items", destination.schema)
        assert stored == result["watermark_before"]

    gate(max_rows=299)
    untouched("more rows than max_rows 299. Nothing was loaded")
    gate(min_rows=301)
    untouched("brings 300 rows past the mark, fewer than min_rows 301")
    gate(min_rows=300, max_rows=300)
    assert tidemark.run().pipeline()["rows_read"] == 300
    check_items(source, destination)
    workload.change_items(source, "id <= 45")
    gate(max_rows=44)
    untouched("max_rows 44")
    gate(min_rows=1, max_rows=45)
    assert written(tidemark.run().pipeline()) == 45
    check_items(source, destination)
    workload.settle(source)
    gate(min_rows=1)
    tidemark("run")
    untouched("brings 0 rows past the mark, fewer than min_rows 1")


@pytest.mark.parametrize("bad,words", (
    ({"not_null": ["quantty"]},
     ["gate.not_null", '"quantty"', 'did you mean "quantity"']),
    ({"unique": ["nothing"]}, ["gate.unique", '"nothing"']),
    ({"min": {"quantity": "soon"}},
     ["gate.min.quantity", '"soon"', "integer", "an integer from"]),
    ({"max": {"quantity": 2147483648}}, ["gate.max.quantity", "2147483647"]),
    ({"max": {"amount": "1e3"}}, ["gate.max.amount", "without exponent"]),
    ({"min": {"updated_at": 0}}, ["gate.min.updated_at", "2026-01-31"]),
    ({"min": {"active": "true"}}, ["gate.min.active", "no order"]),
))
def test_gate_that_does_not_fit_the_table(tidemark, source, make_destination,
                                          bad, words):
    """`check` says so, and a run changes nothing: exit 4."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp", gate=bad)
    done = tidemark("check", "--json").expect(EXIT_SCHEMA)
    problems = done.pipeline()["problems"]
    said = [p["message"] for p in problems if p["code"].startswith("gate-")]
    assert len(said) == 1, problems
    message = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    for word in ("items", *words):
        assert word in said[0] and word in message
    assert "items" not in destination.tables()


def test_unique_sees_across_batches(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=500)
    source.execute("UPDATE items SET name = 'item ' || id, updated_at = "
                   "timestamptz '2024-01-01' + id * interval '1 s'",
                   "UPDATE items SET name = 'item 3' WHERE id = 450")
    sync_items(tidemark, source, destination, "timestamp",
               gate={"unique": ["name", "id"]},
               batch={"rows": 20, "target": "1ms"})
    refused(tidemark, 'column "name", unique: 1 row (id=450)')
    assert 450 not in ids(destination)


def test_every_type_through_a_gate(tidemark, make_source, make_destination):
    """Another source's columns, and a gate that all rows pass."""
    source, destination = make_source("mysql"), make_destination("duckdb")
    workload.create_items(source, rows=200)
    sync_items(tidemark, source, destination, "timestamp", gate={
        "not_null": ["name", "id"], "unique": ["id"],
        "min": {"amount": "0", "quantity": 0, "born": "2020-01-01",
                "updated_at": "2000-01-01 00:00:00", "ratio": 0},
        "max": {"amount": "1000000.00", "ratio": 1e9, "name": "z"},
        "match": {"name": "item", "document": "tags"}})
    assert written(tidemark.run().pipeline()) == 200
    check_items(source, destination)
    source.execute("UPDATE items SET amount = -1, updated_at = now(6) "
                   "WHERE id = 7")
    refused(tidemark, 'column "amount", min 0: 1 row (id=7)')


def test_gate_in_the_defaults(tidemark, source, make_destination):
    """Joined with the pipeline's own, map by map."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=3)
    source.execute("UPDATE items SET amount = -1, quantity = -1 "
                   "WHERE id = 2")
    tidemark.top["defaults"] = {"gate": {"min": {"amount": 0}}}
    sync_items(tidemark, source, destination, "timestamp",
               gate={"min": {"quantity": 0}})
    refused(tidemark, '"amount", min 0', '"quantity", min 0')
    shown = json.loads(tidemark("status", "--json").expect(EXIT_OK).out)
    assert shown["pipelines"][0]["last_run"]["error"]["code"] == "data"

"""BigQuery as a source: every type, increments, and what init asks for."""

import itertools
import json

import pytest

from bench import EXIT_ACCESS, EXIT_OK, EXIT_SCHEMA, sync_items
from bigquery_items import end, front, items
from bigquery_servers import HOST, needs
from rogue import in_front_of

TYPES_SQL = """
CREATE TABLE items (id INT64 NOT NULL, b BOOL, f FLOAT64, n NUMERIC(12,2),
  m BIGNUMERIC(30,12), s STRING, y BYTES, d DATE, t TIME, dt DATETIME,
  `at` TIMESTAMP, j JSON, g GEOGRAPHY, a ARRAY<INT64>, w ARRAY<STRING>)
"""
TYPES_ROW = """
INSERT INTO items VALUES (1, TRUE, 0.1, 1234567890.12, 123456789012345678.5,
  "o'clock", FROM_HEX('00ff'), '0001-01-01', '23:59:59.999999',
  '9999-12-31 23:59:59.999999', '2024-01-01 00:00:00.000001+00',
  PARSE_JSON('{"a":[1,null]}'), ST_GEOGFROMTEXT('POINT(1 2)'), [1, 2, 3],
  ['a', 'b"c'])
"""


def types_source(end):
    end.execute(TYPES_SQL, TYPES_ROW, "INSERT INTO items (id, `at`) VALUES "
                "(2, '2024-01-02 00:00:00+00')")


def of_types(tidemark, source, destination, to):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "items", source={"connection": "source",
                         "table": f"{source.schema}.items"},
        destination={"connection": "warehouse", "table": to}, key=["id"],
        watermark={"strategy": "timestamp", "column": "at"})
    return tidemark.write_config()


def test_every_type_between_datasets(tidemark, end, make_destination):
    """Into BigQuery every column is of its own type, arrays and places too, and
    check says that all are exact."""
    types_source(end)
    other = make_destination("bigquery")
    of_types(tidemark, end, other, f"{other.schema}.items")
    told = tidemark("check", "--json").json()["pipelines"][0]
    assert {each["mapping"] for each in told["columns"]} == {"exact"}, told
    tidemark.run()
    strip = {"description", "policyTags", "mode"}
    assert [{k: v for k, v in each.items() if k not in strip}
            for each in other.fields("items").values()] == [
                {k: v for k, v in each.items() if k not in strip}
                for each in end.fields("items").values()]
    sql = ("SELECT id, b, f, n, m, s, TO_HEX(y), d, t, dt, UNIX_MICROS(`at`), "
           "TO_JSON_STRING(j), ST_ASTEXT(g), TO_JSON_STRING(a), "
           "TO_JSON_STRING(w) FROM items ORDER BY id")
    needs(end, "types")
    assert other.query(sql) == end.query(sql)
    tidemark("verify", "--json").expect(EXIT_OK)
    assert tidemark.run("--full-refresh").pipeline()["rows_read"] == 2
    assert other.query(sql) == end.query(sql)


@pytest.mark.parametrize("engine", ("sqlite", "duckdb", "postgres"))
def test_every_type_elsewhere(tidemark, end, make_destination, engine):
    types_source(end)
    other = make_destination(engine)
    of_types(tidemark, end, other, f"{other.schema}.items")
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    tidemark("verify", "--json").expect(EXIT_OK)
    found = other.rows(f"{other.schema}.items", {
        "id": "int", "n": "decimal", "s": "text", "y": "bytes", "at":
        "timestamptz", "g": "text", "a": "json", "j": "json"})
    first = next(row for row in found if row[0] == 1)
    assert first[3] == b"\x00\xff"
    assert first[5].replace("T (", "T(") == "POINT(1 2)"
    assert first[4] == 1704067200000001
    assert json.loads(first[6]) == [1, 2, 3]


def test_increments_from_bigquery(tidemark, end, make_destination):
    """Only what is past the mark is read; the guarantee says what is not
    known."""
    other = make_destination("sqlite")
    end.execute("CREATE TABLE items (id INT64 NOT NULL, `at` TIMESTAMP)",
                "INSERT INTO items SELECT n, TIMESTAMP_ADD(TIMESTAMP "
                "'2024-01-01', INTERVAL CAST(n / 5 AS INT64) SECOND) FROM "
                "UNNEST(GENERATE_ARRAY(1, 500)) AS n")
    of_types(tidemark, end, other, f"{other.schema}.items")
    tidemark.pipelines["items"]["batch"] = {"rows": 200}
    first = tidemark.write_config().run().pipeline()
    assert (first["rows_inserted"], first["guarantee"]) == (500, "lag")
    assert first["batches"] > 1
    end.execute("INSERT INTO items VALUES (501, TIMESTAMP '2024-02-01')")
    assert tidemark.run().pipeline()["rows_read"] == 1
    assert len(other.rows(f"{other.schema}.items", {"id": "int"})) == 501
    tidemark("verify", "--json").expect(EXIT_OK)


def test_init_copies_what_has_no_key(tidemark, items, end, make_destination):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.run()
    done = tidemark("init", end.url(), make_destination("sqlite").url(),
                    "--stdout").expect(EXIT_OK)
    assert "it has no key" in done.out and "mode: replace" in done.out
    done = tidemark("init", end.url(), make_destination("clickhouse").url(),
                    "--stdout")
    assert "items has no primary key" in done.expect(EXIT_SCHEMA).err


def test_table_of_a_source_that_is_none(tidemark, end, front,
                                        make_destination):
    """As one that is read."""
    types_source(end)
    other = make_destination("sqlite")
    of_types(tidemark, end, other, f"{other.schema}.items")
    tidemark.pipelines["items"]["retry"] = {"attempts": 1, "backoff": "1ms"}
    front.faults({"match": "GET .*/tables/", "kind": "says", "text": "{}",
                  "times": 1000})
    said = tidemark.write_config().run(expect=EXIT_ACCESS).pipeline()
    assert "no answer of BigQuery's" in said["error"]["message"]


PAGES = {"rows": ("jobComplete", "pageToken"),
         "tables": ("tables", "nextPageToken")}


@pytest.mark.parametrize("what", PAGES)
@pytest.mark.parametrize("same", (True, False), ids=("same", "others"))
def test_pages_without_end(tidemark, end, make_destination, what, same):
    """A page that announces itself again, and pages with nothing in them."""
    types_source(end)
    member, name = PAGES[what]
    tokens = itertools.count(1)
    asked = []

    def lie(_, body):
        page = json.loads(body) if body.startswith(b"{") else {}
        if member not in page:
            return body
        asked.append(page)
        page.pop("rows", None)
        page[name] = "1" if same else str(next(tokens))
        return json.dumps({**page, "tables": []}).encode()

    with in_front_of(end, lie) as rogue:
        other = make_destination("sqlite")
        of_types(tidemark, end, other, f"{other.schema}.items")
        tidemark.env[HOST] = f"127.0.0.1:{rogue.port}"
        tidemark.pipelines["items"]["retry"] = {"attempts": 1}
        done = tidemark.write_config()(*(
            ("run",) if what == "rows"
            else ("init", end.url(), other.url(), "--stdout")))
        assert done.code == EXIT_ACCESS, done
        assert ("this one again" if same else "more are announced") in done.err
        assert len(asked) < 1100

"""`tidemark verify` where a row is not found as easily by its key as it is read
in passing."""

import pytest

from bench import EXIT_DATA, EXIT_DIFFERENT, EXIT_SCHEMA, items_settings
from looks import verify

STAMP = "'2024-01-01 00:00:00+00:00'"
SPELLINGS = {
    "uuid": ("'0000000000000000000000000000FFA7'",
             "x'000000000000000000000000000000a8'",
             "'F0000000-0000-0000-0000-0000000000A8'"),
    "timestamptz": ("'2024-01-01T10:00:00Z'", "'2024-01-01 12:00:00+00'",
                    "'2024-01-01 11:00:00.500+02:00'"),
    "datetime": ("'2024-01-01T10:00:00'", "'2024-01-01 11:00:00.500'",
                 "'2024-01-01 12:00:00'"),
    "time": ("'10:00:00'", "'11:00:00.500'", "'12:00:00.000000'"),
}


def sync(tidemark, source, destination, *tables):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for table in tables:
        tidemark.pipeline(table, **items_settings(
            source, destination, "timestamp", table=table))
    return tidemark.write_config()


def kinds(result):
    return result["missing"], result["extra"], result["different"]


def test_keys_that_sqlite_spells_in_many_ways(tidemark, make_source,
                                              make_destination):
    """A row of the source that is there is not taken for gone."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    for kind, keys in SPELLINGS.items():
        source.execute(
            f"CREATE TABLE {kind} (k {kind} NOT NULL, n text NOT NULL,"
            f" v text, updated_at text DEFAULT {STAMP}, PRIMARY KEY (k, n))",
            *(f"INSERT INTO {kind} (k, n, v) VALUES ({key}, 'a', 'v'),"
              f" ({key}, 'b', 'v{i}')" for i, key in enumerate(keys)))
    sync(tidemark, source, destination, *SPELLINGS).run()
    for kind in SPELLINGS:
        destination.execute(f"UPDATE {kind} SET v = 'bad' WHERE n = 'a'",
                            f"DELETE FROM {kind} WHERE v = 'v0'")
        source.execute(f"DELETE FROM {kind} WHERE v = 'v1'")
    for kind, result in verify(tidemark, expect=EXIT_DIFFERENT).items():
        assert kinds(result) == (1, 1, 3), kind
    for kind, result in verify(tidemark, "--repair", "--deletes",
                               "apply").items():
        assert result["equal"], kind
        assert (result["repaired"], result["deleted"]) == (4, 1), kind
        assert result["destination_rows"] == 5


@pytest.mark.parametrize("twice", (10_000, 10_001))
def test_a_key_that_repeats_where_a_page_ends(tidemark, make_source,
                                              make_destination, twice):
    """Pages are of 10 000 rows, and the index was dropped since the run."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    source.execute(
        "CREATE TABLE items (id integer PRIMARY KEY, updated_at text)",
        "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g"
        f" WHERE i < 10002) INSERT INTO items SELECT i, {STAMP} FROM g")
    destination.execute("CREATE TABLE items (id integer, updated_at text)",
                        "CREATE UNIQUE INDEX items_key ON items (id)")
    sync(tidemark, source, destination, "items").run()
    destination.execute("DROP INDEX items_key", "INSERT INTO items "
                        f"SELECT * FROM items WHERE id = {twice}")
    result = verify(tidemark, expect=EXIT_DIFFERENT)["items"]
    assert kinds(result) == (0, 1, 0)
    assert result["examples"][0]["key"] == {"id": twice}


@pytest.mark.parametrize("engine", ("sqlite", "mysql", "duckdb"))
def test_a_key_with_a_nul_is_not_called_equal(tidemark, make_source,
                                              make_destination, engine):
    source, destination = make_source("sqlite"), make_destination(engine)
    source.execute(
        f"CREATE TABLE items (k text PRIMARY KEY, v text, updated_at text"
        f" DEFAULT {STAMP})",
        "INSERT INTO items (k, v) VALUES ('a' || char(0) || 'b', 'v'),"
        " ('c', 'v')")
    sync(tidemark, source, destination, "items").run()
    assert verify(tidemark)["items"]["equal"]
    destination.execute("DELETE FROM items WHERE k <> 'c'")
    done = tidemark("verify").expect(EXIT_SCHEMA)
    assert "NUL" in done.err and "'a'" in done.err


@pytest.mark.parametrize("engine", ("sqlite", "clickhouse", "bigquery"))
def test_no_page_begins_behind_a_nul(tidemark, make_source, make_destination,
                                     engine):
    """Such a key goes to the server as what stands before the NUL: the page
    would come again for ever."""
    source = make_source(engine) if engine == "sqlite" \
        else make_destination(engine)
    text, behind = {"clickhouse": ("String", "ENGINE = MergeTree ORDER BY k"),
                    "bigquery": ("STRING", "")}.get(engine, ("TEXT", ""))
    nul = {"sqlite": "'a' || char(0)", "clickhouse": r"'a\0'",
           "bigquery": "CONCAT('a', CHR(0))"}[engine]
    source.execute(
        f"CREATE TABLE {source.schema}.items (k {text}, updated_at "
        f"{'DateTime' if text == 'String' else 'TIMESTAMP'}) {behind}",
        *(f"INSERT INTO {source.schema}.items VALUES ({key}, "
          "'2024-01-01 00:00:00')" for key in (nul, "'a'", "'b'")))
    destination = make_destination("duckdb")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", **items_settings(
        source, destination, "timestamp", key=["k"], batch={"rows": 1}))
    done = tidemark.write_config().run(expect=EXIT_DATA).pipeline()
    message = done["error"]["message"]
    assert "NUL" in message and r"k=a\x00" in message, done

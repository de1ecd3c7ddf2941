"""source.exclude, source.rename and source.casing: names that columns have at
the destination, in everything that writes, reads or compares them there."""

import pathlib

import pytest

from bench import EXIT_CONFIG, EXIT_SCHEMA
from looks import verify

ENGINES = ("postgres", "mariadb", "sqlite", "duckdb", "clickhouse", "bigquery")
PLACES = [(engine, "upsert", "timestamp") for engine in ENGINES] + [
    (engine, mode, "timestamp") for engine in ("postgres", "mariadb", "duckdb",
                                               "clickhouse")
    for mode in ("append", "replace", "delete_insert")] + [
    ("postgres", "upsert", "xmin"), ("duckdb", "upsert", "sequence")]
ROWS = 30
RENAME = {"orderID": "id", "note": "remark"}
NAMES = ["id", "http_server_id", "remark", "total", "updated_at"]


def make_orders(source, rows=ROWS):
    source.execute(
        'CREATE TABLE orders ("orderID" bigint PRIMARY KEY, '
        '"HTTPServerID" int NOT NULL, note text, secret text, '
        'total numeric(20,4), "updatedAt" timestamptz NOT NULL)',
        'CREATE INDEX ON orders ("updatedAt", "orderID")',
        f"INSERT INTO orders SELECT n, n * 2, 'note ' || n, 'hush ' || n, "
        "n / 7.0, timestamptz '2024-03-01 00:00+00' + n * interval '1 s' "
        f"FROM generate_series(1, {rows}) n")


def orders(tidemark, source, destination, mode="upsert", strategy="timestamp",
           **shape):
    column = {"timestamp": "updatedAt", "sequence": "orderID"}.get(strategy)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    shape = shape or {"exclude": ["secret"], "rename": RENAME,
                      "casing": "snake"}
    tidemark.pipeline(
        "orders",
        source={"connection": "source", "table": "public.orders", **shape},
        destination={"connection": "warehouse",
                     "table": f"{destination.schema}.orders"},
        watermark={"strategy": strategy, **({"column": column}
                                            if column else {})},
        load={"mode": mode})
    return tidemark.write_config()


def columns(destination, table="orders"):
    return [name for name in destination.columns_of(
        f"{destination.schema}.{table}")
        if not str(name).startswith("_tidemark_")]


def there(destination):
    found = destination.rows(
        f"{destination.schema}.orders",
        {"id": "int", "http_server_id": "int", "remark": "text"})
    return {row[0]: row[1:] for row in found}


def here(source):
    return {row[0]: row[1:] for row in source.query(
        'SELECT "orderID", "HTTPServerID", note FROM orders')}


def change(source, *statements):
    source.execute(*statements)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine, mode, strategy", PLACES)
def test_names_of_the_target_everywhere(tidemark, source, make_destination,
                                        engine, mode, strategy):
    destination = make_destination(engine)
    make_orders(source)
    orders(tidemark, source, destination, mode, strategy)
    looked = tidemark("check", "--json").expect(0).pipeline()
    assert [c["name"] for c in looked["columns"]] == NAMES
    assert tidemark.run("--dry-run").pipeline()["rows_inserted"] == ROWS
    tidemark.run()
    assert list(columns(destination)) == NAMES
    assert there(destination) == here(source)
    # A column that appears later is renamed, too; all rows bring it.
    source.execute(
        'ALTER TABLE orders ADD "lateOne" int',
        "INSERT INTO orders VALUES (99, 1, 'new', 'hush', 1, "
        "timestamptz '2024-03-02 00:00+00', 7)",
        'UPDATE orders SET note = \'changed\', "updatedAt" = '
        "timestamptz '2024-03-02 00:00+00' WHERE \"orderID\" = 3")
    tidemark.run("--verify") if mode not in ("replace",) else tidemark.run()
    assert list(columns(destination)) == NAMES + ["late_one"]
    if strategy != "sequence":
        assert there(destination) == here(source)
        assert verify(tidemark)["orders"]["equal"]
    if mode == "append" or engine == "bigquery":
        return
    table = "orders_raw" if engine == "clickhouse" else "orders"
    source.execute('DELETE FROM orders WHERE "orderID" = 5')
    destination.execute(f"DELETE FROM {table} WHERE id = 7")
    looked = verify(tidemark, expect=7)["orders"]
    kinds = {(e["kind"], tuple(e["key"].items())) for e in looked["examples"]}
    assert {("missing", (("id", 7),)), ("extra", (("id", 5),))} <= kinds
    if strategy == "timestamp" and mode != "replace":
        looked = verify(tidemark, "--since", "2024-03-01 00:00:06",
                        expect=7)["orders"]
        assert (looked["missing"], looked["extra"]) == (1, 0)
    if mode == "replace":
        tidemark.run()
    else:
        tidemark("verify", "--repair", "--deletes", "apply").expect(0)
    if strategy != "sequence":
        assert there(destination) == here(source)
        assert verify(tidemark)["orders"]["equal"]


def snake_page():
    page = (pathlib.Path(__file__).parents[2] / "docs/pipelines.md").read_text()
    rows = page.split("| under `snake` |")[1].split("\n\n")[0].splitlines()
    return [tuple(cell.strip(" `") for cell in row.split("|")[1:3])
            for row in rows[2:]]


def test_the_page_says_how_words_are_divided(tidemark, source,
                                             make_destination):
    names = snake_page()
    assert len(names) >= 10
    list_of = ", ".join(f'"{name}" int' for name, _ in names)
    source.execute(f"CREATE TABLE orders (id int PRIMARY KEY, {list_of})")
    destination = make_destination("sqlite")
    orders(tidemark, source, destination, "replace", "none", casing="snake")
    tidemark.run()
    assert list(columns(destination))[1:] == [snake for _, snake in names]
    # A second turn changes nothing more.
    source.execute("DROP TABLE orders", "CREATE TABLE orders (id int, " + ", "
                   .join(f'"{snake}" int' for _, snake in names) + ")")
    tidemark.run("--full-refresh")
    assert list(columns(destination))[1:] == [snake for _, snake in names]

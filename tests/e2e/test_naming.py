"""source.exclude, source.rename and source.casing: names that columns have at
the destination, in everything that writes, reads or compares them there."""

import pathlib
import re

import pytest

import workload
from bench import EXIT_CONFIG, EXIT_SCHEMA, items_settings
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


@pytest.mark.thinned(5)
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


def replace_source(tidemark, **shape):
    tidemark.pipelines["orders"]["source"] = {
        "connection": "source", "table": "public.orders", **shape}
    return tidemark.write_config()


CONFIG_REFUSED = (
    ({"rename": {"note": "_tidemark_x"}}, "_tidemark_"),
    ({"rename": {"note": ""}}, "a name at the source"),
    ({"rename": {"note": "x", "total": "x"}}, "another column is renamed"),
    ({"rename": {"note": "x"}, "exclude": ["note"]}, "leaves the column out"),
    ({"rename": {"note": "x"}, "columns": ["orderID", "updatedAt"]},
     "not among source.columns"),
    ({"exclude": ["note"], "columns": ["orderID"]}, "leave out one of them"),
    ({"casing": "camel"}, "snake"),
    ({"exclude": "note"}, "a list"),
)
SCHEMA_REFUSED = (
    ({"rename": {"nota": "x"}}, 'did you mean "note"'),
    ({"exclude": ["secrets"]}, 'did you mean "secret"'),
    ({"rename": {"note": "total"}}, 'as column "total" is'),
    ({"rename": {"total": "http_server_id"}, "casing": "snake"},
     'as column "HTTPServerID" is'),
    ({"exclude": ["orderID"]}, 'key column "orderID"'),
    ({"rename": {"note": "TOTAL"}}, "one name to SQLite"),
)


@pytest.mark.parametrize("shape, words", CONFIG_REFUSED)
def test_what_a_config_cannot_ask_for(tidemark, source, make_destination,
                                      shape, words):
    orders(tidemark, source, make_destination("sqlite"), **shape)
    said = tidemark("run").expect(EXIT_CONFIG).err
    assert words in said and "orders.source." in said, said
    assert tidemark.config.rsplit("/", maxsplit=1)[-1] + ":" in said, said


@pytest.mark.thinned(2)
@pytest.mark.parametrize("command", ("run", "check"))
@pytest.mark.parametrize("shape, words", SCHEMA_REFUSED)
def test_names_that_the_table_refuses(tidemark, source, make_destination,
                                      shape, words, command):
    """Before anything is written, and by pipeline, table, column and place."""
    make_orders(source, rows=3)
    destination = make_destination("sqlite")
    orders(tidemark, source, destination, **shape)
    done = tidemark(command).expect(EXIT_SCHEMA)
    said = done.err + done.out
    assert words in said and "orders" in said, said
    if "did you mean" in words or "as column" in words:
        assert re.search(r"yaml:\d+:\d+: pipelines.orders.source", said), said
    assert destination.tables() == []


def test_two_columns_that_become_one(tidemark, source, make_destination):
    source.execute('CREATE TABLE orders (id int PRIMARY KEY, "userId" int, '
                   'user_id int, "%" int)')
    destination = make_destination("postgres")
    orders(tidemark, source, destination, "replace", "none", casing="snake")
    said = tidemark("run").expect(EXIT_SCHEMA).err
    assert '"userId"' in said and 'as column "user_id" is' in said, said
    replace_source(tidemark, casing="snake", exclude=["user_id"])
    assert "is no name" in tidemark("run").expect(EXIT_SCHEMA).err
    replace_source(tidemark, casing="snake",
                   rename={"user_id": "other", "%": "share"})
    tidemark.run()
    assert list(columns(destination)) == ["id", "user_id", "other", "share"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_changes_later(tidemark, source, make_destination, engine):
    """It is a new column, filled by reading all rows; the old one is kept."""
    destination = make_destination(engine)
    make_orders(source)
    orders(tidemark, source, destination, rename={"note": "a", "orderID": "id"})
    tidemark.run()
    before = here(source)
    replace_source(tidemark, rename={"note": "b", "orderID": "id"})
    tidemark.pipelines["orders"]["schema"] = {"on_new_column": "stop"}
    tidemark.write_config()
    assert '"b"' in tidemark("run").expect(EXIT_SCHEMA).err
    del tidemark.pipelines["orders"]["schema"]
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_read"] == ROWS
    kind = {"id": "int", "a": "text", "b": "text"}
    found = destination.rows(f"{destination.schema}.orders", kind)
    assert {row[0]: row[2] for row in found} == {
        key: row[1] for key, row in before.items()}
    looked = verify(tidemark)["orders"]
    assert looked["equal"] and looked["kept"] == ["a"], looked
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine", ("postgres", "duckdb", "mariadb"))
def test_names_that_are_exchanged_later(tidemark, source, make_destination,
                                        engine):
    """No column is new then, and yet each has other values."""
    destination = make_destination(engine)
    make_orders(source)
    orders(tidemark, source, destination, columns=[
        "orderID", "note", "secret", "updatedAt"], rename={"orderID": "id"})
    tidemark.run()
    replace_source(tidemark, columns=["orderID", "note", "secret", "updatedAt"],
                   rename={"orderID": "id", "note": "secret",
                           "secret": "note"})
    told = tidemark("check").expect(0).out
    assert "the source of column" in told
    assert tidemark.run().pipeline()["rows_updated"] == ROWS
    found = destination.rows(f"{destination.schema}.orders",
                             {"id": "int", "note": "text", "secret": "text"})
    assert {row[1:] for row in found} == {
        (f"hush {n}", f"note {n}") for n in range(1, ROWS + 1)}
    assert verify(tidemark)["orders"]["equal"]


def test_a_key_that_gets_another_name_later(tidemark, source,
                                            make_destination):
    for engine in ("postgres", "sqlite", "duckdb"):
        destination = make_destination(engine)
        if not source.query("SELECT to_regclass('orders')")[0][0]:
            make_orders(source)
        orders(tidemark, source, destination, rename={"orderID": "id"})
        tidemark("watermark", "reset", "orders")
        tidemark.run("--full-refresh")
        before = destination.rows(f"{destination.schema}.orders",
                                  {"id": "int"})
        replace_source(tidemark, rename={"orderID": "number"})
        tidemark("run").expect(EXIT_SCHEMA)
        tidemark("run", "--dry-run").expect(EXIT_SCHEMA)
        assert destination.rows(f"{destination.schema}.orders",
                                {"id": "int"}) == before
        destination.execute("DROP TABLE orders")
        tidemark.run()
        assert "number" in columns(destination)
        assert verify(tidemark)["orders"]["equal"]


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
@pytest.mark.parametrize("key", (["orderID", "total"], ["orderID"]))
def test_a_key_that_is_filled_from_another_column(tidemark, source,
                                                  make_destination, engine,
                                                  key):
    """The key's names stay, and every row would come under another key."""
    destination = make_destination(engine)
    make_orders(source)
    source.execute("UPDATE orders SET total = \"orderID\" + 100",
                   "ALTER TABLE orders ALTER total TYPE bigint, "
                   "ALTER total SET NOT NULL, ADD UNIQUE (total)")
    orders(tidemark, source, destination, exclude=["secret"])
    tidemark.pipelines["orders"]["key"] = key
    tidemark.write_config().run()
    keys = {"orderID": "int", "total": "int"}
    before = destination.rows(f"{destination.schema}.orders", keys)
    tidemark.pipelines["orders"]["key"] = (key if len(key) > 1 else ["total"])
    replace_source(tidemark, exclude=["secret"],
                   rename={"orderID": "total", "total": "orderID"})
    for command in (("run",), ("run", "--dry-run"), ("backfill", "orders")):
        said = tidemark(*command).expect(EXIT_SCHEMA)
        assert "is filled from" in said.err + said.out, said
    assert "key-of-other" in tidemark("check", "--json").expect(
        EXIT_SCHEMA).out
    assert destination.rows(f"{destination.schema}.orders", keys) == before
    tidemark.run("--full-refresh")
    assert verify(tidemark)["orders"]["equal"]


def test_a_key_that_gets_another_name_at_the_source(tidemark, source,
                                                    make_destination):
    """The target's name stays; nobody but the user knows that it is the
    same."""
    make_orders(source)
    destination = make_destination("sqlite")
    orders(tidemark, source, destination, exclude=["secret"])
    tidemark.run()
    source.execute('ALTER TABLE orders RENAME "orderID" TO number')
    replace_source(tidemark, exclude=["secret"], rename={"number": "orderID"})
    said = tidemark("run").expect(EXIT_SCHEMA).err
    assert "watermark reset orders" in said, said
    tidemark("watermark", "reset", "orders").expect(0)
    tidemark.run()
    assert verify(tidemark)["orders"]["equal"]


def test_an_excluded_mark(tidemark, source, make_destination):
    make_orders(source)
    destination = make_destination("duckdb")
    orders(tidemark, source, destination, exclude=["updatedAt", "secret"])
    tidemark.run()
    assert "updatedAt" not in columns(destination)
    source.execute('UPDATE orders SET note = \'x\', "updatedAt" = '
                   "'2024-05-01' WHERE \"orderID\" = 2")
    assert tidemark.run().pipeline()["rows_updated"] == 1
    assert verify(tidemark)["orders"]["equal"]


def test_a_column_that_goes_and_comes_again(tidemark, source,
                                            make_destination):
    make_orders(source)
    destination = make_destination("postgres")
    orders(tidemark, source, destination, rename={"orderID": "id"},
           casing="snake")
    tidemark.run()
    source.execute('ALTER TABLE orders DROP "HTTPServerID"')
    tidemark.run()
    source.execute('ALTER TABLE orders ADD "HTTPServerID" int DEFAULT 5')
    tidemark.run()
    found = destination.rows("public.orders", {"http_server_id": "int"})
    assert {row[0] for row in found} == {5}
    assert verify(tidemark)["orders"]["equal"]


def test_a_masked_value_in_place_of_an_excluded_one(tidemark, source,
                                                    make_destination):
    make_orders(source)
    destination = make_destination("sqlite")
    orders(tidemark, source, destination, exclude=["secret"],
           expressions={"secret": "md5(secret)"}, rename={"secret": "token"})
    tidemark.run()
    found = destination.rows("main.orders", {"token": "text"})
    assert len(found) == ROWS and all(len(row[0]) == 32 for row in found)


def test_gates_take_names_of_the_source(tidemark, source, make_destination):
    make_orders(source)
    destination = make_destination("sqlite")
    orders(tidemark, source, destination, rename={"total": "amount"})
    tidemark.pipelines["orders"]["gate"] = {"min": {"total": 0.5}}
    said = tidemark.write_config()("run").expect(5).err
    assert '"total"' in said
    tidemark.pipelines["orders"]["gate"] = {"min": {"amount": 0.5}}
    said = tidemark.write_config()("run").expect(EXIT_SCHEMA).err
    assert '"amount"' in said


def test_tables_without_the_column(tidemark, source, make_destination):
    """Under defaults and in a wildcard; an override is meant for its table."""
    source.execute("CREATE TABLE one (id int PRIMARY KEY, secret text, "
                   '"someName" int)', "CREATE TABLE two (id int PRIMARY KEY)")
    destination = make_destination("sqlite")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    shape = {"exclude": ["secret"], "rename": {"someName": "name"}}
    tidemark.pipeline("all", tables="public.*", source={
        "connection": "source", **shape},
        destination={"connection": "warehouse"}, load={"mode": "replace"})
    tidemark.write_config().run()
    assert list(columns(destination, "one")) == ["id", "name"]
    assert list(columns(destination, "two")) == ["id"]
    tidemark.pipelines["all"]["overrides"] = {
        "public.two": {"source": {"exclude": ["secrets"]}}}
    said = tidemark.write_config()("run").expect(EXIT_SCHEMA).err
    assert "all.two" in said and "secrets" in said


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine", ("postgres", "clickhouse", "mysql"))
def test_long_and_foreign_names(tidemark, source, make_destination, engine):
    make_orders(source, rows=3)
    destination = make_destination(engine)
    name = 'größe "of" `it`, ' + ("é" if engine == "mysql" else "🐘")
    orders(tidemark, source, destination,
           rename={"note": name, "orderID": "ID"})
    tidemark.run()
    assert name in columns(destination)
    assert verify(tidemark)["orders"]["equal"]
    replace_source(tidemark, rename={"note": "x" * 100, "orderID": "ID"})
    if engine == "clickhouse":
        tidemark.run()
    else:
        assert "x" * 60 in tidemark("run").expect(EXIT_SCHEMA).err


@pytest.mark.parametrize("mode", ("upsert", "delete_insert", "append",
                                  "replace"))
def test_a_name_that_hides_the_place_of_a_row(tidemark, source,
                                              make_destination, mode):
    """DuckDB's rowid: all rows with one value in it would be one row."""
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, rowid int, note "
                   'text, "updatedAt" timestamptz NOT NULL)',
                   "INSERT INTO orders SELECT n, 1, 'note ' || n, "
                   "'2024-01-01' FROM generate_series(1, 20) n")
    destination = make_destination("duckdb")
    orders(tidemark, source, destination, mode=mode, casing="as_is")
    if mode in ("upsert", "delete_insert"):
        assert '"rowid"' in tidemark("run").expect(EXIT_SCHEMA).err
        replace_source(tidemark, rename={"rowid": "row"})
    tidemark.run()
    source.execute("UPDATE orders SET note = 'x', \"updatedAt\" = "
                   "'2024-01-02' WHERE id = 7")
    tidemark.run()
    assert verify(tidemark)["orders"]["equal"]
    found = destination.rows("main.orders", {"id": "int", "note": "text"})
    assert sum(row[1] == "x" for row in found) == 1


def test_loaded_at_and_soft_delete_keep_their_names(tidemark, source,
                                                    make_destination):
    make_orders(source)
    destination = make_destination("sqlite")
    orders(tidemark, source, destination, casing="snake",
           rename={"note": "loadedAt"})
    tidemark.pipelines["orders"]["load"]["loaded_at"] = "loadedAt"
    assert "load.loaded_at" in tidemark.write_config()("run").expect(
        EXIT_CONFIG).err
    replace_source(tidemark, casing="snake", rename={"note": "n"})
    tidemark.run()
    assert "loadedAt" in columns(destination)


def test_letters_and_replay_know_the_name(tidemark, source, make_destination):
    """A dead letter's key is the target's; it comes back by it."""
    make_orders(source)
    destination = make_destination("postgres")
    orders(tidemark, source, destination, rename={"orderID": "id"},
           casing="snake")
    tidemark.pipelines["orders"]["on_bad_row"] = "dead_letter"
    tidemark.write_config().run()
    destination.execute("ALTER TABLE orders ADD CHECK (remark <> 'bad')"
                        if "remark" in columns(destination) else
                        "ALTER TABLE orders ADD CHECK (note <> 'bad')")
    source.execute('UPDATE orders SET note = \'bad\', "updatedAt" = '
                   "'2024-05-01' WHERE \"orderID\" = 2")
    assert tidemark.run().pipeline()["rows_dead_lettered"] == 1
    letter = tidemark("dead-letters", "list", "--json").expect(0).json()[
        "dead_letters"][0]
    assert letter["key"] == {"id": 2}
    assert verify(tidemark, "--json", expect=7)["orders"]["examples"][0][
        "key"] == {"id": 2}
    source.execute("UPDATE orders SET note = 'good' WHERE \"orderID\" = 2")
    tidemark("dead-letters", "replay", letter["id"]).expect(0)
    assert verify(tidemark)["orders"]["equal"]


@pytest.mark.parametrize("engine", ("postgres", "sqlite"))
def test_a_window_that_is_loaded_again(tidemark, source, make_destination,
                                       engine):
    make_orders(source)
    destination = make_destination(engine)
    orders(tidemark, source, destination, rename=RENAME | {
        "updatedAt": "changed"}, casing="snake")
    tidemark.run()
    destination.execute("UPDATE orders SET remark = 'spoiled' WHERE id < 9")
    tidemark("backfill", "orders", "--from", "2024-03-01 00:00:04+00", "--to",
             "2024-03-01 00:00:07+00").expect(0)
    spoiled = sorted(key for key, row in there(destination).items()
                     if row[1] == "spoiled")
    assert spoiled == [1, 2, 3, 7, 8]
    tidemark("verify", "--since", "2024-03-01 00:00:07+00", "--repair").expect(
        0)
    assert {key for key, row in there(destination).items()
            if row[1] == "spoiled"} == {1, 2, 3}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine", ("mysql", "sqlite", "mariadb", "duckdb"))
def test_each_source_leaves_out_and_renames(tidemark, make_source,
                                            make_destination, engine):
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    settings = items_settings(source, destination, "timestamp")
    settings["source"].update(
        exclude=["payload", "document", "ratio"],
        rename={"id": "number", "updated_at": "changed"},
        expressions={"name": "upper(name)"})
    tidemark.pipeline("items", **settings).write_config()
    workload.settle(source)
    tidemark.run("--verify")
    assert columns(destination, "items") == [
        "number", "name", "amount", "quantity", "active", "born", "seq",
        "changed"]
    workload.touch_items(source, "id IN (3, 4)")
    tidemark.run("--verify")
    destination.execute("DELETE FROM items WHERE number = 9",
                        "UPDATE items SET name = 'spoiled' WHERE number = 8")
    found = verify(tidemark, expect=7)["items"]
    assert (found["missing"], found["different"]) == (1, 1)
    tidemark("verify", "--repair").expect(0)
    assert verify(tidemark)["items"]["equal"]
    settings["source"]["exclude"].append("gone")
    tidemark.write_config()
    assert '"gone"' in tidemark("run").expect(EXIT_SCHEMA).err


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_bounds_and_windows_by_names_of_the_source(
        tidemark, source, make_destination, strategy):
    """gate.min_rows counts key and mark alone; xmin's windows go by the key."""
    make_orders(source)
    destination = make_destination("duckdb")
    orders(tidemark, source, destination, strategy=strategy, casing="snake",
           rename={"orderID": "id", "updatedAt": "changed"})
    tidemark.pipelines["orders"]["gate"] = {"min_rows": ROWS}
    tidemark.write_config().run()
    del tidemark.pipelines["orders"]["gate"]
    tidemark.write_config()
    destination.execute("UPDATE orders SET note = 'spoiled' WHERE id < 9")
    window = (["--from", "3", "--to", "5"] if strategy == "xmin" else
              ["--from", "2024-03-01 00:00:03+00",
               "--to", "2024-03-01 00:00:05+00"])
    tidemark("backfill", "orders", *window).expect(0)
    found = destination.rows("main.orders", {"id": "int", "note": "text"})
    assert sorted(key for key, note in found if note == "spoiled") == [
        1, 2, 5, 6, 7, 8]


def test_mode_update_between_two_tables(tidemark, source, make_destination):
    make_orders(source)
    destination = make_destination("postgres")
    orders(tidemark, source, destination, rename=RENAME, casing="snake")
    tidemark.run()
    destination.execute("UPDATE orders SET remark = 'x', secret = 'x'")
    tidemark.pipelines["fill"] = {
        **tidemark.pipelines["orders"], "load": {"mode": "update"}}
    tidemark.pipelines["fill"]["source"] = {
        "connection": "source", "table": "public.orders", "rename": RENAME,
        "casing": "snake", "columns": ["orderID", "updatedAt", "note"]}
    tidemark.write_config().run("fill")
    found = destination.rows("public.orders",
                             {"remark": "text", "secret": "text"})
    assert {row[0] for row in found} == {f"note {n}"
                                         for n in range(1, ROWS + 1)}
    assert {row[1] for row in found} == {"x"}


@pytest.mark.parametrize("other_address", (False, True))
def test_one_table_has_one_name_for_a_column(tidemark, source, other_address):
    make_orders(source, rows=3)
    connection = source.connection()
    tidemark.connect("source", connection)
    tidemark.connect("warehouse", {**connection, "url": connection[
        "url"].replace("127.0.0.1", "localhost")} if other_address
        else connection)
    tidemark.pipeline(
        "orders",
        source={"connection": "source", "table": "public.orders",
                "columns": ["orderID", "updatedAt", "note"],
                "rename": {"note": "secret"}},
        destination={"connection": "warehouse", "table": "public.orders"},
        watermark={"strategy": "timestamp", "column": "updatedAt"},
        load={"mode": "update"})
    said = tidemark.write_config()("run").expect(EXIT_CONFIG).err
    assert "same table" in said and "expressions" in said, said


@pytest.mark.parametrize("engine", ("postgres", "sqlite"))
def test_a_query_has_columns_too(tidemark, make_source, make_destination,
                                 engine):
    source, destination = make_source(engine), make_destination("duckdb")
    workload.create_items(source, rows=ROWS)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    shape = {"exclude": ["secret"], "casing": "snake",
             "rename": {"n": "name"}}
    tidemark.pipeline(
        "items", source={
            "connection": "source", **shape,
            "query": 'SELECT id AS "itemId", name AS n, name AS secret FROM '
                     f"{source.schema}.items"},
        destination={"connection": "warehouse", "table": "main.items"},
        key=["itemId"], load={"mode": "replace"})
    tidemark.write_config().run()
    assert list(columns(destination, "items")) == ["item_id", "name"]
    assert verify(tidemark)["items"]["equal"]
    shown = tidemark("copy", "items", "-", "--limit", "1").expect(0).out
    assert shown.startswith('{"item_id":1,"name":"item 1')
    # A masked value stands in for an excluded one.
    tidemark.pipelines["items"]["source"].update(
        expressions={"secret": "upper(secret)"})
    tidemark.write_config().run()
    assert list(columns(destination, "items")) == ["item_id", "name", "secret"]
    assert destination.rows("main.items", {"secret": "text"})[0][0].startswith(
        "ITEM ")
    for shape in ({"expressions": {}},
                  {"expressions": {"secrets": "upper(secret)"}}):
        tidemark.pipelines["items"]["source"].update(exclude=["secrets"],
                                                     **shape)
        said = tidemark.write_config()("run").expect(EXIT_SCHEMA).err
        assert 'did you mean "secret"' in said

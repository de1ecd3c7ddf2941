"""Contents of rows stay out of what Tidemark prints and keeps about a run;
names, keys and reasons do not. `log.row_values: true` shows them."""

import json

import pytest

import workload
from bench import EXIT_DATA, sync_items
from canon import quote_table
from refused_items import letters

SECRET = "zoe o'quill, 077-5551234"

POSTGRES_TRIGGER = """
CREATE FUNCTION {schema}.no_secrets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'not %', NEW.name {more};
END $$;
CREATE TRIGGER no_secrets BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW WHEN (NEW.name LIKE 'zoe%') EXECUTE FUNCTION
    {schema}.no_secrets()
"""
MYSQL_TRIGGER = """
CREATE TRIGGER no_secrets BEFORE UPDATE ON {table} FOR EACH ROW
    IF NEW.name LIKE 'zoe%' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = NEW.name;
    END IF
"""
CHECK = ("ALTER TABLE {table} ADD CONSTRAINT no_secrets CHECK"
         " (name NOT LIKE 'zoe%')")
UNIQUE = "CREATE UNIQUE INDEX no_twins ON {table} (name)"
UNIQUE_START = "CREATE UNIQUE INDEX no_twins ON {table} (name(50))"

# engine, how it refuses rows 1 and 2, what is still told
REFUSALS = [
    ("postgres", CHECK, ["no_secrets"]),
    ("postgres", UNIQUE, ["no_twins", "Key (name)=(...) already exists."]),
    ("postgres", POSTGRES_TRIGGER.replace("{more}", ""),
     ["function or trigger", "no_secrets()"]),
    ("postgres", POSTGRES_TRIGGER.replace(
        "{more}", "USING ERRCODE = 'check_violation'"), ["no_secrets()"]),
    ("mariadb", CHECK, ["no_secrets"]),
    ("mariadb", UNIQUE_START, ["no_twins"]),
    ("mariadb", MYSQL_TRIGGER, ["trigger or routine"]),
    ("mysql", CHECK, ["no_secrets"]),
    ("mysql", UNIQUE_START, ["no_twins"]),
    ("mysql", MYSQL_TRIGGER, ["trigger or routine"]),
    ("sqlite", UNIQUE, ["items.name"]),
    ("duckdb", UNIQUE, ["constraint"]),
    ("clickhouse", CHECK, ["no_secrets"]),
]
IDS = [f"{engine}-{sql.split()[1].lower()}-{n}"
       for n, (engine, sql, _) in enumerate(REFUSALS)]


@pytest.fixture
def refusing(tidemark, make_source, make_destination):
    """Two rows that were loaded, and are then given a name that the target
    does not take, or not twice."""
    def make(engine, sql, **settings):
        source, destination = make_source("postgres"), make_destination(engine)
        workload.create_items(source, rows=2)
        sync_items(tidemark, source, destination, "timestamp", **settings)
        tidemark.run()
        table = "items_raw" if engine == "clickhouse" else "items"
        destination.execute(sql.replace("{schema}", destination.schema).replace(
            "{table}", quote_table(f"{destination.schema}.{table}")
            if engine in ("postgres", "duckdb") else table))
        name = SECRET.replace("'", "''")
        source.execute(f"UPDATE items SET name = '{name}', updated_at = now()")
        workload.settle(source)
    return make


def told(tidemark, *outcomes):
    """All that was printed, and what is kept about the runs."""
    kept = [tidemark(*command, "--json").out for command in (
        ("runs", "list"), ("status",), ("dead-letters", "list"))]
    return "".join([each.out + each.err for each in outcomes] + kept)


def hidden(text):
    return not any(piece in text for piece in ("zoe", "quill", "5551234"))


@pytest.mark.parametrize("engine, sql, names", REFUSALS, ids=IDS)
def test_refused_rows(tidemark, refusing, engine, sql, names):
    refusing(engine, sql)
    done = tidemark("run", "--json").expect(EXIT_DATA)
    text = told(tidemark, done, tidemark("run", "-v"))
    assert hidden(text), text
    message = done.pipeline()["error"]["message"]
    for name in names:
        assert name in message, message
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    # SQLite's texts have no values, nor have those of a CHECK in MySQL.
    assert ("zoe" in shown.err + shown.out) == (
        engine not in ("sqlite", "mariadb", "mysql") or sql is not CHECK
        and engine != "sqlite"), shown


@pytest.mark.parametrize("engine, sql", [
    ("postgres", UNIQUE), ("mariadb", UNIQUE_START), ("duckdb", UNIQUE)])
def test_letters_tell_of_them_in_their_row_alone(tidemark, refusing, engine,
                                                 sql):
    refusing(engine, sql, on_bad_row="dead_letter")
    done = tidemark("run", "--json")
    found = letters(tidemark)
    assert found and hidden(told(tidemark, done)), done
    shown, = letters(tidemark, "show", found[0]["id"])
    assert shown["row"]["name"] == SECRET
    assert hidden(json.dumps(shown["error"])), shown


@pytest.mark.parametrize("engine, kind, expression", [
    ("postgres", "text", "name::integer"),
    ("duckdb", "text", "CAST(name AS INTEGER)"),
    ("clickhouse", "String", "toInt32(name)")])
def test_source_that_stumbles_on_a_value(tidemark, make_destination, engine,
                                         kind, expression):
    source = make_destination(engine)
    name = SECRET.replace("'", "''")
    more = " ENGINE = MergeTree ORDER BY id" if engine == "clickhouse" else ""
    source.execute(f"CREATE TABLE people (id bigint, name {kind}){more}",
                   f"INSERT INTO people VALUES (1, '{name}')")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", f"sqlite:{tidemark.dir}/w.db")
    tidemark.pipeline(
        "people", key=["id"],
        source={"connection": "source", "table": f"{source.schema}.people",
                "expressions": {"n": expression}},
        destination={"connection": "warehouse", "table": "people"},
        watermark={"strategy": "sequence", "column": "id"})
    done = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    text = told(tidemark, done)
    assert hidden(text) and "log.row_values" in text, text
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    assert "zoe" in shown.err + shown.out, shown

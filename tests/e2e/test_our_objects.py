"""Allowed changes to Tidemark's own tables. Roles whose tables count as its
own: the owner of the database, and logins that share a role."""

import re

import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, sync_items
from conftest import ROOT
from servers import ADMIN, APP, CANARY, scram_secret
from test_others_objects import as_role

MARKS = "public._tidemark_watermark"
ENGINES = ("postgres", "mysql", "mariadb", "sqlite", "duckdb", "clickhouse",
           "bigquery")


@pytest.fixture
def roles(cluster):
    """A group, two logins of it, and a login with no part in it."""
    secret = scram_secret(CANARY)
    cluster.order("CREATE ROLE keepers NOLOGIN")
    for name, more in (("login_1", "IN ROLE keepers"),
                       ("login_2", "IN ROLE keepers"), ("stranger", "")):
        cluster.order(f"CREATE ROLE {name} LOGIN PASSWORD '{secret}' {more}")
    cluster.order("GRANT pg_read_all_stats TO keepers")
    yield
    names = "login_1, login_2, stranger, keepers"
    for (name,) in cluster.order("SELECT datname FROM pg_database"
                                 " WHERE datallowconn").fetchall():
        as_role(cluster, name, ADMIN, f"DROP OWNED BY {names} CASCADE")
    cluster.order(f"DROP ROLE {names}")


@pytest.fixture
def synced(tidemark, source, make_database):
    """Three rows in a target, marks beside it."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    return destination


def admin(end, *statements):
    as_role(end.cluster, end.database, ADMIN, *statements)


def log_in_as(tidemark, end, role, name="warehouse"):
    tidemark.connect(name, {**end.connection(), "url": end.cluster.url(
        end.database, role, None)})
    return tidemark.write_config()


def again(tidemark, source):
    """A run that writes."""
    workload.change_items(source, "id = 1")
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_updated"] == 1


def refused(tidemark, named, code="unsafe-marks"):
    assert named in tidemark("run").expect(EXIT_SCHEMA).err
    problems = tidemark("check", "--json").expect(
        EXIT_SCHEMA).pipeline()["problems"]
    found, = [each for each in problems if each["code"] == code]
    assert named in found["message"], found
    return found["fix"]


HARMLESS = {
    "column": "ADD more text",
    "constant": "ADD more text DEFAULT 'it''s', ADD number bigint DEFAULT -1,"
                " ADD price numeric(9, 2) DEFAULT 0.5",
    "time": "ADD more timestamptz NOT NULL DEFAULT now()",
    "number": "ADD more bigint GENERATED ALWAYS AS IDENTITY",
    "check": "ADD CHECK (fence >= 0 AND target <> 'x')",
    "row security": "ENABLE ROW LEVEL SECURITY",
}


@pytest.mark.parametrize("what", HARMLESS)
def test_harmless_to_our_marks(tidemark, source, synced, what):
    admin(synced, f"ALTER TABLE {MARKS} {HARMLESS[what]}")
    again(tidemark, source)


def test_index_with_a_collation_of_the_server(tidemark, source, synced):
    admin(synced, f'CREATE INDEX ON {MARKS} (target COLLATE "und-x-icu")')
    again(tidemark, source)


HARMFUL = {
    "default": ("ALTER batch_id SET DEFAULT query_to_xml('SELECT 1', true,"
                " false, '')::text", "computes column batch_id"),
    "added": ("ADD more text DEFAULT upper('x')", "computes column more"),
    "generated": ("ADD more text GENERATED ALWAYS AS (upper(target)) STORED",
                  "computes column more"),
    "check": ("ADD CHECK (query_to_xml('SELECT 1', true, false, '')"
              " IS NOT NULL)", "has constraint"),
    "row security": ("ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
                     "has row security"),
}


@pytest.mark.parametrize("what", HARMFUL)
def test_harmful_to_our_marks(tidemark, synced, what):
    sql, named = HARMFUL[what]
    admin(synced, f"ALTER TABLE {MARKS} {sql}")
    fix = refused(tidemark, named)
    assert "take away" in fix and "Drop it only if it is empty" in fix


def test_rows_that_row_security_hides_from_us(tidemark, synced, roles):
    """A member of our role may own the table: we are no owner then, and would
    see no mark."""
    synced.cluster.order(f"GRANT {APP} TO stranger")
    admin(synced, f"ALTER TABLE {MARKS} OWNER TO stranger",
          f"GRANT ALL ON {MARKS} TO {APP}")
    tidemark.run()
    admin(synced, f"ALTER TABLE {MARKS} ENABLE ROW LEVEL SECURITY")
    refused(tidemark, "has row security")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_somebody_added(tidemark, source, make_destination,
                                      engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    kind = {"clickhouse": "Nullable(String)", "bigquery": "STRING"}.get(
        engine, "varchar(9)")
    table = "_tidemark_watermark" + "_raw" * (engine == "clickhouse")
    destination.execute(f"ALTER TABLE {table} ADD COLUMN more {kind}")
    if engine not in ("bigquery", "duckdb"):
        destination.execute(
            f"ALTER TABLE {table} ADD COLUMN most {kind} DEFAULT 'x'")
    again(tidemark, source)
    tidemark.run("--full-refresh")


def test_state_in_a_schema_of_the_database_owner(tidemark, source, synced,
                                                 make_database, roles):
    state = make_database("state")
    tidemark.top["state"] = {**state.connection(), "url": state.cluster.url(
        state.database, "stranger", None)}
    tidemark.write_config()
    as_role(state.cluster, state.database, APP, "CREATE SCHEMA tidemark",
            "GRANT ALL ON SCHEMA tidemark TO stranger")
    again(tidemark, source)
    admin(state, "ALTER TABLE tidemark.attempts ENABLE ROW LEVEL SECURITY")
    again(tidemark, source)
    admin(state, "ALTER SCHEMA tidemark OWNER TO login_1")
    done = tidemark("run").expect(EXIT_SCHEMA)
    assert "ALTER schema tidemark OWNER TO stranger" in done.err, done


def keepers_target(end):
    admin(end, "GRANT CREATE, USAGE ON SCHEMA public TO keepers",
          f"GRANT TEMPORARY ON DATABASE {end.database} TO keepers")


def test_logins_that_share_a_role(tidemark, source, make_database, roles):
    """As docs/rights.md has it: the role owns what its logins make."""
    destination, state = make_database("warehouse"), make_database("state")
    keepers_target(destination)
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    admin(state, "CREATE SCHEMA tidemark AUTHORIZATION keepers")
    for login in ("login_1", "login_2"):
        destination.cluster.order(f"ALTER ROLE {login} SET role = 'keepers'")
    for login in ("login_1", "login_2", "login_1"):
        tidemark.top["state"] = {**state.connection(), "url":
                                 state.cluster.url(state.database, login,
                                                   None)}
        log_in_as(tidemark, destination, login)
        workload.change_items(source, "id = 1")
        workload.settle(source)
        tidemark.run()
        tidemark("check").expect(EXIT_OK)
    assert destination.query("SELECT DISTINCT tableowner FROM pg_tables"
                             " WHERE schemaname = 'public'") == [("keepers",)]


def test_tables_of_another_login(tidemark, source, make_database, roles):
    """They are refused, and the statement that is named mends it."""
    destination = make_database("warehouse")
    keepers_target(destination)
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    log_in_as(tidemark, destination, "login_1").run()
    admin(destination, "GRANT ALL ON ALL TABLES IN SCHEMA public TO login_2",
          "ALTER TABLE public.items OWNER TO login_2")
    log_in_as(tidemark, destination, "login_2")
    fix = refused(tidemark, "belongs to role login_1, not to login_2")
    assert "docs/rights.md" in fix
    admin(destination, re.search("ALTER TABLE .* OWNER TO [^;]*", fix)[0])
    again(tidemark, source)


@pytest.mark.parametrize("file", ("core/plugin/store.c",
                                  "stores/sqlite/owned.c"))
def test_each_table_of_the_store_is_known_as_ours(file):
    """A list that a migration was forgotten in would guard one table less."""
    text = (ROOT / file).read_text(encoding="utf-8")
    made = {name for path in (ROOT / "migrations/sqlite").glob("*.sql")
            for name in re.findall(r"^CREATE TABLE (\w+)",
                                   path.read_text(encoding="utf-8"), re.M)}
    assert len(made) >= 10
    assert not [name for name in made if not re.search(rf"\b{name}\b", text)]

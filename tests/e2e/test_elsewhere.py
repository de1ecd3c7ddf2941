"""Rows that arrive from elsewhere: who writes them does not show at the server
that is asked, so the guarantee is `lag`, and says why."""

import pytest

from ends import PostgresEnd
from servers import APP, Cluster

TABLE = "(id bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
ROWS = ("INSERT INTO {} SELECT n, '2024-01-01'::timestamptz + n * interval "
        "'1 s' FROM generate_series(1, 10) n")


@pytest.fixture(scope="module")
def sets(request):
    """A server that publishes, with a database of another server's tables."""
    server = Cluster("elsewhere", settings={"wal_level": "logical"})
    server.create().start().prepare()
    request.addfinalizer(server.remove)
    far, near = (PostgresEnd(server, name) for name in ("far", "near"))
    server.create_database("far")
    server.create_database("near")
    far.execute(f"CREATE TABLE t {TABLE}", ROWS.format("t"),
                f"CREATE TABLE p {TABLE}")
    with server.admin(far.database) as db:
        db.execute("CREATE PUBLICATION everything FOR ALL TABLES")
        db.execute("SELECT pg_create_logical_replication_slot('feed', "
                   "'pgoutput')")
    near.execute(
        f"CREATE TABLE plain {TABLE}", f"CREATE TABLE t {TABLE}",
        "CREATE TABLE parts (id bigint, at timestamptz NOT NULL) "
        "PARTITION BY RANGE (id)",
        "CREATE TABLE parts_near PARTITION OF parts "
        "FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE p (id bigint PRIMARY KEY, at timestamptz NOT NULL) "
        "PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)")
    with server.admin(near.database) as db:
        db.execute("CREATE EXTENSION postgres_fdw")
        db.execute("CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw "
                   f"OPTIONS (host '{server.dir}', port '{server.port}', "
                   "dbname 'far')")
        db.execute("CREATE USER MAPPING FOR PUBLIC SERVER far OPTIONS "
                   f"(user '{APP}', password_required 'false')")
        db.execute("GRANT USAGE ON FOREIGN SERVER far TO PUBLIC")
        db.execute(f"CREATE SUBSCRIPTION feed CONNECTION 'host={server.dir} "
                   f"port={server.port} dbname=far' PUBLICATION everything "
                   "WITH (create_slot = false, slot_name = 'feed', "
                   "copy_data = false)")
    near.execute(
        "CREATE FOREIGN TABLE remote (id bigint, at timestamptz NOT NULL) "
        "SERVER far OPTIONS (table_name 't')",
        "CREATE FOREIGN TABLE parts_far PARTITION OF parts "
        "FOR VALUES FROM (100) TO (200) SERVER far OPTIONS (table_name 'p')",
        "CREATE MATERIALIZED VIEW copy AS SELECT * FROM plain",
        "CREATE UNIQUE INDEX ON copy (id)",
        "CREATE VIEW over_plain AS SELECT * FROM plain",
        "CREATE VIEW over_remote AS SELECT * FROM remote",
        "CREATE VIEW over_view AS SELECT v.* FROM over_remote v JOIN plain "
        "USING (id)",
        "CREATE VIEW over_copy AS SELECT * FROM copy",
        ROWS.format("plain"), "REFRESH MATERIALIZED VIEW copy")
    return near


SUBSCRIPTION = "filled by a subscription"
FOREIGN = "is a foreign table"
MATERIALIZED = "is a materialized view"
CASES = (
    ("plain", "timestamp", None), ("plain", "xmin", None),
    ("over_plain", "timestamp", None),
    ("t", "timestamp", SUBSCRIPTION), ("t", "xmin", SUBSCRIPTION),
    ("p", "timestamp", SUBSCRIPTION), ("p1", "xmin", SUBSCRIPTION),
    ("remote", "timestamp", FOREIGN), ("parts", "timestamp", FOREIGN),
    ("over_view", "timestamp", FOREIGN),
    ("copy", "timestamp", MATERIALIZED), ("copy", "xmin", MATERIALIZED),
    ("over_copy", "timestamp", MATERIALIZED),
)


@pytest.mark.parametrize("table,strategy,why", CASES)
def test_writers_elsewhere(tidemark, sets, make_destination, table, strategy,
                           why):
    destination = make_destination("sqlite")
    mark = {"strategy": strategy}
    if strategy == "timestamp":
        mark["column"] = "at"
    tidemark.connect("source", sets.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", source={"connection": "source",
                                       "table": f"public.{table}"},
                      destination={"connection": "warehouse",
                                   "table": "main.items"},
                      key=["id"], watermark=mark).write_config()
    found = {each["code"]: each for each in
             tidemark("check", "--json").pipeline()["problems"]}
    result = tidemark.run().pipeline()
    if why is None:
        assert result["guarantee"] == "exact", result["guarantee_reason"]
        assert "rows-from-elsewhere" not in found
        return
    assert result["guarantee"] == "lag", result
    assert why in result["guarantee_reason"], result["guarantee_reason"]
    problem = found["rows-from-elsewhere"]
    assert why in problem["message"] and problem["fix"], problem
    assert ("watermark.lag" in problem["fix"]) == (strategy != "xmin"), problem


def test_sequence_of_a_foreign_table(tidemark, sets, make_destination):
    destination = make_destination("sqlite")
    tidemark.connect("source", sets.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", source={"connection": "source",
                                       "table": "public.remote"},
                      destination={"connection": "warehouse",
                                   "table": "main.items"},
                      key=["id"], watermark={"strategy": "sequence",
                                             "column": "id"}).write_config()
    result = tidemark.run().pipeline()
    assert result["guarantee"] == "lag", result
    assert FOREIGN in result["guarantee_reason"], result

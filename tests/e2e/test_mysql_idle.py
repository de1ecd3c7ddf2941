"""A pass over an idle table of MySQL or MariaDB opens no page: the server says
that no row lies behind the mark. It has to say so of each kind of key."""

import pytest

import workload

# The type of a key, and two values in their order.
KEYS = {
    "number": ("bigint", "-7", "4"),
    "unsigned": ("bigint unsigned", "1", "18446744073709551615"),
    "decimal": ("decimal(30, 6)", "-1.5", "0.000001"),
    "text": ("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
             "'a'", "'B'"),
    "quoted": ("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
               "'a?;B'", r"'a?;\\''c'"),
    "bytes": ("varbinary(8)", "X'0010'", "X'FF00'"),
    "time": ("datetime(3)", "'2020-01-01 00:00:00.001'",
             "'2020-01-01 00:00:00.002'"),
    "two": ("bigint", "1", "2"),
}
AT = "'2024-03-01 00:00:00.25'"


@pytest.mark.parametrize("engine", ["mariadb", "mysql"])
@pytest.mark.parametrize("kind", KEYS)
def test_a_row_that_ties_with_the_mark(engine, kind, make_mysql, make_database,
                                       tidemark):
    source, destination = make_mysql(engine), make_database("warehouse")
    column, first, second = KEYS[kind]
    key = "id, `n?;`" if kind == "two" else "id"
    source.execute(
        f"CREATE TABLE t (id {column} NOT NULL, `n?;` int NOT NULL,"
        " at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),"
        f" PRIMARY KEY ({key}), KEY (at))",
        f"INSERT INTO t VALUES ({first}, 1, {AT})")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "t", source={"connection": "source", "table": f"{source.schema}.t"},
        destination={"connection": "warehouse", "table": "public.t"},
        watermark={"strategy": "timestamp", "column": "at"})
    tidemark.write_config()
    read = [tidemark.run().pipeline()["rows_read"] for _ in range(2)]
    assert read == [1, 0]
    other = f"({first}, 2, {AT})" if kind == "two" else f"({second}, 1, {AT})"
    source.execute(f"INSERT INTO t VALUES {other}")
    read = [tidemark.run().pipeline()["rows_read"] for _ in range(2)]
    assert read == [1, 0]
    assert destination.query("SELECT count(*) FROM public.t") == [(2,)]


@pytest.mark.parametrize("engine", ["mariadb", "mysql"])
@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
def test_a_row_of_a_transaction_that_was_open(engine, strategy, make_mysql,
                                              make_database, tidemark):
    """It shows to no look as long as it is open, and then to the next."""
    source, destination = make_mysql(engine), make_database("warehouse")
    workload.create_items(source, rows=5)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    column = {"timestamp": "updated_at", "sequence": "seq"}[strategy]
    tidemark.pipeline(
        "t",
        source={"connection": "source", "table": f"{source.schema}.items"},
        destination={"connection": "warehouse", "table": "public.items"},
        watermark={"strategy": strategy, "column": column})
    tidemark.write_config().run()
    with source.connect() as late, late.cursor() as cursor:
        late.autocommit(False)
        cursor.execute("UPDATE items SET name = 'late', seq = seq + 100,"
                       " updated_at = NOW(6) WHERE id = 2")
        assert tidemark.run().pipeline()["rows_read"] == 0
        late.commit()
    assert tidemark.run().pipeline()["rows_read"] == 1
    assert destination.query(
        "SELECT name FROM public.items WHERE id = 2") == [("late",)]

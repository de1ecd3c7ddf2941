"""The judge itself: it must see each kind of difference."""

import pytest

import oracle
import workload
from canon import canon_row, parse_instant, rows_digest, split_table

COLUMNS = {"id": "int", "name": "text", "amount": "decimal"}


@pytest.fixture
def pair(make_database):
    left, right = make_database("left"), make_database("right")
    for end in (left, right):
        end.execute("CREATE TABLE t (id int, name text, amount numeric)",
                    "INSERT INTO t VALUES (1, 'a', 1.10), (2, NULL, NULL)")
    return left, right


def check(pair):
    oracle.check_equal(*pair, "t", "public.t", COLUMNS)


def test_equal_sides_pass(pair):
    pair[1].execute("UPDATE t SET amount = 1.1 WHERE id = 1")
    check(pair)


@pytest.mark.parametrize("sql", (
    "DELETE FROM t WHERE id = 2",
    "INSERT INTO t VALUES (3, 'c', 3)",
    "INSERT INTO t SELECT * FROM t",
    "UPDATE t SET name = '' WHERE id = 2",
    "UPDATE t SET amount = 1.11 WHERE id = 1",
    "UPDATE t SET id = 3 - id",
    'CREATE TABLE "_tidemark_stage_1" (id int)',
))
def test_each_difference_is_seen(pair, sql):
    pair[1].execute(sql)
    with pytest.raises(AssertionError):
        check(pair)


def test_an_open_session_is_seen(pair):
    with pair[1].connect(application_name="tidemark"):
        with pytest.raises(AssertionError, match="sessions left open"):
            check(pair)


def test_a_lost_row_below_the_mark_is_seen(source, make_database):
    destination = make_database("other")
    for end in (source, destination):
        workload.create_items(end, rows=20)
    mark = {"strategy": "sequence", "column": "seq", "value": "15"}
    arguments = (source, destination, "items", "public.items", oracle.ITEMS,
                 mark)
    destination.execute("DELETE FROM items WHERE id > 14")
    oracle.check_covered(*arguments)
    destination.execute("UPDATE items SET quantity = -1 WHERE id = 3")
    with pytest.raises(AssertionError, match="below the mark"):
        oracle.check_covered(*arguments)


def test_a_mark_from_nowhere_is_seen(source):
    workload.create_items(source, rows=20)
    with pytest.raises(AssertionError, match="past every row"):
        oracle.check_mark(source, "items", oracle.ITEMS, {
            "strategy": "timestamp", "column": "updated_at",
            "value": "2099-01-01 00:00:00+00"})


def test_canonical_values():
    kinds = ("decimal", "float", "float", "timestamptz", "json")
    assert canon_row(("1.10", float("nan"), None, "2024-01-01T00:00:00Z",
                      '{"b":1,"a":2}'), kinds) == canon_row(
        (1.1, float("nan"), None, "2024-01-01 01:00:00+01", {"a": 2, "b": 1}),
        kinds)
    assert canon_row((0.0,), ("float",)) != canon_row((-0.0,), ("float",))
    assert parse_instant("infinity") != parse_instant("-infinity")
    assert rows_digest([(1,), (2,)]) == rows_digest([(2,), (1,)])
    assert rows_digest([(1,)]) != rows_digest([(1,), (1,)])
    assert split_table('a."b.c ""x"""') == ["a", 'b.c "x"']

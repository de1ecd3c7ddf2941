"""Servers lie to the sanitized build. Whatever they answer, the process ends
with a status of its own. It loads no row that was not there, and tells nobody a
password."""

import pytest

from bench import EXIT_ACCESS, EXIT_OK
from prey import LIES, TALKERS, Results, cast
from rogue import COPY_HEADER, Mutations, pg_fields, pg_row


def a_field_more(fields):
    return [*fields, fields[-1]]


def a_field_less(fields):
    return fields[:-1]


@pytest.mark.parametrize("alter", (a_field_more, a_field_less))
def test_rows_of_another_width(prey, alter):
    """A binary COPY. A field too many was written behind the last column; one
    too few left the value of the row before."""
    def lie(kind, body):
        if kind == b"d" and len(body) > 30:
            head = COPY_HEADER if body.startswith(COPY_HEADER) else b""
            body = head + pg_row(alter(pg_fields(body[len(head):])))
        yield kind, body

    it = prey(lie)
    done = it.run()
    assert done.code == EXIT_ACCESS, done
    assert "columns" in done.pipeline()["error"]["message"], done
    assert it.loaded() == 0


def cut(body):
    return body[:-6]


def stretched(body):
    return body + body[-6:]


@pytest.mark.parametrize("alter", (cut, stretched))
@pytest.mark.parametrize("engine", ("mariadb", "mysql"))
def test_rows_of_another_length(prey, engine, alter):
    """A row of a prepared statement is shorter, or longer, than its columns."""
    altered = []

    def lie(body):
        if body[:1] != b"\0" or len(body) < 60:
            return body
        altered.append(body)
        return alter(body)

    it = prey(lambda columns, rows: (columns, rows), source=engine)
    it.rogue.alter = lie
    it.run()
    assert altered
    # A row that was announced too long holds all the announced bytes.
    assert it.loaded() == 0 or alter is stretched


def clickhouse_head(body):
    """(names and types, the rows behind them)"""
    at, texts = 1, []
    for _ in range(2 * body[0]):
        texts.append(body[at:at + 1 + body[at]])
        at += 1 + body[at]
    return texts[:body[0]], texts[body[0]:], body[at:]


@pytest.mark.parametrize("alter", (a_field_more, a_field_less))
def test_heads_of_another_width(prey, alter):
    """ClickHouse announces more columns than the rows have, or fewer."""
    altered = []

    def lie(_, body):
        if b"\0" not in body or b"updated_at" not in body[:200]:
            return body
        names, types, rows = clickhouse_head(body)
        altered.append(names)
        return b"".join((bytes([len(alter(names))]), *alter(names),
                         *alter(types), rows))

    it = prey(lie, source="clickhouse")
    done = it.run()
    assert altered and done.code != EXIT_OK, done
    assert it.loaded() == 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize("alter", LIES)
@pytest.mark.parametrize("engine, part", TALKERS)
def test_answers_of_another_shape(prey, full, engine, part, alter):
    """Each small answer in turn: a column too few, no rows, nothing but NULL,
    texts that are no numbers."""
    results = Results(alter)
    lie = getattr(results, {"mariadb": "mysql"}.get(engine, engine))
    it = prey(lie, **cast(engine, part))
    it.run()
    answers = range(2, 60) if full else range(2, 40, 5)
    for n in answers:
        results.only = n
        results.begin()
        it.run()
        it.loaded()
        if results.n < n:
            break


@pytest.mark.thinned(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("engine, part", (
    *TALKERS, ("bigquery", "warehouse")))
def test_altered_bytes(prey, full, engine, part, seed):
    """A real conversation in which some bytes have changed. Changed bytes of
    values are loaded: nobody can tell them from others."""
    mutate = Mutations(0)

    def of_postgres(kind, body):
        yield kind, body if kind in b"RKZ" else mutate(body)

    def of_http(_, body):
        return mutate(body)

    it = prey({"postgres": of_postgres}.get(engine, of_http),
              **cast(engine, part))
    if engine in ("mariadb", "mysql"):
        it.rogue.lie = lambda columns, rows: (columns, rows)
        it.rogue.alter = lambda body: mutate(body)
    for round_ in range(40 if full else 2):
        mutate.__init__(1000 * seed + round_)
        it.run()

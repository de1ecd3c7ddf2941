"""Every type of every source into every destination: the type that it gets,
what `check` calls that, and each edge value as the destination's own client
reads it. The table is in from_*.py; docs/types.md is written from it."""

from bench import EXIT_DATA, written
from sides import REFUSED_KEY, TABLE, ZEROS
from table import Refused, same


def report(problems):
    assert not problems, "\n" + "\n".join(problems)


def test_declared_type(pair):
    """The catalog of the destination has the type of the table, and `check`
    says so, and what the mapping is."""
    declared, _ = pair.read(TABLE)
    problems = []
    for column in pair.source.columns:
        landing = column.landing(pair.destination)
        told = pair.checked[column.name]
        for what, expected, found in (
                ("type in the catalog", landing.type, declared[column.name]),
                ("type in check", landing.type, told["destination_type"]),
                ("mapping", landing.mapping, told["mapping"])):
            if expected != found:
                problems.append(f"{column.declared}: {what}: expected "
                                f"{expected}, found {found}")
    report(problems)


def differences(pair, table):
    """What does not lie there as it was written down."""
    _, rows = pair.read(table)
    assert [row["id"] for row in rows] == list(range(pair.source.n_rows()))
    for column in pair.source.columns:
        landing = column.landing(pair.destination)
        for row in rows if column.name in rows[0] else ():
            value = column.in_row(row["id"])
            literal = value and landing.expected(value.at(pair.destination))
            found = row[column.name]
            if not same(literal, found):
                yield (f"{table}: {column.declared}: {value and value.sql}: "
                       f"expected {literal!r:.200}, found {found!r:.200}")


def test_values(pair):
    """Each value is found as it was written down, in every mode."""
    for table in pair.targets:
        assert pair.results[table]["error"] is None, pair.results[table]
        report(list(differences(pair, table)))


def test_refused_values(pair):
    """What has no equal there ends the run with the table, the column and the
    key; where it has one, it arrives."""
    problems = []
    for table, column, value in pair.source.refused():
        expected = value.at(pair.destination)
        error = pair.results[table]["error"]
        if isinstance(expected, Refused):
            words = (table, column.name, f"id={REFUSED_KEY}", expected.words)
            message = error["message"] if error else "no error"
            if not error or error["exit_code"] != EXIT_DATA or \
                    not all(word in message for word in words):
                problems.append(f"{column.declared}: {value.sql}: {error}, "
                                f"expected {words}")
        else:
            literal = column.landing(pair.destination).expected(expected)
            found = [row[column.name] for row in pair.read(table)[1]]
            if len(found) != 1 or not same(literal, found[0]):
                problems.append(f"{column.declared}: {value.sql}: expected "
                                f"{literal!r}, found {found!r}: {error}")
    report(problems)


def test_zero_dates_as_null(pair):
    """What is refused by default is NULL if the config says so."""
    nulled = [column.name for column, _ in pair.source.nulled()]
    if not nulled:
        return
    assert pair.results[ZEROS]["error"] is None, pair.results[ZEROS]
    rows = pair.read(ZEROS)[1]
    assert len(rows) > 1
    for row in rows:
        assert [row[name] for name in nulled] == [None] * len(nulled)


def read_again(pair):
    pair.tidemark("watermark", "reset", TABLE).expect(0)
    again = pair.tidemark.run(TABLE).pipeline()
    assert again["rows_read"] == pair.source.n_rows()
    return again


def test_read_again(pair):
    """Nothing differs from itself when it comes a second time. What differs
    is seen, and put right: the way of a changed row is not that of a new
    one."""
    again = read_again(pair)
    assert written(again) == 0, again
    pair.spoil(TABLE)
    again = read_again(pair)
    assert (again["rows_inserted"], again["rows_updated"]) == (
        1, pair.source.n_rows() - 2), again
    report(list(differences(pair, TABLE)))

"""Every type of every source into every destination. The tests look at the type
that it gets, and at the word of `check` for that. The destination's own client
reads each edge value. The table is in from_*.py, and docs/types.md is written
from it."""

import pytest

from bench import EXIT_DATA, written
from sides import TABLE, ZEROS, refused_table
from table import SPECIAL, same


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
    """Values that are not stored as the table has them."""
    _, rows = pair.read(table)
    assert [row["id"] for row in rows] == pair.keys
    for column in pair.source.columns:
        landing = column.landing(pair.destination)
        for row in rows if column.name in rows[0] else ():
            value = pair.source.cell(row["id"], column)
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


@pytest.mark.thinned(2)
def test_verify_finds_them_equal(pair):
    """Whatever the two engines call a type."""
    done = pair.tidemark("verify", "--json", "--show-values", *pair.targets)
    problems = [f"{each['pipeline']}: {each['error']}: "
                f"{str(each['examples'])[:2000]}"
                for each in done.json()["pipelines"]
                if not each["equal"] or each["unsettled"]
                or each["checksum_source"] != each["checksum_destination"]]
    report(problems)


@pytest.mark.thinned(2)
def test_refused_values(pair):
    """A value without an equal there ends the run, and table, column and key
    are named."""
    problems = []
    for key in pair.refused:
        column, value = pair.source.special[key - SPECIAL]
        error = pair.results[refused_table(key)]["error"] or {
            "message": "no error", "exit_code": 0}
        message = error["message"]
        words = (column.name, f"id={key}", value.at(pair.destination).words)
        if error["exit_code"] != EXIT_DATA \
                or not all(word in message for word in words) \
                or not (f".{TABLE}" in message
                        or f".{refused_table(key)}" in message):
            problems.append(f"{column.declared}: {value.sql}: expected a "
                            f"table and {words}, found: {message}")
    report(problems)


def test_zero_dates_as_null(pair):
    """A value that is refused by default is NULL if the config says so."""
    nulled = pair.source.nulled()
    if not nulled:
        return
    assert pair.results[ZEROS]["error"] is None, pair.results[ZEROS]
    rows = pair.read(ZEROS)[1]
    assert [row.pop("id") for row in rows] == nulled
    for row in rows:
        row.pop("updated_at")
        assert row and set(row.values()) == {None}, row


def read_again(pair):
    pair.tidemark("watermark", "reset", TABLE).expect(0)
    again = pair.tidemark.run(TABLE).pipeline()
    assert again["rows_read"] == len(pair.keys)
    return again


@pytest.mark.thinned(2)
def test_read_again(pair):
    """A row that comes a second time does not differ from itself. A row that
    does differ is seen and put right: a changed row goes another way than a new
    one."""
    again = read_again(pair)
    assert written(again) == 0, again
    pair.spoil(TABLE)
    again = read_again(pair)
    assert (again["rows_inserted"], again["rows_updated"]) == (
        1, len(pair.keys) - 2), again
    report(list(differences(pair, TABLE)))

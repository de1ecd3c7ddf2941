"""docs/types.md, written from the fidelity table: `page.py --write`."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from sources import SOURCES  # noqa: E402
from table import (DESTINATIONS, EXACT, TITLES, Refused,  # noqa: E402
                   Spelt)

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/types.md"
LONGEST = 48

HEAD = """\
# Types

You want to know how each column of your source arrives. Find the source below,
and then the type. `tidemark check` tells the same for the columns of a table of
yours.

This page is written from the table in `tests/fidelity`
(`tests/fidelity/page.py --write`). The tests sync every value below, and read it
back with the destination's own client. They compare numbers by digits, floats by
bits, texts and bytes byte for byte, and times to the microsecond.

- No word behind a type: **exact**, the destination's type holds the same
  values.
- **widened**: it holds all of them, and more, or in another form: text of a
  number is no number to the destination's SQL.
- **lossy**: it cannot hold all of them. Such a column is refused (exit code
  4). No type below is lossy, but an existing table's column may be.

SQLite has no type for many values, and holds them as text in forms that sort and
that its date functions read. Examples are `2024-02-29`, `23:59:59.999999` and
`2024-02-29 23:59:59.5`. Instants are in UTC: `2024-02-29 23:59:59.5+00:00`. Years
before 1 end in `BC`. A type that only the source's engine has arrives in its own
notation.

ClickHouse's columns are `Nullable`, but for the key's. It has one type for
texts and bytes, and none for a wall clock. A timestamp without a time zone is
kept as if it were UTC's. The column's comment says which it is.

BigQuery's JSON knows no order of members, no spaces, and one way to write a
number. The content of a text stays the same, and texts are compared by content.
The BigQuery of these tests is a front of our own over DuckDB (`tests/fakes`). It
shows which type a column gets, in which form a value is sent, and which values
are refused before they are sent. It also shows that answers of the API are read
as they are meant.

For some values only the documentation of BigQuery says that the service takes
and keeps them. Such are numbers beyond 38 digits, which are text to the front,
U+0000 in a text, and the smallest floats. As a source it has only such values as
the front can hold. [engines/bigquery.md](engines/bigquery.md#types) tells how
its structs and places arrive.

A value that a destination has no room for is never changed or left out. The
run ends with exit code 5 and names the table, the column and the row's key.
"""


def code(text):
    if len(text) > LONGEST:
        text = text[:LONGEST - 8] + "…"
    return "`" + text.replace("|", "\\|") + "`"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def landing(column, destination):
    found = column.landing(destination)
    word = "" if found.mapping == EXACT else " " + found.mapping
    return code(found.type) + word


def columns_table(source):
    head = [f"in {TITLES[source.name]}", *map(TITLES.get, DESTINATIONS),
            "tested with"]
    return table(head, [
        [code(column.declared),
         *(landing(column, destination) for destination in DESTINATIONS),
         ", ".join(code(value.sql) for value in column.values
                   if not column.every)]
        for column in source.columns])


def outcome(source, value, destination):
    """A note about a value at a destination; None: it just arrives."""
    found = value.at(destination)
    if isinstance(found, Refused):
        return "refused" + (", or NULL with `zero_dates: null`"
                            if found.nulled else "")
    if found is value.expected or isinstance(found, Spelt):
        return None
    return "arrives as " + code(repr(found))


def exceptions_table(source):
    rows = []
    for column in source.columns:
        for value in column.values:
            told = {destination: outcome(source, value, destination)
                    for destination in DESTINATIONS}
            if len(set(told.values())) == 1 and None not in told.values():
                told = {"": told[DESTINATIONS[0]]}
            rows += [[code(column.declared), code(value.sql),
                      TITLES.get(destination, "all"), text]
                     for destination, text in told.items() if text]
    return table(["type", "value", "destination", ""], rows)


def notes(source):
    return "".join(f"- {code(column.declared)}: {column.note}.\n"
                   for column in source.columns if column.note) + "\n"


def page():
    parts = [HEAD]
    for source in SOURCES.values():
        title = TITLES[source.name]
        parts += [f"\n## From {title}\n\n", columns_table(source),
                  notes(source), f"From {title}, these differ:\n\n",
                  exceptions_table(source)]
    return "".join(parts).rstrip("\n") + "\n"


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: page.py --write")
    PAGE.write_text(page(), encoding="utf-8")

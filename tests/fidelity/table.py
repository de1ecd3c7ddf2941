"""What the fidelity table is made of: columns of a source, where each lands
in every destination, and values with what must be found there.

Nothing here is worked out from what Tidemark does: landings and expected
values are literals. A `form` says how a literal is spelt at one destination
(an instant behind which SQLite holds "+00:00"), never what it is.
"""

import copy
import re
import struct
from typing import Callable, NamedTuple, Optional

DESTINATIONS = ("postgres", "sqlite", "duckdb")
TITLES = {"postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL",
          "sqlite": "SQLite", "duckdb": "DuckDB"}
EXACT, WIDENED, LOSSY = "exact", "widened", "lossy"


class Landing(NamedTuple):
    """The type of a column at one destination."""

    type: str
    mapping: str = EXACT
    form: Optional[Callable] = None

    def expected(self, literal):
        if literal is None or self.form is None:
            return literal
        return self.form(literal)


class Refused(NamedTuple):
    """The run ends with exit 5, naming table, column and key, and this.
    `nulled`: it is NULL under `zero_dates: null`."""

    words: str
    nulled: bool = False


class Spelt(str):
    """The same value, as the client of one destination prints it."""


class Value:
    """SQL of the source, and the literal that is found at a destination:
    `expected`, or what is said for that destination by name. `only`: the
    servers of a family that can hold it."""

    def __init__(self, sql, expected, only=None, **elsewhere):
        self.sql, self.expected, self.elsewhere = sql, expected, elsewhere
        self.only = only

    def at(self, destination):
        return self.elsewhere.get(destination, self.expected)

    def is_refused(self):
        return any(isinstance(each, Refused) for each in
                   (self.expected, *self.elsewhere.values()))


class Column:
    """A type as the source declares it. `every`: each row holds the one
    value (generated columns). `only`: the servers of a family that have it.
    `native`: the source's engine alone has such a type. `note`: a sentence for
    people."""

    # pylint: disable-next=too-many-arguments
    def __init__(self, declared, landings, *values, every=False, only=None,
                 native=False, note=None, name=None):
        self.declared, self.landings = declared, landings
        self.values = [each if isinstance(each, Value) else Value(*each)
                       for each in values]
        self.every, self.only = every, only
        self.native, self.note = native, note
        self.name = name or re.sub(r"[^a-z0-9]+", "_",
                                   declared.lower().replace("[]", " array")
                                   ).strip("_")[:50]

    def of(self, source):
        """What one server of the family has of it."""
        column = copy.copy(self)
        column.values = [each for each in self.values
                         if each.only is None or source in each.only]
        return column

    def landing(self, destination):
        return self.landings[destination]

    def kept(self):
        return [value for value in self.values if not value.is_refused()]

    def refused(self):
        return [value for value in self.values if value.is_refused()]

    def nulled(self):
        return [value for value in self.values
                if isinstance(value.expected, Refused)
                and value.expected.nulled]

    def in_row(self, row):
        """The value in row `row` of the table; None: NULL."""
        kept = self.kept()
        if self.every:
            return kept[0]
        return kept[row] if row < len(kept) else None


class Source:
    """All that is known of one source."""

    def __init__(self, name, columns, preparation=()):
        self.name, self.preparation = name, preparation
        self.columns = [each.of(name) for each in columns
                        if each.only is None or name in each.only]
        names = [each.name for each in self.columns]
        twice = {each for each in names if names.count(each) > 1}
        assert not twice, f"{name}: columns of one name: {twice}"

    def n_rows(self):
        """As many as the longest column has values, and one of NULLs."""
        return 1 + max(len(each.kept()) for each in self.columns)

    def refused(self):
        """(name of a table, column, value) of what cannot go everywhere."""
        return [(f"refused_{number}", column, value)
                for number, (column, value) in enumerate(
                    (column, value) for column in self.columns
                    for value in column.refused())]

    def nulled(self):
        """(column, values) of what `zero_dates: null` makes NULL."""
        return [(column, column.nulled()) for column in self.columns
                if column.nulled()]


def f4(bits):
    """The float with these bits, as the double that equals it."""
    return struct.unpack(">f", struct.pack(">I", bits))[0]


def same(expected, found):
    """Equal in type and to the last bit."""
    if isinstance(expected, float) and isinstance(found, float):
        if expected != expected:
            return found != found
        return struct.pack(">d", expected) == struct.pack(">d", found)
    if isinstance(expected, Spelt):
        expected = str(expected)
    return type(expected) is type(found) and expected == found

"""The parts of the fidelity table: columns of a source, where each lands in
every destination, and values with the ones to be found there.

Nothing here is computed from Tidemark's behaviour: landings and expected values
are literals. A `form` says how a literal is spelt at one destination (an
instant behind which SQLite holds "+00:00"). It never says which value it is.
"""

import copy
import decimal
import json
import re
import struct
from typing import Callable, NamedTuple, Optional

DESTINATIONS = ("postgres", "mariadb", "mysql", "sqlite", "duckdb",
                "clickhouse", "bigquery")
TITLES = {"postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL",
          "sqlite": "SQLite", "duckdb": "DuckDB", "clickhouse": "ClickHouse",
          "bigquery": "BigQuery"}
EXACT, WIDENED, LOSSY = "exact", "widened", "lossy"
# Keys of the rows with a value that is refused somewhere.
SPECIAL = 1000


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
    `nulled`: it is NULL when the config says `zero_dates: null`."""

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
        """The column as one server of the family has it."""
        column = copy.copy(self)
        column.values = [each for each in self.values
                         if each.only is None or source in each.only]
        return column

    def landing(self, destination):
        return self.landings[destination]

    def kept(self):
        return [value for value in self.values if not value.is_refused()]


class Source:
    """All that is known of one source."""

    def __init__(self, name, columns, preparation=()):
        self.name, self.preparation = name, preparation
        self.columns = [each.of(name) for each in columns
                        if each.only is None or name in each.only]
        names = [each.name for each in self.columns]
        twice = {each for each in names if names.count(each) > 1}
        assert not twice, f"{name}: columns of one name: {twice}"

        self.special = [(column, value) for column in self.columns
                        for value in column.values if value.is_refused()]
        self.n_plain = 1 + max(len(each.kept()) for each in self.columns)

    def cell(self, key, column):
        """The value of a column in the row with that key; None: NULL. The n-th
        row has the n-th value of each column, and the last of these rows has
        NULLs alone. Behind them each value that is refused somewhere has a row
        for itself."""
        kept = column.kept()
        if column.every:
            return kept[0]
        if key >= SPECIAL:
            own, value = self.special[key - SPECIAL]
            return value if own is column else None
        return kept[key] if key < len(kept) else None

    def keys(self):
        return [*range(self.n_plain), *self.special_keys()]

    def special_keys(self):
        return range(SPECIAL, SPECIAL + len(self.special))

    def refused_at(self, destination):
        """Keys of the rows that have no equal there."""
        return [key for key in self.special_keys()
                if isinstance(self.special[key - SPECIAL][1].at(destination),
                              Refused)]

    def nulled(self):
        """Keys of the rows whose value `zero_dates: null` makes NULL."""
        return [key for key in self.special_keys()
                if getattr(self.special[key - SPECIAL][1].expected, "nulled",
                           False)]


def f4(bits):
    """The float with these bits, as the double that equals it."""
    return struct.unpack(">f", struct.pack(">I", bits))[0]


def json_value(text):
    """The content of a JSON text: without the order of its members, and each
    number by its digits."""
    def number(digits):
        return str(decimal.Decimal(digits).normalize())

    return json.dumps(json.loads(text, parse_int=number, parse_float=number),
                      sort_keys=True)


def same(expected, found):
    """Equal in type and to the last bit."""
    if isinstance(expected, float) and isinstance(found, float):
        if expected != expected:
            return found != found
        return struct.pack(">d", expected) == struct.pack(">d", found)
    if isinstance(expected, Spelt):
        expected = str(expected)
    return type(expected) is type(found) and expected == found

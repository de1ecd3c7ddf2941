"""Pipelines of the sanitized build for a lying server to hurt, and the lies."""

import json
import struct

import bigquery_servers
from bad_days import HASTY
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK,
                   EXIT_SCHEMA, EXIT_STATE, PASSWORD_VARIABLE, Tidemark,
                   password_connection, sync_items)
from oracle import ITEMS
from rogue import in_front_of, pg_columns, pg_fields, pg_row
from servers import CANARY

# A lie may look like trouble of each of these kinds, never like a bug of ours.
CLEAN = (EXIT_OK, EXIT_CONFIG, EXIT_ACCESS, EXIT_SCHEMA, EXIT_DATA, EXIT_STATE,
         EXIT_DIFFERENT)
# A length that no memory has is refused as malloc() refuses it.
STRICT = ("halt_on_error=1:abort_on_error=1:detect_leaks=0"
          ":allocator_may_return_null=1")


class Prey:
    """A pipeline that reads from a server that lies, loads into one, or keeps
    its state there."""

    def __init__(self, binary, work_dir, source, destination, part, end, lie,
                 silence="1s"):
        self.source, self.destination = source, destination
        self.rogue = in_front_of(end, lie)
        self.urls = [source.url(), destination.url()]
        if part != "state":
            with_password = self.rogue.url(end).replace(
                "@", ":${%s}@" % PASSWORD_VARIABLE)
            self.urls["source warehouse".split().index(part)] = with_password
        self.tidemark = sync_items(Tidemark(binary, work_dir), source,
                                   destination, "timestamp", key=["id"],
                                   retry={**HASTY, "attempts": 1})
        connection = {**password_connection(self.rogue.url(end)),
                      "timeout": {"silence": silence}}
        if part == "state":
            self.tidemark.top["state"] = connection
        else:
            self.tidemark.connect(part, connection)
        self.tidemark.env.update(ASAN_OPTIONS=STRICT, UBSAN_OPTIONS=STRICT)
        if end.engine == "bigquery":  # its URL has no host
            self.tidemark.env[bigquery_servers.HOST] = \
                f"127.0.0.1:{self.rogue.port}"
        self.tidemark.write_config()

    def run(self, *args):
        done = self.tidemark(*(args or ("run", "--json")), timeout=90)
        assert done.code in CLEAN, done
        assert "Sanitizer" not in done.err, done
        assert "runtime error" not in done.err, done
        assert CANARY.encode() not in self.rogue.heard
        return done

    def command(self, name):
        """Its arguments, by the config or with URLs."""
        state = self.tidemark.top["state"]
        return {
            "copy": ("copy", *self.urls, "--table",
                     f"{self.source.schema}.items", "--to",
                     f"{self.destination.schema}.items", "--watermark",
                     "timestamp:updated_at", "--key", "id", "--state",
                     state if isinstance(state, str) else
                     f"sqlite:{self.tidemark.dir}/copy.db"),
            "init": ("init", *self.urls, "--stdout"),
        }.get(name, (name, "--json"))

    def loaded(self):
        """How many rows have arrived, all of them rows of the source."""
        tables = self.destination.tables()
        if "items" not in tables:
            return 0
        rows = self.destination.rows(f"{self.destination.schema}.items", ITEMS)
        truth = self.source.rows("items", ITEMS)
        assert all(row in truth for row in rows), rows
        return len(rows)


class Results:
    """Alters the results of one number, or of all."""

    def __init__(self, alter, only=None):
        self.alter, self.only = alter, only
        self.begin()

    def begin(self):
        self.n = -1
        self.copies = False

    def postgres(self, kind, body):
        if kind == b"T":
            self.n += 1
        if kind not in (b"T", b"D") or self.only not in (None, self.n):
            yield kind, body
        elif kind == b"T":
            columns = self.alter(pg_columns(body), True)
            yield kind, struct.pack("!h", len(columns)) + b"".join(columns)
        else:
            fields = self.alter(pg_fields(body), False)
            if fields is not None:
                yield kind, pg_row(fields)

    def mysql(self, columns, rows):
        self.n += 1
        if self.only not in (None, self.n):
            return columns, rows
        altered = [self.alter(row, False) for row in rows]
        return (self.alter(columns, True),
                [row for row in altered if row is not None])

    def clickhouse(self, _, body):
        if not body or b"\0" in body:  # rows, not a table of text
            return body
        self.n += 1
        if self.only not in (None, self.n):
            return body
        rows = [self.alter(line.split(b"\t"), False)
                for line in body.removesuffix(b"\n").split(b"\n")]
        return b"".join(b"\t".join(b"\\N" if cell is None else cell
                                   for cell in row) + b"\n"
                        for row in rows if row is not None)

    def bigquery(self, _, body):
        answer = json.loads(body or b"null")
        if not isinstance(answer, dict) or "schema" not in answer:
            return body
        self.n += 1
        if self.only not in (None, self.n):
            return body
        fields = answer["schema"].get("fields", [])
        answer["schema"]["fields"] = self.alter(fields, True)
        rows = [self.alter([cell["v"] for cell in row["f"]], False)
                for row in answer.get("rows", [])]
        if "rows" in answer:
            answer["rows"] = [
                {"f": [{"v": cell.decode("latin-1")
                        if isinstance(cell, bytes) else cell} for cell in row]}
                for row in rows if row is not None]
        return json.dumps(answer).encode()


def fewer(cells, _):
    return cells[:-1]


def none(cells, head):
    return cells if head else None


def nulls(cells, head):
    return cells if head else [None] * len(cells)


def noise(cells, head):
    return cells if head else [b"-99999999999999999999(\xff',"] * len(cells)


def narrow(cells, head):
    return cells if head else cells[:-1]


def wide(cells, head):
    return cells if head else [*cells, *cells[-1:]]


LIES = (fewer, none, nulls, noise, narrow, wide)
TALKERS = (("postgres", "source"), ("mariadb", "source"), ("mysql", "source"),
           ("postgres", "warehouse"), ("mariadb", "warehouse"),
           ("mysql", "warehouse"), ("clickhouse", "warehouse"),
           ("clickhouse", "source"), ("bigquery", "source"),
           ("bigquery", "warehouse"), ("postgres", "state"))


def cast(engine, part):
    """The parameters of prey() that give a part to an engine."""
    role = "destination" if part == "warehouse" else "source"
    return {role: "sqlite" if part == "state" else engine, "part": part}

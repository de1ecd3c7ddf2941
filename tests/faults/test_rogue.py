"""Servers that lie, in front of the sanitized build: whatever they answer, the
process ends with a status of its own, loads no row that was not there, and
tells nobody a password."""

import json
import socket
import struct

import pytest

import bigquery_servers
import workload
from bad_days import HASTY
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_SCHEMA,
                   EXIT_STATE, EXIT_STOPPED, Tidemark, password_connection, sync_items)
from oracle import ITEMS
from rogue import (COPY_HEADER, Mutations, in_front_of, pg_columns, pg_fields,
                   pg_row)
from servers import CANARY

# A lie may look like trouble of each of these kinds, never like a bug of ours.
CLEAN = (EXIT_OK, EXIT_CONFIG, EXIT_ACCESS, EXIT_SCHEMA, EXIT_DATA, EXIT_STATE)
# A length that no memory has is refused as malloc() refuses it.
STRICT = ("halt_on_error=1:abort_on_error=1:detect_leaks=0"
          ":allocator_may_return_null=1")
ROWS = 20


# Their rows come from a run of our own.
LOADED = ("clickhouse", "bigquery")


class Prey:
    """A pipeline that reads from a server that lies, loads into one, or keeps
    its state there."""

    def __init__(self, binary, work_dir, source, destination, part, end, lie):
        self.source, self.destination = source, destination
        self.rogue = in_front_of(end, lie)
        self.tidemark = sync_items(Tidemark(binary, work_dir), source,
                                   destination, "timestamp", key=["id"],
                                   retry={**HASTY, "attempts": 1})
        connection = {**password_connection(self.rogue.url(end)),
                      "timeout": {"silence": "1s"}}
        if part == "state":
            self.tidemark.top["state"] = connection
        else:
            self.tidemark.connect(part, connection)
        self.tidemark.env.update(ASAN_OPTIONS=STRICT, UBSAN_OPTIONS=STRICT)
        if end.engine == "bigquery":  # whose URL says no host
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

    def loaded(self):
        """How many rows have arrived, all of them rows of the source."""
        tables = self.destination.tables()
        if "items" not in tables:
            return 0
        rows = self.destination.rows(f"{self.destination.schema}.items", ITEMS)
        truth = self.source.rows("items", ITEMS)
        assert all(row in truth for row in rows), rows
        return len(rows)


@pytest.fixture
def make_filled(tidemark_binary, work_dir, make_source, make_destination):
    """An end with `items` in it."""
    def make(engine):
        end = make_source("sqlite" if engine in LOADED else engine)
        workload.create_items(end, rows=ROWS)
        if engine not in LOADED:
            return end
        loaded = make_destination(engine)
        (work_dir / "filling").mkdir()
        sync_items(Tidemark(tidemark_binary, work_dir / "filling"), end,
                   loaded, "timestamp").run()
        return loaded
    return make


@pytest.fixture
def prey(sanitized_binary, work_dir, make_filled, make_database,
         make_destination):
    made = []

    def make(lie, source="postgres", destination="sqlite", part="source"):
        ends = {"source": make_filled(source),
                "warehouse": make_destination(destination)}
        ends["state"] = make_database("state") if part == "state" else None
        made.append(Prey(sanitized_binary, work_dir, ends["source"],
                         ends["warehouse"], part, ends[part], lie))
        return made[-1]

    yield make
    for each in made:
        each.rogue.__exit__()


def a_field_more(fields):
    return [*fields, fields[-1]]


def a_field_less(fields):
    return fields[:-1]


@pytest.mark.parametrize("alter", (a_field_more, a_field_less))
def test_rows_of_another_width(prey, alter):
    """Of a binary COPY: a field too many was written behind the last column,
    one too few left what the row before had there."""
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


LIES = (fewer, none, nulls, noise)
TALKERS = (("postgres", "source"), ("mariadb", "source"), ("mysql", "source"),
           ("postgres", "warehouse"), ("mariadb", "warehouse"),
           ("mysql", "warehouse"), ("clickhouse", "warehouse"),
           ("clickhouse", "source"), ("bigquery", "source"),
           ("postgres", "state"))


def cast(engine, part):
    """Who takes which part, in the words of prey()."""
    role = "destination" if part == "warehouse" else "source"
    return {role: "sqlite" if part == "state" else engine, "part": part}


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
    """A real conversation, some of whose bytes are others. What bytes of
    values were altered is loaded: nobody can tell them from others."""
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


@pytest.mark.parametrize("engine", ("clickhouse",))
def test_stop_while_it_is_opened(prey, engine):
    """A server that takes the connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        it = prey(lambda _, body: body, destination=engine, part="warehouse")
        it.tidemark.connect("warehouse", password_connection(
            it.destination.url().replace(
                f":{it.rogue.server_port}/",
                f":{silent.getsockname()[1]}/"))).write_config()
        running = it.tidemark.start("run", "--json")
        with silent.accept()[0]:
            running.process.terminate()
            assert running.wait(10).code == EXIT_STOPPED

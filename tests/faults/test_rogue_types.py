"""Type texts of a source that lies: none of their words stands in what a
target is told."""

import json
from urllib.parse import unquote_plus

import pytest

import bigquery_servers
from bad_days import HASTY
from bench import EXIT_OK, EXIT_SCHEMA, Tidemark, password_connection
from rogue import in_front_of, pg_fields, pg_row

# Texts behind the first part of a type's own text, each in a column.
LIES = (
    "); DROP TABLE evil; --",
    ") /* evil */",
    ") -- evil\n",
    ") DEFAULT evil() --",
    "), evil integer, y varchar(1)",
    ", 'evil)",
    ", \"evil)",
    "' || evil || ')",
    "`; evil `)",
    "\\') evil",
)
TYPES = {"postgres": "bit({})", "mariadb": "enum('l{}')",
         "mysql": "enum('l{}')", "clickhouse": "Enum8('l{}' = 1)"}
TABLES = {
    "postgres": "CREATE TABLE items (id bigint PRIMARY KEY, "
                "updated_at timestamptz NOT NULL, {})",
    "mariadb": "CREATE TABLE items (id bigint PRIMARY KEY, "
               "updated_at timestamp(6) NOT NULL, {})",
    "clickhouse": "CREATE TABLE items (id Int64, "
                  "updated_at DateTime64(6, 'UTC'), {}) "
                  "ENGINE = MergeTree ORDER BY id",
}
TABLES["mysql"] = TABLES["mariadb"]
# The file itself says so: SQLite takes any words for a type, and DuckDB any
# for a label or the name of a field.
FILES = {
    "sqlite": ('"varchar(1{}"', '"', '""'),
    "duckdb": ("ENUM('l{}')", "'", "''"),
    "duckdb struct": ('STRUCT("l{}" INTEGER)', '"', '""'),
}
ROW = "INSERT INTO items (id, updated_at) VALUES (1, '2024-03-01 00:00:00')"


def types_of(engine):
    """A type's text as it is -> as the server tells it."""
    true = [TYPES[engine].format(11 + i) for i in range(len(LIES))]
    return {text: text.removesuffix(")") + lie
            for text, lie in zip(true, LIES)}


class Liar:
    """Tells other types than there are; counts them."""

    def __init__(self, engine):
        self.types = {true.encode(): told.encode()
                      for true, told in types_of(engine).items()}
        self.told = set()

    def swap(self, field):
        if field in self.types:
            self.told.add(field)
        return self.types.get(field, field)

    def postgres(self, kind, body):
        if kind == b"D":
            body = pg_row([self.swap(each) for each in pg_fields(body)])
        yield kind, body

    def mysql(self, columns, rows):
        return columns, [[self.swap(each) for each in row] for row in rows]

    def mysql_packet(self, body):
        """The texts of a prepared statement: each has its length in front."""
        for true, told in self.types.items():
            if bytes([len(true)]) + true in body:
                self.told.add(true)
                body = body.replace(bytes([len(true)]) + true,
                                    bytes([len(told)]) + told)
        return body

    def clickhouse(self, _, body):
        """In a table of text, where quotes are escaped."""
        def escaped(text):
            return text.replace(b"\\", b"\\\\").replace(b"'", b"\\'").replace(
                b"\n", b"\\n")

        for true, told in self.types.items():
            if escaped(true) in body:
                self.told.add(true)
                body = body.replace(escaped(true), escaped(told))
        return body


def liar_before(source):
    liar = Liar(source.engine)
    lie = getattr(liar, {"mariadb": "mysql"}.get(source.engine, source.engine))
    rogue = in_front_of(source, lie)
    if source.engine in ("mariadb", "mysql"):
        rogue.alter = liar.mysql_packet
    return liar, rogue


def listen(end):
    """A server that passes all on, and keeps what it is told."""
    def same(*answer):
        return answer[-1]

    def of_postgres(kind, body):
        yield kind, body

    def of_mysql(columns, rows):
        return columns, rows

    return in_front_of(end, {"postgres": of_postgres, "mariadb": of_mysql,
                             "mysql": of_mysql}.get(end.engine, same))


def pipeline_of(binary, work_dir, source, source_end, target, target_end):
    """From the one connection to the other."""
    it = Tidemark(binary, work_dir)
    it.connect("source", source).connect("warehouse", target)
    it.pipeline("items", key=["id"], retry=HASTY, source={
        "connection": "source", "table": f"{source_end.schema}.items"},
        destination={"connection": "warehouse",
                     "table": f"{target_end.schema}.items"},
        watermark={"strategy": "timestamp", "column": "updated_at"})
    return it.write_config()


SERVERS = ("postgres", "mariadb", "mysql", "clickhouse")


@pytest.mark.parametrize("target", SERVERS)
@pytest.mark.parametrize("engine", SERVERS)
def test_type_texts_stay_out_of_statements(sanitized_binary, work_dir,
                                           make_destination, engine, target):
    source, destination = make_destination(engine), make_destination(target)
    null = " NULL" if engine in ("mariadb", "mysql") else ""
    columns = ", ".join(f"c{i} {text}{null}"
                        for i, text in enumerate(types_of(engine)))
    source.execute(TABLES[engine].format(columns), ROW)
    liar, front = liar_before(source)
    with front, listen(destination) as ear:
        it = pipeline_of(sanitized_binary, work_dir,
                         password_connection(front.url(source)), source,
                         password_connection(ear.url(destination)),
                         destination)
        done = it("run", "--json")
        assert done.code == EXIT_OK, done
        assert len(liar.told) == len(LIES), liar.told
        heard = unquote_plus(ear.heard.decode("latin-1"))
    assert "CREATE TABLE" in heard
    assert "evil" not in heard, heard[max(0, heard.index("evil") - 400):][:800]


@pytest.mark.parametrize("target", SERVERS)
@pytest.mark.parametrize("kind", FILES)
def test_type_texts_of_files(sanitized_binary, work_dir, make_destination,
                             kind, target):
    source, destination = (make_destination(kind.split()[0]),
                           make_destination(target))
    text, quote, twice = FILES[kind]
    columns = ", ".join(
        f"c{i} {text.format(lie.replace(quote, twice))}"
        for i, lie in enumerate(LIES))
    source.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, "
                   f"updated_at TIMESTAMP NOT NULL, {columns})", ROW)
    with listen(destination) as ear:
        it = pipeline_of(sanitized_binary, work_dir, source.connection(),
                         source, password_connection(ear.url(destination)),
                         destination)
        done = it("run", "--json")
        assert done.code == EXIT_OK, done
        heard = unquote_plus(ear.heard.decode("latin-1"))
    assert "CREATE TABLE" in heard
    assert "evil" not in heard, heard[max(0, heard.index("evil") - 400):][:800]


# The parts of a column in BigQuery's API, each replaced by another text.
FIELDS = ("type", "mode", "precision", "scale", "maxLength", "collation",
          "timestampPrecision")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("target", SERVERS)
@pytest.mark.parametrize("of", FIELDS)
def test_type_texts_of_bigquery(sanitized_binary, work_dir, make_destination,
                                of, target):
    source, destination = make_destination("bigquery"), make_destination(target)
    columns = ", ".join(f"c{i} NUMERIC" for i in range(len(LIES)))
    source.execute("CREATE TABLE items (id INT64, updated_at TIMESTAMP, "
                   f"{columns})", ROW)
    told = set()

    def lie(_, body):
        answer = json.loads(body or b"null")
        table = isinstance(answer, dict) and "schema" in answer
        for field in answer["schema"]["fields"] if table else ():
            if field["name"][0] == "c" and field["name"][1:].isdigit():
                before = "NUMERIC" if of == "type" else "1"
                field[of] = before + LIES[int(field["name"][1:])]
                told.add(field["name"])
        return json.dumps(answer).encode()

    with in_front_of(source, lie) as front, listen(destination) as ear:
        it = pipeline_of(sanitized_binary, work_dir, source.connection(),
                         source, password_connection(ear.url(destination)),
                         destination)
        it.env[bigquery_servers.HOST] = f"127.0.0.1:{front.port}"
        done = it("run", "--json")
        assert done.code in (EXIT_OK, EXIT_SCHEMA), done
        assert len(told) == len(LIES), told
        heard = unquote_plus(ear.heard.decode("latin-1"))
    assert "evil" not in heard, heard[max(0, heard.index("evil") - 400):][:800]

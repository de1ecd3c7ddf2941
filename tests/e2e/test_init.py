"""`init`: the choice of tables, and what is added to a config later."""

import json
import os

import pytest

from bench import EXIT_CONFIG, EXIT_OK


@pytest.fixture
def shop(tidemark, source):
    """Two schemas, with tables of one name."""
    tidemark.env["PGPASSWORD"] = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    source.execute("CREATE SCHEMA sales")
    for name in ("public.orders", "public.tmp_a", "sales.orders",
                 "sales.lines"):
        source.execute(f"CREATE TABLE {name} (id int PRIMARY KEY)")
    return source


@pytest.fixture
def files(make_source, make_destination):
    source = make_source("sqlite")
    source.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)",
                   "CREATE TABLE lines (id INTEGER PRIMARY KEY)",
                   "CREATE TABLE bare (a INTEGER)")
    return source, make_destination("sqlite")


def made(tidemark, *args):
    done = tidemark("init", *args, "--json").expect(EXIT_OK)
    return json.loads(done.out)["pipelines"]


def read(tidemark):
    with open(tidemark.config, "rb") as config:
        return config.read()


def write(tidemark, data):
    with open(tidemark.config, "wb") as config:
        config.write(data)
    os.chmod(tidemark.config, 0o640)


@pytest.mark.parametrize("flags, names", (
    ((), ["orders", "tmp_a", "lines", "sales_orders"]),
    (("--schema", "sales"), ["lines", "orders"]),
    (("--schema", "sales", "--schema", "public"),
     ["orders", "tmp_a", "lines", "sales_orders"]),
    (("--exclude", "public.tmp_*", "--exclude", "lines"),
     ["orders", "sales_orders"]),
    (("--table", "*.orders"), ["orders", "sales_orders"]),
    (("--table", "public.orders", "--table", "lines"), ["orders", "lines"]),
    (("--schema", "sales", "--table", "orders"), ["orders"]),
    (("--table", "*.orders", "--exclude", "sales.*"), ["orders"]),
))
def test_choice_of_tables(tidemark, shop, make_destination, flags, names):
    url = make_destination("sqlite").url()
    assert sorted(made(tidemark, shop.url(), url, *flags)) == sorted(names)


@pytest.mark.parametrize("flags, words", (
    (("--schema", "sale"), ["--schema sale"]),
    (("--table", "public.order"), ["--table public.order", "public.orders"]),
    (("--table", "a..b"), ["--table", "empty part"]),
    (("--exclude", 'a"'), ["--exclude", "quote"]),
))
def test_choice_of_none(tidemark, shop, make_destination, flags, words):
    done = tidemark("init", shop.url(), make_destination("sqlite").url(),
                    *flags).expect(EXIT_CONFIG)
    assert all(word in done.err for word in words), done
    assert not os.path.exists(tidemark.config)


def test_line_for_editors(tidemark, files):
    """The schema that it names is there, and it is that of this binary."""
    source, destination = files
    tidemark("init", source.url(), destination.url()).expect(EXIT_OK)
    line = read(tidemark).decode().splitlines()[0]
    assert line.startswith("# yaml-language-server: $schema=")
    path = os.path.join(tidemark.dir, line.partition("=")[2])
    with open(path, encoding="utf-8") as schema:
        assert json.load(schema) == tidemark("schema").json()
    os.remove(tidemark.config)
    with open(path, "w", encoding="utf-8") as mine:
        mine.write("mine")
    tidemark("init", source.url(), destination.url()).expect(EXIT_OK)
    with open(path, encoding="utf-8") as schema:
        assert schema.read() == "mine"


def test_schema_takes_wildcards(tidemark):
    pipelines = tidemark("schema").json()["properties"]["pipelines"]
    each = pipelines["additionalProperties"]
    assert each["if"] == {"required": ["tables"]}
    assert set(each["then"]["required"]) == {"tables", "source",
                                             "destination"}
    assert "table" not in each["then"]["properties"]["source"]["properties"]
    assert "tables" not in each["else"]["properties"]


def test_add_and_add_again(tidemark, files):
    source, destination = files
    tidemark("init", source.url(), destination.url(), "--table",
             "orders").expect(EXIT_OK)
    os.chmod(tidemark.config, 0o640)
    before = read(tidemark)
    assert made(tidemark, "--add") == ["lines"]
    after = read(tidemark)
    assert after.startswith(before) and len(after) > len(before)
    assert os.stat(tidemark.config).st_mode & 0o777 == 0o640
    inode = os.stat(tidemark.config).st_ino
    done = tidemark("init", "--add").expect(EXIT_OK)
    assert "nothing to add" in done.out and "main.bare" in done.err
    assert read(tidemark) == after
    assert os.stat(tidemark.config).st_ino == inode, "it was written again"
    source.execute("CREATE TABLE later (id INTEGER PRIMARY KEY)")
    for ends in ((source.url(), destination.url()), ("source", "destination")):
        write(tidemark, after)
        done = tidemark("init", *ends, "--add").expect(EXIT_OK)
        assert "added later" in done.out
    tidemark("run").expect(EXIT_OK)
    assert not [name for name in os.listdir(tidemark.dir)
                if name.endswith(".new")]


LAYOUTS = {
    "comments": (
        b"# mine\nconnections:\n  source: S\n  destination: D  # there\n"
        b"pipelines:   # all of them\n\n"
        b"  # the first\n  orders:\n"
        b"    source: {connection: source, table: main.orders}\n"
        b"    destination: {connection: destination, table: orders}\n"
        b"    watermark: {strategy: sequence, column: id}\n"
        b"    # bare is left out\n",
        b"\n# the rest\ndefaults: {batch: {rows: 7}}   # few\n"),
    "indented": (
        b"connections: {source: 'S', destination: 'D'}\n"
        b"pipelines:\n"
        b"        orders:\n"
        b"                source: {connection: source, table: orders}\n"
        b"                destination: {connection: destination, "
        b"table: orders}\n"
        b"                watermark: {strategy: sequence, column: id}\n",
        b""),
    "not at all": (
        b"connections: {source: 'S', destination: 'D'}\n"
        b"pipelines:\n"
        b"  o:\n"
        b"    source: {connection: source, table: main.orders}\n"
        b"    destination: {connection: destination, table: orders}\n"
        b"    watermark:\n      strategy: sequence\n      column: id", b""),
}


@pytest.mark.parametrize("ends", (b"\n", b"\r\n"), ids=("unix", "dos"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_byte_stays(tidemark, files, layout, ends):
    source, destination = files
    head, tail = (text.replace(b"S'", source.url().encode() + b"'")
                  .replace(b": S\n", b": " + source.url().encode() + b"\n")
                  .replace(b"D'", destination.url().encode() + b"'")
                  .replace(b": D ", b": " + destination.url().encode() + b" ")
                  .replace(b"\n", ends) for text in LAYOUTS[layout])
    write(tidemark, head + tail)
    assert made(tidemark, "--add") == ["lines"]
    after = read(tidemark)
    assert after.startswith(head) and after.endswith(tail)
    added = after[len(head):len(after) - len(tail)]
    assert b"lines:" in added
    assert added.count(b"\n") == added.count(ends)
    ran = tidemark.run().json()["pipelines"]
    assert len(ran) == 2


def test_layout_that_would_change(tidemark, files):
    """Line ends at the very end that are part of a text: not touched."""
    source, destination = files
    write(tidemark, f"""\
connections:
  source: "{source.url()}"
  destination: "{destination.url()}"
pipelines:
  o:
    source: {{ connection: source, table: main.orders }}
    destination: {{ connection: destination, table: orders }}
    watermark: {{ strategy: sequence, column: id }}
    tenant: |+
      me


""".encode())
    before = read(tidemark)
    done = tidemark("init", "--add").expect(EXIT_CONFIG)
    assert "layout" in done.err and "--stdout" in done.err, done
    assert read(tidemark) == before


@pytest.mark.parametrize("text, word", (
    ('{"connections": {"source": "S", "destination": "D"}, "pipelines": {%s}}',
     "JSON"),
    ("connections: {source: 'S', destination: 'D'}\npipelines: {%s}\n",
     "braces"),
    ("connections: {source: 'S', destination: 'D'}\npipelines:\n  {%s}\n",
     "braces"),
    ("connections: {source: 'S', destination: 'D'}\npipelines: &all\n  a: b\n",
     "anchors"),
))
def test_what_cannot_be_added_to(tidemark, files, text, word):
    source, destination = files
    one = ('"o": {"source": {"connection": "source", "table": "orders"}, '
           '"destination": {"connection": "destination", "table": "o"}, '
           '"watermark": {"strategy": "sequence", "column": "id"}}')
    text = text.replace("S", source.url()).replace("D", destination.url())
    write(tidemark, (text % one if "%s" in text else text).encode())
    before = read(tidemark)
    done = tidemark("init", "--add").expect(EXIT_CONFIG)
    assert word in done.err, done
    assert read(tidemark) == before


def test_add_beside_a_wildcard(tidemark, files):
    """Tables that it speaks of are there, and those that it excludes."""
    source, destination = files
    tidemark.connect("source", source.url())
    tidemark.connect("destination", destination.url())
    write(tidemark, f"""\
connections:
  source: "{source.url()}"
  destination: "{destination.url()}"
pipelines:
  lines:
    tables: main.*s
    exclude: main.lines
    source: {{ connection: source }}
    destination: {{ connection: destination }}
""".encode())
    assert not made(tidemark, "--add")
    source.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)")
    assert made(tidemark, "--add") == ["other"]
    assert [each["pipeline"] for each in tidemark.run().json()["pipelines"]
            ] == ["lines.orders", "other"]


def test_add_through_a_link(tidemark, files):
    source, destination = files
    tidemark("init", source.url(), destination.url(), "--table",
             "orders").expect(EXIT_OK)
    os.rename(tidemark.config, tidemark.config + ".real")
    os.symlink(tidemark.config + ".real", tidemark.config)
    assert made(tidemark, "--add") == ["lines"]
    assert os.path.islink(tidemark.config)


@pytest.mark.parametrize("args, word", (
    (("--add", "elsewhere", "destination"), "no connection"),
    (("--add", "source"), "or neither"),
    (("--add", "--stdout"), "leave out one"),
    (("--add", "-o", "missing.yaml"), "missing.yaml"),
    ((), "SOURCE_URL"),
))
def test_add_mistakes(tidemark, files, args, word):
    source, destination = files
    tidemark("init", source.url(), destination.url(), "--table",
             "orders").expect(EXIT_OK)
    before = read(tidemark)
    assert word in tidemark("init", *args).expect(EXIT_CONFIG).err
    assert read(tidemark) == before


def test_log_without_a_key(tidemark, source, make_destination):
    """A copy of the whole is always right. A cheaper way is told where it would
    be exact for rows that stay as they are."""
    source.execute(
        "CREATE TABLE visits (page text, at timestamptz NOT NULL)",
        "CREATE TABLE maybe (page text, at timestamptz)",
        "CREATE TABLE stays (page text, updated_at timestamptz NOT NULL)",
        "CREATE INDEX ON stays (updated_at)",
        "CREATE TABLE bare (page text)",
        "INSERT INTO visits VALUES ('a', '2026-01-01'), ('a', '2026-01-01')")
    destination = make_destination("sqlite")
    tidemark.env["PGPASSWORD"] = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    text = tidemark("init", source.url(), destination.url(),
                    "--stdout").expect(EXIT_OK).out
    assert text.count("it has no key: every run copies all") == 4
    assert text.count("if rows are only ever added") == 1
    told = text[text.index("if rows are only ever added"):].splitlines()[0]
    mark = told[told.index("watermark"):told.index(" and load")]
    assert mark == "watermark: { strategy: timestamp, column: at }"
    text = text.replace("    load: { mode: replace }\n",
                        f"    {mark}\n    load: {{ mode: append }}\n")
    only = text[:text.index("  bare:\n")] + text[text.index("  visits:\n"):]
    write(tidemark, only.encode())
    ran = tidemark.run().pipeline()
    assert (ran["rows_inserted"], ran["guarantee"]) == (2, "exact")

"""A database file of somebody else's reaches no further than itself: its views
are read with the rights of whoever runs Tidemark."""

import os
import sqlite3

import duckdb
import pytest

from bench import EXIT_ACCESS, EXIT_OK, EXIT_SCHEMA

SECRET = "nobody else may read this"


def set_up(tidemark, url):
    tidemark.connect("source", url)
    tidemark.connect("warehouse", f"sqlite:{tidemark.dir}/w.db")
    tidemark.pipeline(
        "t", source={"connection": "source", "table": "main.v"}, key=["id"],
        destination={"connection": "warehouse", "table": "main.t"},
        watermark={"strategy": "sequence", "column": "id"})
    return tidemark.write_config()


def target_text(tidemark):
    path = os.path.join(tidemark.dir, "w.db")
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture
def secret_file(work_dir):
    path = work_dir / "secret.csv"
    path.write_text(SECRET + "\n")
    return path


@pytest.mark.parametrize("reading", (
    "read_text('{path}')", "read_csv('{path}', header=false)",
    "read_blob('{path}')", "glob('{directory}/*.csv')"))
def test_duckdb_source_reads_no_other_file(tidemark, work_dir, secret_file,
                                           reading):
    file = work_dir / "source.duckdb"
    with duckdb.connect(file) as db:
        db.execute("CREATE VIEW v AS SELECT 1 AS id, CAST(COLUMNS(*) AS VARCHAR)"
                   " FROM " + reading.format(path=secret_file,
                                             directory=work_dir))
    set_up(tidemark, f"duckdb:{file}")
    for command in ("check", "run"):
        done = tidemark(command)
        assert done.code == EXIT_ACCESS, done
        assert "external_access=true" in done.err + done.out, done
        assert SECRET not in done.err + done.out
    assert SECRET.encode() not in target_text(tidemark)
    set_up(tidemark, f"duckdb:{file}?external_access=true")
    tidemark("run").expect(EXIT_OK)


def test_duckdb_target_reads_no_other_file(tidemark, work_dir, secret_file):
    """Nor does what the source's file has for a file that is a target, too:
    whoever opens it first decides for both."""
    file = work_dir / "both.duckdb"
    with duckdb.connect(file) as db:
        db.execute(f"CREATE VIEW v AS SELECT 1 AS id, content FROM"
                   f" read_text('{secret_file}')")
    set_up(tidemark, f"duckdb:{file}")
    tidemark.connect("warehouse", f"duckdb:{file}").write_config()
    tidemark("run").expect(EXIT_ACCESS)
    with duckdb.connect(file) as db:
        assert not db.execute("SELECT * FROM information_schema.tables WHERE"
                              " table_name = 't'").fetchall()


LOG = "enable_logging(level='trace', storage='stdout')"
TITLE = "chr(27) || ']0;forged' || chr(7)"
# A view's words, and the part of them that is named.
LOGGING = {
    "plainly": (f"SELECT 1 AS id, 'a' AS t FROM {LOG}", "enable_logging"),
    "aside": (f"SELECT id, (SELECT count(*) FROM {LOG}) AS t FROM inner_v",
              "enable_logging"),
    "macro": ("SELECT * FROM hidden()", "enable_logging"),
    "text": ("SELECT 1 AS id, 'a' AS t FROM query('FROM enable_' ||"
             " 'logging(storage=''stdout'')')", "enable_logging"),
    "tree": ("SELECT 1 AS id, 'a' AS t FROM json_execute_serialized_sql("
             "json_serialize_sql('SELECT * FROM enable_logging()')::varchar)",
             "json_execute_serialized_sql"),
}


@pytest.mark.parametrize("view, named", LOGGING.values(), ids=LOGGING)
@pytest.mark.parametrize("more", ("", "?external_access=true"))
def test_duckdb_source_prints_nothing(tidemark, work_dir, view, named, more):
    """DuckDB's log could go to our standard output, with any text in it."""
    file = work_dir / "source.duckdb"
    with duckdb.connect(file) as db:
        db.execute("CREATE VIEW inner_v AS SELECT 1 AS id UNION ALL SELECT 2")
        db.execute("CREATE MACRO hidden() AS TABLE SELECT 1 AS id, 'a' AS t"
                   f" FROM {LOG}")
        db.execute(f"CREATE VIEW v AS SELECT id, coalesce(nullif(t::text, t"
                   f"::text), write_log({TITLE}, level := 'error')) AS t"
                   f" FROM ({view})")
    set_up(tidemark, f"duckdb:{file}{more}")
    for command in ("check", "run", "verify"):
        done = tidemark(command, "--json")
        assert "\x1b" not in done.out and "QueryLog" not in done.out, done
        assert named in done.err + done.out, done
    tidemark("run").expect(EXIT_SCHEMA)


@pytest.mark.parametrize("expression", (
    "load_extension('{path}')", "readfile('{path}')", "(SELECT max(name) FROM dbstat)"))
def test_sqlite_source_reaches_nothing(tidemark, work_dir, secret_file,
                                       expression):
    """A view loads no extension, and reads no file."""
    file = work_dir / "source.db"
    with sqlite3.connect(file) as db:
        db.execute("CREATE VIEW v AS SELECT 1 AS id, "
                   f"{expression.format(path=secret_file)} AS content")
    db.close()
    set_up(tidemark, f"sqlite:{file}")
    done = tidemark("run").expect(EXIT_SCHEMA)
    assert "unsafe use of" in done.err or "no such function" in done.err, done

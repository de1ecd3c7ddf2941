"""The report of `check`: readable for hundreds of tables."""

import pytest

from bench import EXIT_OK, EXIT_SCHEMA

TABLES = 300


def ddl(name, key=True):
    return (f"CREATE TABLE {name} (id INTEGER"
            f"{' PRIMARY KEY' if key else ''}, updated_at TIMESTAMPTZ)")


def pipeline(tidemark, name, **settings):
    tidemark.pipeline(
        name, source={"connection": "source", "table": f"main.{name}"},
        destination={"connection": "warehouse", "table": f"main.{name}"},
        watermark={"strategy": "timestamp", "column": "updated_at"},
        **settings)


@pytest.fixture
def many(tidemark, make_source, make_destination):
    """300 tables; 37 of them have no key, and one is not there."""
    source = make_source("sqlite")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", make_destination("sqlite").connection())
    source.execute(*(ddl(f"t{i}", key=i >= 37) for i in range(TABLES - 1)))
    for i in range(TABLES - 1):
        pipeline(tidemark, f"t{i}")
    pipeline(tidemark, "gone")
    return tidemark.write_config()


def lines_of(done):
    return done.out.splitlines()


def test_problems_come_first_and_once(many):
    done = many("check").expect(EXIT_SCHEMA)
    lines = lines_of(done)
    assert len(lines) < 30, done
    assert lines[0].startswith("37 pipelines: error "), done
    assert any(line.startswith("gone: error ") for line in lines), done
    assert "they are t0, t1, " in done.out and "17 more" in done.out, done
    assert "t36," not in done.out
    kinds = [line.split(": ", 1)[1].split()[0] for line in lines
             if ": error " in line or ": warning " in line]
    assert kinds == sorted(kinds), "warnings stand before errors"
    # A column is neither indexed nor anything else to be glad of.
    assert lines[-1] == "300 pipelines: 262 with warnings, 38 cannot run", done
    assert "COLUMN" not in done.out
    # -v names them all; --json is as long as it ever was.
    assert ", t36" in many("-v", "check").out
    whole = many("check", "--json").json()["pipelines"]
    assert len(whole) == TABLES
    assert [each["ok"] for each in whole] == [False] * 37 + [True] * 262 + [
        False]
    assert all(each["columns"] for each in whole[37:-1])


def test_quiet_prints_problems_alone(many):
    loud = lines_of(many("check"))
    quiet = lines_of(many("-q", "check").expect(EXIT_SCHEMA))
    assert quiet and quiet == loud[:len(quiet)]
    assert not [line for line in loud[len(quiet):]
                if ": error " in line or ": warning " in line]


def test_quiet_about_sound_pipelines(tidemark, make_source, make_destination):
    source = make_source("sqlite")
    source.execute(ddl("fine"), "CREATE INDEX fine_mark ON fine (updated_at)")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", make_destination("sqlite").connection())
    pipeline(tidemark, "fine")
    tidemark.write_config()
    assert tidemark("check", "-q").expect(EXIT_OK).out == ""
    shown = tidemark("check").expect(EXIT_OK)
    assert "fine: ok; guarantee exact" in shown.out
    assert lines_of(shown)[-1] == "1 pipeline: 1 ready"
    assert "MAPPING" not in shown.out
    columns = tidemark("check", "--columns").expect(EXIT_OK)
    assert "MAPPING" in columns.out and "updated_at" in columns.out
    assert "fine: the first run does: CREATE TABLE" in columns.out


def test_what_differs_is_not_put_together(tidemark, make_source,
                                          make_destination):
    """Alike but for their tables' names, and not for a column's."""
    source = make_source("sqlite")
    for name in "abc":
        source.execute(ddl(name))
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", make_destination("sqlite").connection())
    for name, column in (("a", "changed"), ("b", "changed"), ("c", "seen")):
        pipeline(tidemark, name)
        tidemark.pipelines[name]["watermark"]["column"] = column
    tidemark.write_config()
    errors = [line for line in lines_of(tidemark("check"))
              if ": error " in line]
    assert len(errors) == 2, errors
    assert errors[0].startswith("2 pipelines: ") and "changed" in errors[0]
    assert errors[1].startswith("c: ") and "seen" in errors[1]

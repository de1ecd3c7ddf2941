"""`check` warns of what leaves the mark as it was at the source, and of what
moves it at the target."""

import pytest

from bench import sync_items

ENGINES = ("postgres", "mysql", "mariadb", "sqlite")
every_engine = pytest.mark.parametrize("engine", ENGINES)
TIME = {"postgres": "timestamptz DEFAULT now()",
        "mysql": "timestamp(6) DEFAULT CURRENT_TIMESTAMP(6)"
                 " ON UPDATE CURRENT_TIMESTAMP(6)",
        "sqlite": "text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))"}
TIME["mariadb"] = TIME["mysql"]
# Triggers and the like that set updated_at at each UPDATE.
STAMP = {
    "postgres": ("CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS "
                 "'BEGIN NEW.updated_at = now(); RETURN NEW; END'",
                 "CREATE TRIGGER stamper BEFORE UPDATE ON items FOR EACH ROW "
                 "EXECUTE FUNCTION stamp()"),
    "mysql": ("CREATE TRIGGER stamper BEFORE UPDATE ON items FOR EACH ROW "
              "SET NEW.updated_at = now(6)",),
    "sqlite": ("CREATE TRIGGER stamper AFTER UPDATE ON items BEGIN UPDATE "
               "items SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') "
               "WHERE id = NEW.id; END",),
}
STAMP["mariadb"] = STAMP["mysql"]
OTHER = {
    "postgres": ("CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS "
                 "'BEGIN NEW.parent = 1; RETURN NEW; END'",
                 "CREATE TRIGGER other BEFORE UPDATE ON items FOR EACH ROW "
                 "EXECUTE FUNCTION other()"),
    "mysql": ("CREATE TRIGGER other BEFORE UPDATE ON items FOR EACH ROW "
              "SET NEW.parent = 1",),
    "sqlite": ("CREATE TRIGGER other AFTER UPDATE ON items BEGIN DELETE FROM "
               "parents WHERE id < 0; END",),
}
OTHER["mariadb"] = OTHER["mysql"]


def create(end, rules="", time=None):
    """Rows that point at others."""
    time = time or TIME[end.engine]
    end.execute("CREATE TABLE parents (id integer PRIMARY KEY)",
                "CREATE TABLE items (id integer PRIMARY KEY, parent integer, "
                f"updated_at {time}, FOREIGN KEY (parent) "
                f"REFERENCES parents (id) {rules})")


def found(tidemark, code):
    tidemark.write_config()
    return [each for each in tidemark("check", "--json").pipeline()["problems"]
            if each["code"] == code]


def configure(tidemark, source, destination, **settings):
    sync_items(tidemark, source, destination, "timestamp", **settings)
    tidemark.pipelines["items"]["watermark"]["time_zone"] = "UTC"
    return tidemark


@every_engine
@pytest.mark.parametrize("rules,said", (
    ("ON UPDATE CASCADE", "ON UPDATE CASCADE"),
    ("ON DELETE SET NULL", "ON DELETE SET NULL"),
    ("ON UPDATE CASCADE ON DELETE SET NULL",
     "ON UPDATE CASCADE, ON DELETE SET NULL"),
    ("ON DELETE CASCADE", None), ("", None)))
def test_foreign_key_that_changes_rows(tidemark, make_source,
                                       make_destination, engine, rules, said):
    source = make_source(engine)
    create(source, rules)
    configure(tidemark, source, make_destination("sqlite"))
    problems = found(tidemark, "key-cascades")
    assert len(problems) == bool(said), problems
    for each in problems:
        assert f"({said})" in each["message"], each
        assert "\"updated_at\"" in each["message"], each
        assert each["severity"] == "warning", each
        assert "tidemark verify --repair items after" in each["fix"], each


@every_engine
def test_foreign_key_beside_a_trigger(tidemark, make_source, make_destination,
                                      engine):
    """The trigger sets the mark, but not where InnoDB fires none."""
    source = make_source(engine)
    create(source, "ON UPDATE CASCADE")
    source.execute(*STAMP[engine])
    configure(tidemark, source, make_destination("sqlite"))
    assert len(found(tidemark, "key-cascades")) \
        == (engine in ("mysql", "mariadb"))


@every_engine
@pytest.mark.parametrize("mode", ("upsert", "update", "append"))
def test_trigger_at_the_target(tidemark, make_source, make_destination, engine,
                               mode):
    source, destination = make_source(engine), make_destination(engine)
    plain = TIME[engine].split(" ON UPDATE")[0]
    create(source)
    create(destination, time=plain)
    configure(tidemark, source, destination, mode=mode)
    destination.execute(*OTHER[engine])
    assert not found(tidemark, "mark-moved-at-target")
    destination.execute(*STAMP[engine])
    problems = found(tidemark, "mark-moved-at-target")
    assert len(problems) == (mode != "append"), problems
    for each in problems:
        assert "trigger stamper may move" in each["message"], each
        assert "updated_at" in each["fix"], each


@pytest.mark.parametrize("engine", ("mysql", "mariadb"))
@pytest.mark.parametrize("mode", ("upsert", "update"))
def test_on_update_at_the_target(tidemark, make_source, make_destination,
                                 engine, mode):
    """Only mode update leaves the mark's column to the server."""
    source, destination = make_source(engine), make_destination(engine)
    create(source)
    create(destination)
    configure(tidemark, source, destination, mode=mode)
    problems = found(tidemark, "mark-moved-at-target")
    assert len(problems) == (mode == "update"), problems

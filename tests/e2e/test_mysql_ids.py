"""MariaDB and MySQL: strategy sequence is exact only over ids that the server
gives out one after the other. Otherwise it is lag, and check says why."""

import json

import pytest

from bench import sync_items

ENGINES = ("mariadb", "mysql")
AUTO = "AUTO_INCREMENT"


@pytest.fixture(params=ENGINES)
def pipeline(request, tidemark, make_mysql, make_destination):
    """A pipeline over a table with this column for a mark."""
    def make(column, more=""):
        source = make_mysql(request.param)
        source.execute(f"CREATE TABLE items (seq bigint NOT NULL {column},"
                       f" name varchar(40){more})",
                       "INSERT INTO items (seq, name) VALUES (1, 'a'),"
                       " (2, 'b')")
        sync_items(tidemark, source, make_destination("sqlite"), "sequence",
                   key=["seq"] if "PRIMARY" in column else ["name"])
        return source
    return make


def told(tidemark):
    """The guarantee, in the words of a run and of check, which are the same."""
    done = tidemark.run().pipeline()
    checked = json.loads(tidemark("check", "--json").out)["pipelines"][0]
    assert checked["guarantee"] == done["guarantee"]
    assert checked["guarantee_reason"] == done["guarantee_reason"]
    codes = {each["code"]: each for each in checked["problems"]}
    return done["guarantee"], done["guarantee_reason"], codes


def lags(tidemark, code, fix):
    guarantee, reason, codes = told(tidemark)
    assert guarantee == "lag", reason
    assert code in codes, codes
    assert fix in codes[code]["fix"] and fix in reason, codes[code]
    assert "guarantee is lag" in codes[code]["message"]


def test_auto_increment(tidemark, pipeline):
    pipeline(f"{AUTO} PRIMARY KEY")
    guarantee, reason, _ = told(tidemark)
    assert (guarantee, reason) == ("exact", "")


def test_ids_of_the_application(tidemark, pipeline):
    pipeline("PRIMARY KEY")
    lags(tidemark, "ids-not-from-sequence", "watermark.lag")


def test_ids_that_repeat(tidemark, pipeline):
    pipeline(AUTO, ", INDEX (seq), UNIQUE (name)")
    lags(tidemark, "mark-not-unique", "ADD UNIQUE INDEX (`seq`)")


def test_ids_in_steps(tidemark, pipeline):
    source = pipeline(f"{AUTO} PRIMARY KEY")
    with source.server.admin() as db, db.cursor() as cursor:
        cursor.execute("SET GLOBAL auto_increment_increment = 50")
        try:
            lags(tidemark, "sequence-increment",
                 "SET GLOBAL auto_increment_increment = 1")
        finally:
            cursor.execute("SET GLOBAL auto_increment_increment = 1")
    assert told(tidemark)[0] == "exact"


def test_ids_at_the_end_of_their_type(tidemark, pipeline):
    """MySQL gives the last one out again, and again."""
    source = pipeline(f"{AUTO} PRIMARY KEY")
    source.execute("ALTER TABLE items MODIFY seq tinyint AUTO_INCREMENT",
                   "INSERT INTO items VALUES (126, 'c')")
    assert told(tidemark)[0] == "exact"
    source.execute("INSERT INTO items (name) VALUES ('last')")
    if source.engine == "mysql":
        lags(tidemark, "sequence-spent", "wider type")


def test_id_given_later_below_the_mark(tidemark, pipeline):
    """watermark.lag covers an id that comes later."""
    source = pipeline("PRIMARY KEY")
    tidemark.pipelines["items"]["watermark"]["lag"] = 5
    tidemark.write_config().run()
    source.execute("INSERT INTO items VALUES (9, 'c')")
    tidemark.run()
    source.execute("INSERT INTO items VALUES (7, 'late')")
    assert tidemark.run().pipeline()["rows_inserted"] == 1

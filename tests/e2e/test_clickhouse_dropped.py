"""Somebody drops a column of ClickHouse's table. The next run makes it again
and fills it, although the hash that is stored beside each row is still that of
all its values."""

import pytest

from bench import EXIT_OK, written
from clickhouse_items import MODES, ROWS, check, items

__all__ = ["items"]  # a fixture
CLEARED = "SELECT count() FROM items_raw WHERE _tidemark_hash = 0"
NUMBERS = "SELECT id, quantity FROM items WHERE id <> 3 ORDER BY id"


@pytest.fixture
def dropped(tidemark, failpoint_binary, items):
    """A target that has lost `columns`, and its pipeline."""
    def make(mode="upsert", columns=("quantity",), **settings):
        tidemark.binary = failpoint_binary
        source, destination = items(mode, **settings)
        tidemark.run()
        for column in columns:
            destination.execute(f"ALTER TABLE items_raw DROP COLUMN {column}")
        return source, destination
    return make


def check_filled(tidemark, source, destination):
    check(source, destination)
    assert written(tidemark.run().pipeline()) == 0
    check(source, destination)


@pytest.mark.parametrize("mode", MODES[:3])
def test_filled(tidemark, dropped, mode):
    source, destination = dropped(mode)
    rehearsed = tidemark("run", "--dry-run", "--json").expect(0).pipeline()
    done = tidemark.run().pipeline()
    assert written(done) == written(rehearsed) == ROWS
    assert (done["rows_inserted"] == ROWS) == (mode == "append")
    assert destination.query(CLEARED + " AND quantity > 0") == [(0,)]
    check_filled(tidemark, source, destination)


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_filled_where_the_view_is_gone(tidemark, dropped, mode):
    """Nothing says then which columns the table had."""
    source, destination = dropped(mode)
    destination.execute("DROP VIEW items")
    tidemark.run()
    check_filled(tidemark, source, destination)


def test_deleted_rows_stay_deleted(tidemark, dropped):
    """A cleared column leaves the marks of lightweight deletes alone."""
    source, destination = dropped("append")
    destination.execute("DELETE FROM items_raw WHERE id > 50")
    source.execute("DELETE FROM items WHERE id > 50")
    tidemark.run()
    check_filled(tidemark, source, destination)


def test_soft_deleted_rows_stay_deleted(tidemark, dropped):
    source, destination = dropped(columns=(), soft_delete="gone_at")
    destination.execute("ALTER TABLE items_raw ADD COLUMN gone_at "
                        "Nullable(DateTime64(6, 'UTC'))")
    source.execute("DELETE FROM items WHERE id = 3")
    tidemark("verify", "--repair", "--deletes", "apply", "--max-deletes", "1",
             "--yes").expect(EXIT_OK)
    destination.execute("ALTER TABLE items_raw DROP COLUMN quantity")
    assert written(tidemark.run().pipeline()) == ROWS - 1
    assert destination.query("SELECT id FROM items WHERE gone_at IS NOT NULL")\
        == [(3,)]
    assert destination.query(NUMBERS) == source.query(NUMBERS)
    assert written(tidemark.run().pipeline()) == 0


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_time_of_loading(tidemark, dropped, mode):
    """It is in no hash, and no row is read for it."""
    source, destination = dropped(mode, columns=())
    tidemark.pipelines["items"]["load"]["loaded_at"] = "loaded"
    tidemark.write_config().run()
    destination.execute("ALTER TABLE items_raw DROP COLUMN loaded")
    assert written(tidemark.run().pipeline()) == 0
    assert destination.query(CLEARED) == [(0,)]
    check_filled(tidemark, source, destination)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("step", (1, 2, 3, 4))
@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_killed_between_the_statements(tidemark, dropped, mode, step):
    """They clear the hashes, add two columns and make the view."""
    source, destination = dropped(mode, ("quantity", "name"))
    assert tidemark.killed(failpoints=f"mid_alter=kill@{step}")
    assert destination.query("SELECT watermark FROM _tidemark_watermark") \
        == [(None,)]
    tidemark.run()
    check_filled(tidemark, source, destination)


@pytest.mark.parametrize("point", ("before_watermark", "after_watermark"))
@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_killed_while_it_is_filled(tidemark, dropped, mode, point):
    source, destination = dropped(mode)
    assert tidemark.killed(failpoints=f"{point}=kill@2")
    tidemark.run()
    assert destination.query("SELECT count() FROM items_raw FINAL" if mode ==
                             "upsert" else "SELECT count() FROM items_raw") \
        == [(ROWS if mode == "upsert" else 2 * ROWS,)]
    check_filled(tidemark, source, destination)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("step", (None, 1, 2))
@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_new_column_writes_rows_that_have_it(tidemark, dropped, mode, step):
    """The source has got it: only its values make other hashes."""
    source, destination = dropped(mode, columns=())
    source.execute("ALTER TABLE items ADD COLUMN extra INTEGER")
    source.execute("UPDATE items SET extra = 7 WHERE id = 9")
    if step:
        assert tidemark.killed(failpoints=f"mid_alter=kill@{step}")
        assert destination.query("SELECT watermark FROM _tidemark_watermark") \
            == [(None,)]
    done = tidemark.run().pipeline()
    assert (done["rows_read"], written(done)) == (ROWS, 1)
    assert destination.query("SELECT id FROM items WHERE extra = 7") == [(9,)]

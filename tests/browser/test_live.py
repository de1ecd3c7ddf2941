"""The dashboard of a live `tidemark serve` with real pipelines. One runs well and
one fails. One has dead letters, one was backfilled, and one is run by hand."""

import re
import sqlite3

import pytest
from playwright.sync_api import expect

import poison
import workload
from bench import EXIT_OK, EXIT_STOPPED, items_settings
from conftest import NARROW
from servers import wait_for

TOKEN = "a-token-of-thirty-two-characters"
TABLES = ("fine", "broken", "refused", "backfilled", "manual")
WHO = "token from 127.0.0.1"


class Live:
    """A serve that runs, its source and its destination."""

    token = TOKEN

    def __init__(self, tidemark, source, destination):
        self.tidemark, self.source = tidemark, source
        self.destination = destination
        self.running = tidemark.start("serve")
        found = wait_for(lambda: re.search(
            rb"listening on (\S+)", self.running.text["err"]),
            what="the server")
        self.url = f"http://{found[1].decode()}/"

    def ids(self, table):
        return [row[0] for row in self.destination.query(
            f"SELECT id FROM {self.destination.schema}.{table} ORDER BY id")]

    def stored(self, sql, *values):
        with sqlite3.connect(self.tidemark.state_file) as db:
            return db.execute(sql, values).fetchall()


@pytest.fixture
def live(tidemark, source, make_destination):
    destination = make_destination("postgres")
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for table in TABLES:
        workload.create_items(source, table, rows=300)
        tidemark.pipeline(table, **items_settings(
            source, destination, "timestamp", table=table,
            schedule="manual" if table == "manual" else "every 1s",
            retry={"attempts": 2, "backoff": "10ms"},
            on_bad_row="dead_letter"))
    source.execute("UPDATE refused SET amount = 1")
    tidemark.write_config()
    tidemark("run", "refused", "backfilled").expect(EXIT_OK)
    poison.refuse_below_zero(destination, f"{destination.schema}.refused")
    poison.poison(source, "id IN (7, 8)", table="refused")
    workload.settle(source)
    tidemark("backfill", "backfilled", "--chunk-rows", "100").expect(EXIT_OK)
    source.execute("ALTER TABLE broken RENAME TO gone")
    made = Live(tidemark, source, destination)
    yield made
    if made.running.alive():
        made.running.signal(15)
        assert made.running.wait().code == EXIT_STOPPED


def row_of(page, name):
    return page.locator("#pipelines tbody tr").filter(
        has=page.get_by_role("link", name=name, exact=True))


def open_pipeline(page, live, name):
    page.goto(f"{live.url}#/{name}")
    expect(page.locator("#detail-title")).to_have_text(name)
    expect(page.locator("#detail .state")).not_to_be_empty()
    return page.locator("#detail")


def test_sees_what_happens(live, open_page, keep_picture):
    page = open_page(live.url, token=TOKEN)
    expect(row_of(page, "broken")).to_contain_text("failing")
    expect(row_of(page, "broken")).to_contain_text("broken")
    expect(row_of(page, "refused")).to_contain_text("2 dead letters")
    expect(row_of(page, "manual")).to_contain_text("never run")
    expect(page.locator("#pipelines tbody tr").first).to_contain_text("broken")
    expect(page.locator("#summary")).to_contain_text("5 pipelines")
    keep_picture(page, "live-list", full_page=True)
    detail = open_pipeline(page, live, "fine")
    # The run that loaded them, its batch, and the pictures of the day.
    expect(row_of(page, "fine")).to_contain_text("ok")
    runs = detail.get_by_role("region", name="Runs", exact=True)
    loaded = runs.locator("tbody tr").filter(has_text=re.compile(r"\b300\b"))
    expect(runs.locator("tbody tr").first).to_contain_text("caught up")
    if loaded.count():
        loaded.get_by_role("button", name="Batches").click()
        expect(detail.get_by_role("region", name="Batches", exact=True)
               ).to_contain_text("300 inserted")
    expect(detail.locator("[data-chart=lag] .curve")).to_have_count(1)
    expect(detail).to_contain_text("updated_at = ")
    keep_picture(page, "live-fine", full_page=True)
    detail = open_pipeline(page, live, "backfilled")
    expect(detail.locator(".chunkbar")).to_have_attribute(
        "aria-label", re.compile(r"^3 of 3 chunks done"))
    telephone = open_page(live.url, NARROW, "dark", token=TOKEN)
    expect(row_of(telephone, "broken")).to_contain_text("failing")
    keep_picture(telephone, "live-telephone", full_page=True)


def test_orders_reach_the_database(live, open_page):
    page = open_page(f"{live.url}#/fine")  # with another server's token
    dialog = page.get_by_role("dialog", name="Token")
    expect(dialog).to_contain_text("The server refuses this token")
    dialog.locator("input").fill(TOKEN)
    page.keyboard.press("Enter")
    detail = page.locator("#detail")
    detail.get_by_role("button", name="Pause…").click()
    page.get_by_label(re.compile("Reason")).fill("a new index")
    page.keyboard.press("Enter")
    expect(detail.get_by_role("button", name="Resume")).to_be_visible()
    expect(row_of(page, "fine")).to_contain_text(
        f"paused by {WHO}: a new index")
    assert live.stored("SELECT what, who FROM control_events "
                       "WHERE pipeline = 'fine'") == [("pause", WHO)]
    detail.get_by_role("button", name="Resume").click()
    expect(row_of(page, "fine")).to_contain_text("ok")
    detail = open_pipeline(page, live, "manual")
    detail.get_by_role("button", name="Run now").click()
    wait_for(lambda: "manual" in live.destination.tables() and
             len(live.ids("manual")) == 300, what="the rows")
    expect(row_of(page, "manual")).to_contain_text("ok")
    pace = detail.get_by_label("Rows a second, at most (0: no limit)")
    pace.fill("700")
    pace.press("Enter")
    expect(detail).to_contain_text("Changed by hand")
    assert live.tidemark("pace", "manual", "--json").pipeline("manual")[
        "set"] == {"rows_per_second": "700"}


def test_replays_and_discards(live, open_page):
    page = open_page(live.url, token=TOKEN)
    expect(row_of(page, "refused")).to_contain_text("2 dead letters")
    live.source.execute("UPDATE refused SET quantity = 5, amount = 1, "
                        "name = 'SECRET-NAME' WHERE id = 7",
                        "DELETE FROM refused WHERE id = 8")
    live.destination.execute(
        f"DELETE FROM {live.destination.schema}.refused WHERE id IN (7, 8)")
    detail = open_pipeline(page, live, "refused")
    letters = detail.get_by_role("region", name="All dead letters")
    expect(letters.locator("tbody tr")).to_have_count(2)
    expect(letters).to_contain_text("quantity_not_below_zero")
    assert '"quantity"' not in page.content()
    letters.get_by_role("button", name="Show row").first.click()
    expect(letters.locator("pre")).to_contain_text('"quantity": -1')
    detail.get_by_role("button", name="Show values of rows").click()
    seven = letters.locator("tbody tr").filter(has_text=re.compile(
        r'"id":"?7\b'))
    seven.get_by_role("button", name="Replay").click()
    expect(letters.locator("tbody tr")).to_have_count(1)
    assert 7 in live.ids("refused")
    letters.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(detail).to_contain_text("No dead letter.")
    assert 8 not in live.ids("refused")
    assert live.stored("SELECT count(*) FROM dead_letters") == [(0,)]


def test_says_that_serve_was_killed(live, open_page):
    page = open_page(live.url, token=TOKEN)
    expect(row_of(page, "fine")).to_contain_text("ok")
    live.running.kill()
    expect(page.locator("#trouble")).to_contain_text("has not answered since")

"""The dashboard as a person uses it: what is wrong, since when, and what to do.

A stub answers here. test_live.py does the same with a real serve.
"""

import re

import pytest
from playwright.sync_api import expect

from conftest import NARROW, WIDE
from servers import wait_for

SIZES = {"1920": WIDE, "375": NARROW}


def rows(page):
    return page.locator("#pipelines tbody tr")


def row_of(page, name):
    return rows(page).filter(has=page.get_by_role("link", name=name,
                                                  exact=True))


def open_pipeline(page, world, name):
    page.goto(f"{world.url}#/{name}")
    expect(page.locator("#detail-title")).to_have_text(name)
    return page.locator("#detail")


def give_token(page, token):
    page.get_by_role("dialog", name="Token").locator("input").fill(token)
    page.get_by_role("button", name="Use this token").click()


@pytest.mark.parametrize("size", SIZES)
def test_says_what_is_wrong_at_a_glance(world, open_page, size):
    """Failing comes first with its error; others say for whom and since when."""
    page = open_page(world.url, SIZES[size])
    names = world.names
    expect(rows(page)).to_have_count(len(names))
    expect(rows(page).first).to_contain_text(names["failing"])
    expect(row_of(page, names["failing"])).to_contain_text("failing")
    expect(row_of(page, names["failing"])).to_contain_text("Connection refused")
    expect(row_of(page, names["failing"])).to_contain_text("1 h 30 min")
    expect(row_of(page, names["paused"])).to_contain_text("paused by anna")
    expect(row_of(page, names["backfill"])).to_contain_text("replica db2")
    expect(row_of(page, names["letters"])).to_contain_text("3 dead letters")
    expect(page.locator("#summary")).to_have_text(re.compile(
        "7 pipelines: 2 ok, 1 failing, 1 late, 1 waiting, 1 paused"))
    assert page.title().startswith("(1 failing)")


def test_filters_and_sorts(world, open_page):
    page = open_page(world.url)
    expect(rows(page)).to_have_count(7)
    page.get_by_label("Filter", exact=True).fill("anna tax")
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#count")).to_have_text("1 of 7 pipelines shown")
    page.get_by_label("Filter", exact=True).fill("no such thing")
    expect(page.get_by_text("Nothing here matches the filter.")).to_be_visible()
    page.get_by_label("Filter", exact=True).fill("")
    tile = page.get_by_role("button", name=re.compile("failing$"))
    tile.click()
    expect(tile).to_have_attribute("aria-pressed", "true")
    expect(rows(page)).to_have_count(1)
    tile.click()
    expect(rows(page)).to_have_count(7)
    head = page.get_by_role("columnheader", name="Lag")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(rows(page).first).to_contain_text(world.names["failing"])
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    # An unknown lag is no small lag: it comes last both ways.
    expect(rows(page).last).to_contain_text(
        re.compile(f"{world.names['paused']}|{world.names['never_run']}"))
    assert page.locator("[aria-sort]:visible").count() == 1


def test_sorts_on_a_telephone(world, open_page):
    page = open_page(world.url, NARROW)
    expect(rows(page)).to_have_count(7)
    page.get_by_label("Sort by").select_option(label="Pipeline, downwards")
    expect(rows(page).first).to_contain_text(world.names["late"])


def test_shows_one_pipeline(world, open_page):
    page = open_page(world.url)
    row_of(page, world.names["letters"]).get_by_role("link").click()
    detail = page.locator("#detail")
    expect(detail).to_contain_text("updated_at = 2026-11-27 03:00:00")
    expect(detail).to_contain_text("every 5m")
    expect(detail.get_by_label("Last runs").locator("tbody tr").first
           ).to_contain_text("caught up")
    for chart, curves in (("lag", 1), ("rate", 1), ("batch", 2)):
        figure = detail.locator(f"[data-chart={chart}]")
        expect(figure.locator(".curve")).to_have_count(curves)
        assert "last 24 hours" in figure.get_by_role("img").get_attribute(
            "aria-label")
    # The hours without figures are a gap, not a line.
    assert detail.locator("[data-chart=lag] .curve").get_attribute(
        "d").count("M") == 2
    detail.get_by_text("The same as a table").click()
    expect(detail.get_by_role("table", name="Each hour's highest figures")
           ).to_be_visible()


def test_shows_the_batches_of_a_run(world, open_page):
    page = open_page(world.url)
    detail = open_pipeline(page, world, world.names["letters"])
    detail.get_by_role("button", name="Batches of the run").first.click()
    part = detail.get_by_role("region", name="Batches", exact=True)
    expect(part.locator("tbody tr")).to_have_count(3)
    expect(part).to_contain_text("100 inserted, 20 updated, 1 dead lettered")


def test_shows_a_backfill(world, open_page):
    page = open_page(world.url)
    detail = open_pipeline(page, world, world.names["backfill"])
    expect(detail.get_by_role("progressbar")).to_be_visible()
    bar = detail.locator(".chunkbar")
    expect(bar).to_have_attribute("aria-label", re.compile(
        "17 of 40 chunks done, 2 running, 20 queued, 1 failed, "
        "8,200 rows a second"))
    assert bar.locator("rect.failed").count() == 1
    detail.get_by_text("All chunks").click()
    chunks = detail.get_by_role("region", name="Chunks")
    expect(chunks.locator("tbody tr").first).to_contain_text("failed")
    expect(chunks.locator("tbody tr")).to_have_count(40)


def test_filters_and_sorts_the_lists_of_a_pipeline(world, open_page):
    name = world.names["letters"]
    world.state.letters[name][0]["error"] = {"code": "row-refused",
                                             "message": "no such currency"}
    page = open_page(world.url)
    detail = open_pipeline(page, world, name)
    letters = detail.get_by_role("region", name="All dead letters")
    shown = letters.locator("tbody tr")
    expect(shown.first).to_contain_text("no such currency")
    letters.get_by_role("button", name="Tries").click()
    expect(shown.first).not_to_contain_text("no such currency")
    detail.get_by_label("Filter the dead letters").fill("currency")
    expect(shown).to_have_count(1)
    # Nobody finds by a word what the page hides.
    detail.get_by_label("Filter the dead letters").fill("hidden-key-2")
    expect(shown).to_have_count(0)
    # Escape empties the field, and only then closes the pipeline.
    page.keyboard.press("Escape")
    expect(shown).to_have_count(3)
    expect(detail.get_by_label("Filter the dead letters")).to_have_value("")
    runs = detail.get_by_role("region", name="Runs").locator("tbody tr")
    detail.get_by_label("Filter the runs").fill("run-3-")
    expect(runs).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(detail).to_be_hidden()


def test_hides_values_until_asked(world, open_page):
    """Keys and rows are not even in the page before somebody asks."""
    page = open_page(world.url)
    detail = open_pipeline(page, world, world.names["letters"])
    expect(detail.get_by_role("button", name=re.compile("Show row"))
           ).to_have_count(3)
    content = page.content()
    assert "hidden-key-1" not in content and "4711" not in content
    detail.get_by_role("button", name="Show values of rows").click()
    expect(detail).to_contain_text('{"id":"hidden-key-1"}')
    assert "SECRET-ROW-VALUE" not in page.content()
    detail.get_by_role("button", name=re.compile("Show row")).first.click()
    expect(detail.locator("pre")).to_contain_text("SECRET-ROW-VALUE")
    # The same button, with the focus still on it.
    hide = detail.get_by_role("button", name=re.compile("Hide row"))
    expect(hide).to_be_focused()
    hide.press("Enter")
    expect(detail.locator("pre")).to_have_count(0)
    detail.get_by_role("button", name="Hide values of rows").click()
    assert "hidden-key-1" not in page.content()


def test_pauses_and_resumes(world, open_page):
    page, name = open_page(world.url), world.names["ok"]
    detail = open_pipeline(page, world, name)
    detail.get_by_role("button", name="Pause…").click()
    page.get_by_label(re.compile("Reason")).fill("a new index")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(detail.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.locator("#says")).to_contain_text(f"{name} is paused.")
    assert world.is_paused(name)
    assert world.pause_reason(name) == "a new index"
    expect(detail).to_contain_text("paused by token: a new index")
    detail.get_by_role("button", name="Resume").click()
    expect(detail.get_by_role("button", name="Pause…")).to_be_visible()
    assert not world.is_paused(name)


def test_cancels(world, open_page):
    page, name = open_page(world.url), world.names["ok"]
    detail = open_pipeline(page, world, name)
    pause = detail.get_by_role("button", name="Pause…")
    pause.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(pause).to_be_focused()
    pause.click()
    page.get_by_role("button", name="Cancel").click()
    expect(pause).to_be_focused()
    assert not world.is_paused(name)


def test_runs_now_and_sets_the_pace(world, open_page):
    page, name = open_page(world.url), world.names["ok"]
    detail = open_pipeline(page, world, name)
    detail.get_by_role("button", name="Run now").click()
    expect(page.locator("#says")).to_contain_text("runs as soon as")
    assert world.was_told_to_run(name)
    pace = detail.get_by_label("Rows a second, at most (0: no limit)")
    pace.fill("as fast as you like")
    pace.press("Enter")
    expect(page.locator("#errors")).to_contain_text("must be a whole number")
    expect(pace).to_have_attribute("aria-invalid", "true")
    assert world.rows_per_second(name) is None
    pace.fill("500")
    pace.press("Enter")
    expect(page.locator("#says")).to_contain_text(
        "reads at most 500 rows a second")
    assert world.rows_per_second(name) == "500"
    expect(detail).to_contain_text("Changed by hand")


def test_replays_and_discards_dead_letters(world, open_page):
    page, name = open_page(world.url), world.names["letters"]
    detail = open_pipeline(page, world, name)
    replay = detail.get_by_role("button", name=re.compile("Replay dead"))
    expect(replay).to_have_count(3)
    replay.first.click()
    expect(replay).to_have_count(2)
    assert world.letters(name) == 2
    discard = detail.get_by_role("button", name=re.compile("Discard"))
    discard.first.click()
    page.get_by_role("button", name="Cancel").click()
    discard.first.click()
    # The harmless answer has the focus.
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(replay).to_have_count(1)
    assert world.letters(name) == 1


def test_asks_for_the_token_until_it_is_right(world, open_page):
    page = open_page(world.url, token=None)
    dialog = page.get_by_role("dialog", name="Token")
    expect(dialog).to_be_visible()
    give_token(page, "a wrong one")
    expect(dialog).to_contain_text("The server refuses this token")
    give_token(page, world.token)
    expect(rows(page)).to_have_count(7)
    kept = page.evaluate("[JSON.stringify(sessionStorage), "
                         "JSON.stringify(localStorage), document.cookie]")
    assert world.token in kept[0]
    assert kept[1:] == ["{}", ""]
    page.reload()
    expect(rows(page)).to_have_count(7)
    page.get_by_role("button", name="Forget the token").click()
    expect(dialog).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    page.keyboard.press("Escape")
    expect(page.locator("#trouble")).to_contain_text("The server wants a token")
    page.get_by_role("button", name="Give a token").click()
    give_token(page, world.token)
    expect(page.locator("#trouble")).to_be_hidden()


def test_by_keyboard_alone(world, open_page):
    """From the address bar to a paused pipeline and back."""
    page, name = open_page(world.url, token=None), world.names["failing"]
    expect(page.get_by_role("dialog", name="Token")).to_be_visible()
    page.keyboard.type(world.token)
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(7)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the pipelines")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#list-title")).to_be_focused()
    link = page.get_by_role("link", name=name, exact=True)
    for _ in range(30):
        page.keyboard.press("Tab")
        if link.evaluate("e => e === document.activeElement"):
            break
    expect(link).to_be_focused()
    assert link.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#detail-title")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Pause…")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    wait_for(lambda: world.is_paused(name))
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    expect(link).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_fits_its_window(world, open_page, keep_picture, size, scheme):
    """No sideways scrolling; pictures are kept to be looked at."""
    page = open_page(world.url, SIZES[size], scheme, reduced_motion="reduce")
    expect(rows(page)).to_have_count(7)
    keep_picture(page, f"list-{size}-{scheme}", full_page=True)
    for kind in ("letters", "backfill", "failing"):
        detail = open_pipeline(page, world, world.names[kind])
        expect(detail.locator(".curve")).to_have_count(4)
        assert page.evaluate("document.documentElement.scrollWidth") <= \
            SIZES[size][0]
        # All of the panel, not only the part that is in sight.
        detail.evaluate("e => { e.style.maxHeight = 'none' }")
        keep_picture(page, f"{kind}-{size}-{scheme}", full_page=True)
    moving = page.evaluate("document.getAnimations().length")
    assert moving == 0

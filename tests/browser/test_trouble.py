"""The page when the server, its store or its token is not as it should be.

A stub makes these troubles at the moment that a test needs them.
"""

import re

import pytest
from playwright.sync_api import expect

import stub
from conftest import ask_now
from servers import wait_for


def rows(page):
    return page.locator("#pipelines tbody tr")


def test_says_since_when_the_server_is_silent(world, open_page):
    page = open_page(world.url)
    expect(rows(page)).to_have_count(7)
    expect(page.locator("#trouble")).to_be_hidden()
    world.state.broken = True
    trouble = page.get_by_role("alert").filter(has_text="has not answered")
    expect(trouble).to_contain_text(re.compile(
        r"since \d\d:\d\d:\d\d UTC.*how things were at \d\d:\d\d:\d\d UTC"))
    expect(page.locator("#live-text")).to_contain_text("No answer for")
    # The rows that are known stay to be read.
    expect(rows(page)).to_have_count(7)
    said = trouble.inner_text()
    asked = len(world.state.asked)
    for n in range(2):
        ask_now(page)
        wait_for(lambda n=n: len(world.state.asked) > asked + n)
    assert trouble.inner_text() == said
    world.state.broken = False
    expect(page.locator("#trouble")).to_be_hidden()
    expect(page.locator("#live-text")).to_have_text("Live")


def test_says_that_the_server_was_never_there(world, open_page):
    world.state.broken = True
    page = open_page(world.url)
    expect(page.locator("#trouble")).to_contain_text("There is nothing to show")
    world.state.broken = False
    expect(rows(page)).to_have_count(7)


def test_says_that_the_store_is_away(world, open_page):
    world.state.store_error = "could not connect to state.internal:5432"
    page = open_page(world.url)
    expect(page.locator("#store")).to_contain_text(
        "The state store does not answer")
    expect(page.locator("#store")).to_contain_text("state.internal:5432")
    world.state.store_error = None
    expect(page.locator("#store")).to_be_hidden()


def test_shows_what_changes(world, open_page):
    """Without a reload, and without taking the focus away."""
    page = open_page(world.url)
    link = page.get_by_role("link", name="customers", exact=True)
    link.focus()
    world.state.pipelines["customers"].update(
        state="failing", since=stub.stamp(), last_error={
            "code": "key-missing", "message": "no column id"})
    expect(rows(page).filter(has=link)).to_contain_text(
        "key-missing: no column id")
    expect(page.locator("#summary")).to_contain_text("2 failing")
    expect(link).to_be_focused()
    del world.state.pipelines["customers"]
    expect(rows(page)).to_have_count(6)


def change_visibility(page, hidden):
    page.evaluate("""hidden => {
        Object.defineProperty(document, 'hidden',
            { get: () => hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }""", hidden)


@pytest.mark.parametrize("under_way", [False, True])
def test_a_hidden_tab_asks_nothing(world, open_page, under_way):
    """Also if its last question is answered only after it was hidden."""
    page = open_page(world.url, clock=True)
    expect(rows(page)).to_have_count(7)
    asked = len(world.state.asked)
    if under_way:
        world.state.gate.clear()
        page.clock.run_for(4000)
        wait_for(lambda: len(world.state.asked) > asked)
        asked += 1
    change_visibility(page, True)
    change_visibility(page, True)
    world.state.gate.set()
    for _ in range(5):
        page.clock.run_for(60000)
        page.evaluate("fetch('tidemark.css').then(answer => answer.text())")
    assert len(world.state.asked) == asked
    change_visibility(page, False)
    wait_for(lambda: len(world.state.asked) > asked)


def test_updates_can_be_stopped(world, open_page):
    page = open_page(world.url)
    expect(rows(page)).to_have_count(7)
    stop = page.get_by_role("button", name="Stop updates")
    stop.click()
    expect(stop).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#live-text")).to_contain_text("Stopped")
    world.state.pipelines.popitem()
    expect(page.locator("#live-text")).to_contain_text(
        re.compile(r"as of ([4-9]|\d\d) s ago|as of \d+ min"))
    expect(rows(page)).to_have_count(7)
    stop.click()
    expect(rows(page)).to_have_count(6)


def test_a_server_without_a_token(world, open_page):
    """It shows all but rows, and takes no orders: nobody is asked for one."""
    world.state.has_token = False
    page = open_page(f"{world.url}#/payments", token=None)
    expect(rows(page)).to_have_count(7)
    page.get_by_role("button", name="Run now").click()
    expect(page.locator("#errors")).to_contain_text("none is configured")
    page.get_by_role("button", name="Show row").first.click()
    expect(page.locator("#errors .say")).to_have_count(2)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_tells_the_servers_refusal_in_words(world, open_page):
    page = open_page(f"{world.url}#/customers")
    world.state.fail_next = (409, {"code": "run-busy", "message":
                                   "worker-9 runs it already"})
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("alert").filter(has_text="could not be run")
           ).to_contain_text("customers could not be run: run-busy: worker-9 "
                             "runs it already")
    # It stays until somebody has read it.
    page.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.locator("#errors .say")).to_have_count(0)

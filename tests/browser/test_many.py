"""A thousand pipelines. Times are reported with --full, and never asserted."""

from playwright.sync_api import expect

import stub
from conftest import NARROW, WIDE, ask_now
from servers import wait_for

FIRST = """() => new Promise(resolve => {
    const look = () => document.querySelector('#pipelines tbody tr') ?
        requestAnimationFrame(() => resolve(performance.now())) :
        requestAnimationFrame(look);
    look();
})"""
ALL = FIRST.replace("querySelector(", "querySelectorAll(").replace(
    "tr')", "tr').length >= 1000")
FRAMES = """async press => {
    const began = performance.now();
    document.querySelector(press).click();
    await new Promise(done => requestAnimationFrame(() =>
        requestAnimationFrame(done)));
    return performance.now() - began;
}"""


def measure(page):
    """In ms: the first row, all rows, and two frames after a press."""
    figures = {"first row": page.evaluate(FIRST)}
    figures["all rows"] = page.evaluate(ALL)
    figures["sort"] = page.evaluate(FRAMES, "th.c-lag button")
    figures["filter"] = page.evaluate(FRAMES, ".tile.failing")
    figures["unfilter"] = page.evaluate(FRAMES, ".tile.failing")
    return {name: round(value) for name, value in figures.items()}


def test_a_thousand_pipelines(serve_stub, open_page, keep_picture,
                              record_property):
    server = serve_stub(stub.many())
    for size in (WIDE, NARROW):
        page = open_page(server.url, size)
        figures = measure(page)
        record_property("figures", f"{size[0]} px: {figures} ms")
        print(f"{size[0]} px: {figures} ms")
        rows = page.locator("#pipelines tbody tr")
        expect(rows).to_have_count(1000)
        keep_picture(page, f"thousand-{size[0]}")
        page.get_by_label("Filter", exact=True).fill("tenant_0777")
        expect(rows).to_have_count(1)
        rows.get_by_role("link").press("Enter")
        expect(page.locator("#detail .curve")).to_have_count(4)
        page.keyboard.press("Escape")
        expect(rows.get_by_role("link")).to_be_focused()


def test_rows_stay_the_same_elements(serve_stub, open_page):
    """A poll that brings nothing new touches no row."""
    server = serve_stub(stub.many())
    page = open_page(server.url)
    page.evaluate(ALL)
    page.evaluate("""() => {
        window.moved = 0;
        new MutationObserver(records => {
            for (const r of records)
                window.moved += r.addedNodes.length;
        }).observe(document.querySelector('#pipelines tbody'),
            { childList: true });
    }""")
    asked = server.state.asked.count("pipelines")
    for n in range(3):
        ask_now(page)
        wait_for(lambda n=n: server.state.asked.count("pipelines") > asked + n)
    assert page.evaluate("window.moved") == 0


def test_the_page_is_small():
    """The three files together, as the browser loads them."""
    size = sum(path.stat().st_size for path in stub.PAGE.iterdir())
    assert size < 200 * 1024

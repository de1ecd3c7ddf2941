"""Everything the server tells may be hostile: it is shown, and does nothing.

The names here are made by a stub, because no config takes all of them.
"""

import json
import re

import pytest
from playwright.sync_api import expect

import stub
from conftest import NARROW, ask_now

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>alert(1)</script>"
NAMES = [
    MARKUP,
    "__proto__", "constructor", "hasOwnProperty", "toString",
    "a/b?c#d%41&e=f", "..", "%", "%E0%A4%A", "#/x", " leading and trailing ",
    "javascript:alert(1)", "\"'`><", "${7*7}{{7*7}}",
    "safe\u202egpj.exe", "zero\u200bwidth", "null\x00byte", "line\nbreak",
    "\U0001f30a" * 20, "x" * 2000, "word " * 300, "\u0645\u0631\u062d\u0628\u0627",
]


def hostile():
    made = []
    for i, name in enumerate(NAMES):
        made.append(stub.pipeline(
            name, stub.STATES[i % 6], schedule=MARKUP, source=MARKUP,
            destination=MARKUP, guarantee=MARKUP, dead_letters=2,
            last_error={"code": MARKUP, "message": MARKUP * 20},
            waiting={"reason": MARKUP, "whom": MARKUP, "since": MARKUP},
            paused_by={"reason": "pause", "whom": MARKUP, "since": None},
            paused_reason=MARKUP,
            lease={"host": MARKUP, "pid": MARKUP}, lag_seconds=None,
            lag_reason=MARKUP, watermark={"column": MARKUP, "value": MARKUP}))
    return made


@pytest.fixture
def server(serve_stub):
    server = serve_stub(hostile())
    state = server.state
    error = {"code": MARKUP, "message": MARKUP}
    for name in NAMES:
        state.letters[name] = [stub.letter(
            n, name, id=f"{MARKUP}{n}", key={MARKUP: MARKUP}, error=error)
            for n in (1, 2)]
        state.runs[name] = [stub.run(n, name, error) for n in (1, 2)]
    state.row = {MARKUP: MARKUP}
    return server


def test_markup_stays_text(server, open_page):
    page = open_page(server.url)
    rows = page.locator("#pipelines tbody tr")
    expect(rows).to_have_count(len(NAMES))
    assert page.locator("#main img, #main script").count() == 0
    assert rows.get_by_text(MARKUP).first.is_visible()
    for i in (0, 1, 5, 8, 14, 18, 19):
        link = rows.get_by_role("link").nth(0)
        page.get_by_label("Filter", exact=True).fill("")
        expect(rows).to_have_count(len(NAMES))
        name = NAMES[i]
        page.evaluate("name => { location.hash = '#/' + "
                      "encodeURIComponent(name) }", name)
        detail = page.locator("#detail")
        expect(detail.locator("#detail-title")).not_to_be_empty()
        expect(detail.get_by_role("button", name=re.compile("Replay dead"))
               ).to_have_count(2)
        expect(detail.get_by_text("The server does not know")).to_be_hidden()
        detail.get_by_role("button", name="Show values of rows").click()
        assert page.locator("#detail img, #detail script").count() == 0
        assert link.count()
    assert "owned" not in page.title()


def test_orders_name_their_pipeline(server, open_page):
    """A name with slashes and percents reaches the server whole."""
    page = open_page(server.url)
    expect(page.locator("#pipelines tbody tr")).to_have_count(len(NAMES))
    for name in ("a/b?c#d%41&e=f", "%", "__proto__", MARKUP):
        page.evaluate("name => { location.hash = '#/' + "
                      "encodeURIComponent(name) }", name)
        page.get_by_role("button", name="Run now").click()
        expect(page.locator("#says .say").last).to_contain_text(name)
        path = server.state.orders[-1][0]
        assert path.count("/") == 2 and path.endswith("/run")
        page.get_by_role("button", name="Close", exact=True).last.click()
        assert stub.urllib.parse.unquote(path.split("/")[1]) == name


def test_names_that_look_alike_are_told_apart(server, open_page):
    page = open_page(server.url)
    for shown in ("safe\\u202egpj.exe", "zero\\u200bwidth", "null\\u0000byte"):
        expect(page.get_by_role("link", name=shown)).to_be_visible()


def test_long_names_fit_a_telephone(server, open_page):
    page = open_page(server.url, NARROW)
    expect(page.locator("#pipelines tbody tr")).to_have_count(len(NAMES))
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW[0]
    page.evaluate("location.hash = '#/' + 'x'.repeat(2000)")
    expect(page.locator("#detail .curve")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW[0]


@pytest.mark.parametrize("hash_", ["#/%", "#/%E0%A4%A", "#//", "#x", "#/gone"])
def test_odd_addresses(server, open_page, hash_):
    page = open_page(f"{server.url}{hash_}")
    expect(page.locator("#pipelines tbody tr")).to_have_count(len(NAMES))
    if hash_ == "#/gone":
        expect(page.get_by_text("The server does not know this pipeline")
               ).to_be_visible()


@pytest.mark.parametrize("answer", [
    "", "<html>a proxy's page</html>", "null", "[]", "7", "{",
    '{"pipelines": null}', '{"pipelines": [null, 3, {}, {"pipeline": 5}]}',
    json.dumps({"pipelines": [{"pipeline": "bare"}]}),
    json.dumps({"now": "no time", "serve": None, "pipelines": [{
        "pipeline": "bare", "state": 5, "since": 7, "lag_seconds": "12",
        "last_error": "text", "waiting": {}, "paused_by": {}, "watermark": "7",
        "progress": {}, "lease": {}, "last_run": {}, "dead_letters": None}]}),
])
def test_answers_that_lack_things(server, open_page, answer):
    """No answer of the server breaks the page."""
    server.state.raw["pipelines"] = answer
    for path in ("runs", "dead-letters", "chunks", "series", "pace"):
        server.state.raw[path] = "{}" if "bare" in answer else answer
    page = open_page(f"{server.url}#/bare")
    if "pipelines" in answer:
        expect(page.locator("#live-text")).to_have_text("Live")
        expect(page.locator("#trouble")).to_be_hidden()
    else:
        expect(page.locator("#trouble")).to_be_visible()
    if "bare" in answer:
        expect(page.get_by_role("heading", name="bare")).to_be_visible()
    del server.state.raw["pipelines"]
    ask_now(page)
    expect(page.locator("#pipelines tbody tr")).to_have_count(len(NAMES))


@pytest.mark.parametrize("path,answer", [
    ("series", {"points": [{"at": None}, {}, {"at": "2026-01-01T00:00:00Z"}]}),
    ("series", {"points": [{"at": f"2026-01-01T0{n}:00:00Z", "lag_seconds": v}
                           for n, v in enumerate([0, 1e300, -5, "x"])]}),
    ("series", {"points": [{"at": "2026-01-01T00:00:00Z", "lag_seconds": 1}]
                * 3}),
    ("chunks", {"chunks": [{}, {"state": MARKUP}], "backfill": {}}),
    ("pace", {"pipelines": [{"pace": {"rows_per_second": MARKUP}}]}),
    ("runs", {"runs": [{"run_id": "a"}, {"run_id": "a", "attempts": [{}]}]}),
    ("dead-letters", {"dead_letters": [{"id": "a"}, {"id": "b", "error": 5}]}),
])
def test_odd_parts(server, open_page, path, answer):
    """A part that is odd leaves the others alone."""
    server.state.raw[path] = json.dumps(answer)
    page = open_page(f"{server.url}#/__proto__")
    expect(page.get_by_label("Pace", exact=True)).to_contain_text("Replica lag")
    expect(page.locator("#live-text")).to_have_text("Live")
    assert page.locator("#main img, #main script").count() == 0

"""Fixtures of the suite `browser`: the dashboard in Debian's Chromium."""

import datetime
import os
import pathlib

import pytest
from playwright.sync_api import expect, sync_playwright

import stub

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# Pictures of the page, to be looked at. They lie outside of git.
PICTURES = pathlib.Path(os.environ.get(
    "TIDEMARK_TEST_PICTURES",
    pathlib.Path(__file__).resolve().parents[2] / "build-test/pictures"))
WIDE, NARROW = (1920, 1080), (375, 812)
# As long as a busy machine may need.
TIMEOUT_MS = 60000
# The browser itself writes these when a server hangs up or refuses.
OF_THE_NETWORK = "Failed to load resource"


def ask_now(page):
    """The page asks as soon as updates go on."""
    for _ in range(2):
        page.get_by_role("button", name="Stop updates").click()


class StubWorld:
    """Pipelines to look at, on a stub server: one of each kind, and troubles at
    the moment that a test needs them. test_live.py asks a real serve.
    """

    url, token = None, stub.TOKEN
    names = {"ok": "customers", "failing": "orders", "letters": "payments",
             "backfill": "events", "paused": "invoices", "late": "refunds",
             "never_run": "audit_log"}

    def __init__(self):
        self.state = stub.State(stub.usual())
        self.server = stub.Server(self.state)
        self.url = self.server.url

    def is_paused(self, name):
        return bool(self.state.pipelines[name]["paused_by"])

    def pause_reason(self, name):
        return self.state.pipelines[name]["paused_reason"]

    def letters(self, name):
        return len(self.state.letters.get(name, []))

    def was_told_to_run(self, name):
        return (f"pipelines/{name}/run", {}) in self.state.orders

    def rows_per_second(self, name):
        return self.state.pace.get(name, {}).get("rows_per_second")

    def stop(self):
        self.server.stop()


@pytest.fixture
def world():
    made = StubWorld()
    yield made
    made.stop()


@pytest.fixture
def serve_stub():
    """Serve other pipelines; each call starts a server of its own."""
    made = []

    def serve(pipelines):
        made.append(stub.Server(stub.State(pipelines)))
        return made[-1]

    yield serve
    for server in made:
        server.stop()


@pytest.fixture(scope="session")
def browser():
    if not os.access(CHROMIUM, os.X_OK):
        pytest.fail(f"no {CHROMIUM}: tools/setup --tests installs it")
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as running:
        made = running.chromium.launch(executable_path=CHROMIUM)
        yield made
        made.close()


@pytest.fixture
def open_page(browser):
    """Open an address, in a tab that has the token or was given None. At the
    end no page has had an error."""
    contexts, errors = [], []

    def listen(message):
        if message.type in ("error", "warning") and \
                OF_THE_NETWORK not in message.text:
            errors.append(message.text)

    def make(url, size=WIDE, scheme="light", token=stub.TOKEN, clock=False,
             **more):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme, **more)
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        page = context.new_page()
        if token:
            context.add_init_script(
                f"sessionStorage.setItem('tidemark.token', '{token}')")
        page.on("console", listen)
        page.on("pageerror", lambda error: errors.append(str(error)))
        if clock:
            page.clock.install()  # the test moves it on
            page.clock.pause_at(datetime.datetime.now() +
                                datetime.timedelta(hours=1))
        page.goto(url)
        return page

    yield make
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def keep_picture(request):
    def keep(page, name, **more):
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png", **more)
    return keep

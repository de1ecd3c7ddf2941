"""Canaries in rows, passwords, tokens and hooks, and all routes of `serve`.
Nobody without the token hears of a row, and nobody of a secret. The routes are
read from the source, so a new one has to be named here."""

import http.client
import json
import pathlib
import re
import signal
import urllib.parse

import pytest

import workload
from bench import EXIT_CONFIG, EXIT_OK, items_settings
from canon import quote_table
from refused_items import BAD, poison_some, target  # noqa: F401
from servers import CANARY, wait_for
from test_serve import logged, stop

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "canary-token-of-thirty-two-chars"
ROW = "canary-row-kolibri"
# Each is in the config of what is served.
SECRETS = {"password": CANARY, "token": TOKEN, "hook": "canary-hook-4711",
           "hook's secret": "canary-hmac-0815",
           "wrong password": "canary-wrong-2342",
           "argument": "canary-argument-99"}
# The target's own words about a row that it refuses.
TRIGGER = """
CREATE FUNCTION {schema}.tells() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'not %', NEW.name; END $$;
CREATE TRIGGER tells BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {schema}.tells()
"""
GET = {"/metrics", "/healthz", "/readyz", "/api/v1/pipelines", "/api/v1/runs",
       "/api/v1/runs/{}", "/api/v1/dead-letters", "/api/v1/dead-letters/{}",
       "/api/v1/chunks", "/api/v1/series", "/api/v1/pace",
       "/api/v1/orders"}
POST = {f"/api/v1/pipelines/{{}}/{what}"
        for what in ("run", "pause", "resume", "pace")} | {
    "/api/v1/runs/{}/replay", "/api/v1/dead-letters/{}/replay",
    "/api/v1/dead-letters/{}/discard"}
OPEN = {"/healthz", "/readyz"}
# The one that tells a row, and to whom.
TELLS = ("GET", "/api/v1/dead-letters/{}")


def routes():
    """(method, pattern) of each route that the server has."""
    text = (ROOT / "core/serve/api.c").read_text(encoding="utf-8")
    table = text[text.index("api_routes[] = {"):]
    return re.findall(r'\{\s*"([A-Z]+)",\s*"(/[^"]*)"', table)


def pages():
    """Paths of the dashboard's own files."""
    return ["/", *(f"/{path.name}" for path in
                   (ROOT / "core/serve/page").iterdir())]


class Asker:
    """Asks one server, and keeps all that it says: headers, too."""

    def __init__(self, running):
        wait_for(lambda: logged(running, "listening on"), what="the server")
        self.address = re.search(r"listening on (\S+)",
                                 running.text["err"].decode())[1]
        self.said = []

    def __call__(self, method, path, token=None, body=None, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            text = f"{reply.getheaders()} {reply.read().decode()}"
        finally:
            connection.close()
        self.said.append((method, path, token, reply.status, text))
        return reply.status, text

    def json(self, path, token):
        status, text = self("GET", path, token)
        assert status == 200, (path, text)
        return json.loads(text[text.index("] ") + 2:])


@pytest.fixture
def canaries(tidemark, target, make_database):  # noqa: F811
    """Pipelines that fail and refuse, each with a canary in hand."""
    source, destination = target("postgres", schedule="every 1s")
    source.execute(f"UPDATE items SET name = '{ROW}' WHERE id > 2")
    poison_some(source)
    state = make_database("state")
    tidemark.top["state"] = state.connection()
    tidemark.top["notify"] = [
        {"webhook": f"http://127.0.0.1:1/{SECRETS['hook']}",
         "secret": SECRETS["hook's secret"]},
        {"command": ["/bin/false", SECRETS["argument"]]}]

    def more(name, **settings):
        tidemark.pipeline(name, **{**items_settings(
            source, destination, "timestamp", to=f"{destination.schema}.{name}",
            schedule="every 1s",
            retry={"attempts": 2, "backoff": "10ms",
                   "breaker": {"failures": 3}}), **settings})
    more("halted", retry={"attempts": 1, "breaker": {"failures": 0}})
    more("gated", gate={"match": {"name": "^z$"}})
    more("fine")
    tidemark.write_config().run("fine", "halted")
    table = quote_table(f"{destination.schema}.halted")
    destination.execute(TRIGGER.format(schema=destination.schema, table=table))
    source.execute("UPDATE items SET updated_at = now() WHERE id = 1",
                   f"UPDATE items SET name = '{ROW}' WHERE id = 1")
    workload.settle(source)
    url = source.connection()["url"]
    tidemark.connect("wrong", {
        "url": url, "password": SECRETS["wrong password"]})
    tidemark.connect("away", {"url": re.sub(r"@[^/]*", "@127.0.0.1:1", url),
                              "password": SECRETS["wrong password"]})
    for name in ("wrong", "away"):
        more(name)
        tidemark.pipelines[name]["source"]["connection"] = name
    tidemark("backfill", "fine", "--to", "2024-02-02").expect(EXIT_OK)
    return source, destination


def fills(asker, token, pattern):
    """Paths of a pattern: of what there is, and of what there is not."""
    names = ["items", "halted", "gated", "wrong", "nobody", "<no>/one"]
    ids = names
    if "/runs/" in pattern:
        ids = [each["run_id"] for each in
               asker.json("/api/v1/runs?limit=200", token)["runs"]]
        ids = ids[:3] + ids[-3:] + names[-2:]
    if "/dead-letters/" in pattern:
        ids = [each["id"] for each in
               asker.json("/api/v1/dead-letters", token)["dead_letters"]]
        ids += names[-2:]
    paths = [pattern.replace("{}", urllib.parse.quote(each, safe=""))
             for each in ids] if "{}" in pattern else [pattern]
    queries = ["", "?brief=1", "?limit=1000", "?limit=1&limit=2", "?limit=-1",
               *(f"?pipeline={name}&limit=500" for name in names[:-1])]
    return [path + query for path in dict.fromkeys(paths) for query in queries]


BODIES = (None, "{}", '{"reason": "%s"}' % CANARY, '{"rows_per_second": "9"}',
          "{%s" % CANARY, '["%s"]' % CANARY)


def ask_all(asker, token, known):
    """Every route, with this token; `known` is the right one, if there is."""
    for method, pattern in routes():
        for path in fills(asker, known, pattern):
            if method == "GET":
                asker("GET", path, token)
                asker("HEAD", path, token)
                asker("OPTIONS", path, token)
                continue
            for body in BODIES if "?" not in path else BODIES[:1]:
                asker("POST", path, token, body)
    for path in (*pages(), "/api/v1/nothing", "/api/v1/../v1/runs", "/%2e%2e/"):
        asker("GET", path, token)


def check_secrets(text, where):
    for what, secret in SECRETS.items():
        assert secret not in text, (f"{what} is told", where)


def bad_days(asker, token):
    """All that is to fail has failed, and was told about."""
    def states():
        told = asker.json("/api/v1/pipelines", token)["pipelines"]
        return {each["pipeline"]: each for each in told}
    wait_for(lambda: states()["items"].get("dead_letters") == len(BAD),
             what="dead letters")
    for name in ("halted", "gated", "wrong", "away"):
        wait_for(lambda name=name: states()[name].get("last_error"),
                 what=f"{name} to fail")
    assert "log.row_values" in states()["halted"]["last_error"]["message"]


def fails_on(asker, token):
    """Runs that began after this moment have failed, too."""
    seen = set()

    def fresh():
        told = asker.json("/api/v1/pipelines", token)["pipelines"]
        seen.update(each["last_run"]["attempt_id"] for each in told
                    if each["pipeline"] == "halted" and
                    each["last_run"]["outcome"] == "failed")
        return len(seen) > 3
    wait_for(fresh, what="more failures")


@pytest.mark.parametrize("token", (TOKEN, None), ids=("token", "no_token"))
def test_no_route_tells_a_canary(tidemark, canaries, token):
    _, destination = canaries
    assert {("GET", path) for path in GET} | {("POST", path) for path in POST} \
        == set(routes()), "a route that this test does not know"
    tidemark.top["serve"] = {"listen": "127.0.0.1:0",
                             **({"token": token} if token else {})}
    tidemark.write_config()
    running = tidemark.start("-v", "serve")
    asker = Asker(running)
    bad_days(asker, token)
    for sent in dict.fromkeys((None, "wrong" * 7, token)):
        ask_all(asker, sent, token)
    done = stop(running)
    rows = 0
    for method, path, sent, status, text in asker.said:
        where = f"{method} {path} by {sent}: {status}"
        # Whoever has the token may name a reason, and read it again.
        if method == "GET" and status == 200 and sent == TOKEN:
            text = text.replace(f'"{CANARY}"', '""')
        check_secrets(text, where)
        pattern = re.sub(r"\?.*", "", path)
        tells = bool(token) and sent == token and method == TELLS[0] and \
            bool(re.fullmatch(TELLS[1].replace("{}", "[0-9a-f]+"), pattern))
        assert tells or ROW not in text, where
        rows += ROW in text
        if token and sent != token and pattern not in (*OPEN, *pages()):
            assert status in (400, 401, 404, 405, 415), where
        if method == "POST" and not (token and sent == token):
            assert status in (401, 403, 404), where
    assert bool(rows) == bool(token), "no row was there to be told"
    assert ROW not in done.err and ROW not in done.out
    for what, secret in SECRETS.items():
        assert secret not in done.err, (f"{what} is in the log", done.err)


def test_rows_are_told_behind_a_token_alone(tidemark, canaries):
    """A port without a token and errors with values in them do not go
    together, neither at the start nor later. A refused config changes
    nothing."""
    del tidemark.top["notify"]
    tidemark.top["serve"] = {"listen": "127.0.0.1:0"}
    tidemark.top["log"] = {"row_values": True}
    refused = tidemark.write_config()("serve").expect(EXIT_CONFIG)
    assert "serve.token" in refused.err and "row_values" in refused.err
    tidemark.top["log"]["row_values"] = False
    running = tidemark.write_config().start("serve")
    asker = Asker(running)
    bad_days(asker, None)
    tidemark.top["log"]["row_values"] = True
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    wait_for(lambda: logged(running, "the pipelines stay as they are"),
             what="the refusal")
    fails_on(asker, None)
    for path in ("/api/v1/runs?limit=1000", "/api/v1/pipelines"):
        assert ROW not in asker("GET", path)[1]
    assert ROW not in stop(running).err
    tidemark.top["serve"]["token"] = TOKEN
    running = tidemark.write_config().start("serve")
    asker = Asker(running)
    wait_for(lambda: ROW in asker("GET", "/api/v1/pipelines", TOKEN)[1],
             what="values to whom they are for")
    assert asker("GET", "/api/v1/pipelines")[0] == 401
    stop(running)


def test_a_config_that_is_refused_shows_no_values(tidemark, canaries):
    """With the token, too: it comes into force as a whole, or not at all."""
    del tidemark.top["notify"]
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    running = tidemark.write_config().start("serve", "halted")
    asker = Asker(running)
    wait_for(lambda: asker.json("/api/v1/pipelines", TOKEN)["pipelines"][0]
             .get("last_error"), what="a failure")
    tidemark.top["log"] = {"row_values": True}
    halted = tidemark.pipelines.pop("halted")
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    wait_for(lambda: logged(running, "the pipelines stay as they are"),
             what="the refusal")
    fails_on(asker, TOKEN)
    assert ROW not in asker("GET", "/api/v1/pipelines", TOKEN)[1]
    tidemark.pipelines["halted"] = halted
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    wait_for(lambda: ROW in asker("GET", "/api/v1/pipelines", TOKEN)[1],
             what="values to whom they are for")
    stop(running)

"""A server that says nothing: at the door, in the handshake of TLS, in the
middle of an answer. A signal ends all that waits for it, while its connection
stays open and long before any timeout."""

import signal
import socket
import threading

import pytest

import bigquery_servers
import workload
from bench import EXIT_STOPPED, sync_items
from proxy import DOWN, Fault, Proxy
from servers import wait_for

NEVER = "30m"
TIMEOUTS = {"timeout": {"connect": NEVER, "silence": NEVER}}
# As long as a busy machine may take to notice; a timeout takes far longer.
PATIENCE = 60
ENGINES = ("postgres", "mariadb", "mysql", "clickhouse", "bigquery")
PLACES = [(engine, side) for engine in ENGINES
          for side in ("source", "warehouse")] + [("postgres", "state")]
TLS_OF_MYSQL = 0x0800


def server_of(end):
    return next(getattr(end, name) for name in ("cluster", "server", "front")
                if hasattr(end, name))


class Case:
    """A pipeline one of whose servers is at a port of ours."""

    def __init__(self, tidemark, ends, side):
        self.tidemark, self.ends, self.side = tidemark, ends, side
        self.end = ends[side]
        sync_items(tidemark, ends["source"], ends["warehouse"], "timestamp",
                   key=["id"], retry={"attempts": 1})

    def reach(self, port, scheme=None, **more):
        """The side's connection leads to that port."""
        url = self.end.url().replace(f":{server_of(self.end).port}/",
                                     f":{port}/")
        if scheme:
            url = url.replace(url.partition(":")[0], scheme, 1)
        there = {"url": url, "password": "${TIDEMARK_TEST_PASSWORD}",
                 **TIMEOUTS, **more}
        if self.side == "state":
            self.tidemark.top["state"] = there
        else:
            self.tidemark.connect(self.side, there)
        if self.end.engine == "bigquery":  # its URL has no host
            self.tidemark.env[bigquery_servers.HOST] = f"127.0.0.1:{port}"
        self.tidemark.write_config()
        return self

    def start(self, *command):
        return self.tidemark.start(*command, "--json")


@pytest.fixture
def make_case(tidemark, make_source, make_destination, make_database):
    def make(engine, side, rows=20):
        ends = {"source": make_source("sqlite"),
                "warehouse": make_destination("sqlite")}
        truth = ends["source"]
        workload.create_items(truth, rows=rows)
        if side == "state":
            ends[side] = make_database("state")
        elif side == "warehouse" or engine in ("clickhouse", "bigquery"):
            ends[side] = make_destination(engine)
        else:
            ends[side] = make_source(engine)
        if side == "source" and engine in ("clickhouse", "bigquery"):
            sync_items(tidemark, truth, ends[side], "timestamp").run()
            tidemark("watermark", "reset", "items")
        elif side == "source":
            workload.create_items(ends[side], rows=rows)
        return Case(tidemark, ends, side)
    return make


def heeded(call):
    call.signal(signal.SIGTERM)
    call.wait(PATIENCE).expect(EXIT_STOPPED)


class Silence:
    """Takes every connection, hands it to `answer`, and says nothing more."""

    def __init__(self, answer=None):
        self.answer = answer or (lambda sock: None)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.reached = threading.Event()
        self.open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for each in self.open:
            each.close()

    def _accept(self):
        while True:
            try:
                sock = self.listener.accept()[0]
            except OSError:
                return
            self.open.append(sock)
            self.answer(sock)
            self.reached.set()


@pytest.mark.parametrize("engine, side", PLACES)
def test_at_the_door(make_case, engine, side):
    case = make_case(engine, side)
    with Silence() as silence:
        call = case.reach(silence.port).start("run")
        assert silence.reached.wait(PATIENCE), call.kill()
        heeded(call)


def tls_of_postgres(sock, _):
    sock.recv(8, socket.MSG_WAITALL)  # asks for it
    sock.sendall(b"S")


def tls_of_mysql(sock, port):
    """By the real server's greeting."""
    with socket.create_connection(("127.0.0.1", port)) as real:
        head = real.recv(4, socket.MSG_WAITALL)
        body = bytearray(real.recv(int.from_bytes(head[:3], "little"),
                                   socket.MSG_WAITALL))
    at = body.index(0, 1) + 1 + 4 + 8 + 1
    body[at + 1] |= TLS_OF_MYSQL >> 8
    sock.sendall(head + body)
    sock.recv(36, socket.MSG_WAITALL)  # asks for it


@pytest.mark.parametrize("engine, side", [
    each for each in PLACES if each[0] != "bigquery"])
def test_in_the_handshake(make_case, engine, side):
    """Its first words have come, and are not answered."""
    case = make_case(engine, side)
    port = server_of(case.end).port
    begin = {"postgres": tls_of_postgres, "mariadb": tls_of_mysql,
             "mysql": tls_of_mysql}.get(engine, lambda *_: None)

    def answer(sock):
        begin(sock, port)
        assert sock.recv(1) == b"\x16"  # a record of a handshake

    more = {} if engine == "clickhouse" else {"tls": {"mode": "required"}}
    with Silence(answer) as silence:
        call = case.reach(silence.port, "clickhouses" if engine == "clickhouse"
                          else None, **more).start("run")
        assert silence.reached.wait(PATIENCE), call.kill()
        heeded(call)


def passed_in_all(case, proxy, command):
    """Bytes that come back while nothing is wrong."""
    fault = proxy.arm(Fault("stall", DOWN, after=1 << 40))
    case.start(*command).wait().expect(0)
    return fault.passed


def silenced(case, proxy, command, part):
    """Waiting for what no longer comes. Where more was said the first time, as
    when a busy machine had it ask twice, that part may be all: once more."""
    for _ in range(5):
        after = int(passed_in_all(case, proxy, command) * part)
        fault = proxy.arm(Fault("stall", DOWN, after=after, lasting=True))
        call = case.start(*command)
        wait_for(lambda: fault.struck or not call.alive(), step=0.05,
                 what="silence")
        if fault.struck:
            return call
        call.wait()
    raise AssertionError(f"{command} says less each time")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("part", (0.1, 0.5, 0.9))
@pytest.mark.parametrize("engine, side", PLACES)
def test_in_the_middle(make_case, engine, side, part):
    """The end falls silent in the middle of a run, mostly among its rows."""
    case = make_case(engine, side, rows=300)
    with Proxy(server_of(case.end).port) as proxy:
        case.reach(proxy.port)
        heeded(silenced(case, proxy, ("run", "--full-refresh"), part))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("command", ("check", "status", "verify"))
@pytest.mark.parametrize("engine, side", (
    ("postgres", "source"), ("mariadb", "source"), ("postgres", "warehouse"),
    ("mariadb", "warehouse"), ("bigquery", "warehouse"),
    ("postgres", "state")))
def test_other_commands(make_case, engine, side, command):
    case = make_case(engine, side)
    case.tidemark.run()
    with Proxy(server_of(case.end).port) as proxy:
        call = silenced(case.reach(proxy.port), proxy, (command,), 0.5)
        call.signal(signal.SIGTERM)
        done = call.wait(PATIENCE).expect(EXIT_STOPPED)
    # A part of an answer is not shown as if it were the whole.
    shown = done.json()["pipelines"] if done.out else []
    assert shown == [] or command == "verify" and not shown[0]["equal"]

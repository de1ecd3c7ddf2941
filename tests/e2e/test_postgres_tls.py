"""PostgreSQL reached without TLS: a password goes out in clear to this machine
alone, wherever libpq has found the host and however it is spelled."""

import socket
import socketserver
import struct
import threading

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, sync_items
from servers import CANARY

# On Linux it leads to loopback, and it does not say so.
FAR = "0.0.0.0"
TLS_ASKED, GSS_ASKED = 80877103, 80877104


class AsksInClear(socketserver.BaseRequestHandler):
    """A server that has no TLS and wants the password as it is."""

    def take(self, n):
        data = self.request.recv(n, socket.MSG_WAITALL)
        self.server.seen += data
        if len(data) < n:
            raise ConnectionError
        return data

    def handle(self):
        try:
            while True:
                length, code = struct.unpack("!II", self.take(8))
                if code not in (TLS_ASKED, GSS_ASKED):
                    break
                self.request.sendall(b"N")
            self.take(length - 8)
            self.request.sendall(b"R" + struct.pack("!II", 8, 3))
            self.take(1)
            self.take(struct.unpack("!I", self.take(4))[0] - 4)
        except (ConnectionError, struct.error):
            pass


@pytest.fixture
def listener():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0),
                                         AsksInClear) as server:
        server.seen = b""
        server.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def asked(tidemark, work_dir, listener):
    """Run with a URL; has the listener learned the password?"""
    def ask(url, service="", env=None, **more):
        path = work_dir / "services"
        path.write_text("[far]\n" + service.replace(" ", "\n") + "\n")
        tidemark.connect("source", {
            "url": url.replace("PORT", str(listener.port)),
            "password": "${TIDEMARK_TEST_PASSWORD}", **more})
        tidemark.connect("warehouse", f"sqlite:{work_dir}/w.db")
        tidemark.pipeline(
            "t", source={"connection": "source", "table": "x.t"},
            destination={"connection": "warehouse", "table": "main.t"},
            watermark={"strategy": "sequence", "column": "id"},
            retry={"attempts": 1})
        done = tidemark.write_config()(
            "run", env={"PGSERVICEFILE": str(path),
                        "PGPORT": str(listener.port), **(env or {})})
        done.expect(EXIT_ACCESS)
        return CANARY.encode() in listener.seen
    return ask


SERVICE = "postgresql://app@/shop?service=far"


@pytest.mark.parametrize("url, service, env", (
    (SERVICE, f"host={FAR}", None),
    (SERVICE, f"host=localhost hostaddr={FAR}", None),
    ("postgresql://app@/shop", f"host={FAR}", {"PGSERVICE": "far"}),
    ("postgresql://app@localhost/shop", "", {"PGHOSTADDR": FAR}),
    ("postgresql://app@/shop", "", {"PGHOST": FAR}),
    ("postgresql://app@%s,localhost/shop?hostaddr=,127.0.0.1" % FAR, "", None),
    # its own wish, of this machine too
    (SERVICE, "host=127.0.0.1 sslmode=verify-full", None),
    (SERVICE, f"host={FAR} sslmode=require", None),
    ("postgresql://app@127.0.0.1/shop", "", {"PGSSLMODE": "verify-ca"}),
))
def test_stays_here(asked, url, service, env):
    assert not asked(url, service, env)


@pytest.mark.parametrize("url, service, env", (
    ("postgresql://app@127.0.0.1/shop", "", None),
    (SERVICE, "host=localhost", None),
    ("postgresql://app@far.example/shop", "", {"PGHOSTADDR": "127.0.0.1"}),
    # a user who asks for it gets it
    (SERVICE, f"host={FAR} sslmode=disable", None),
    (SERVICE, f"host={FAR} sslmode=allow", None),
    (SERVICE + "&sslmode=prefer", f"host={FAR}", None),
    (SERVICE, f"host={FAR}", {"PGSSLMODE": "prefer"}),
))
def test_goes_out(asked, url, service, env):
    assert asked(url, service, env)


def test_the_config_has_the_last_word(asked):
    assert not asked(SERVICE, "host=127.0.0.1 sslmode=disable",
                     tls={"mode": "required"})
    assert not asked(SERVICE + "&sslmode=disable", f"host={FAR}",
                     tls={"mode": "verify-full"})
    assert asked(SERVICE, f"host={FAR} sslmode=verify-full",
                 tls={"mode": "disabled"})


def test_service_file(tidemark, source, make_destination, work_dir):
    """All of a connection from ~/.pg_service.conf, and nothing of libpq's own
    words about a service that is not there is lost."""
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    (work_dir / ".pg_service.conf").write_text(
        f"[shop]\nhost=127.0.0.1\nport={source.cluster.port}\n"
        f"dbname={source.database}\nuser=app\n")
    tidemark.connections["source"]["url"] = "postgresql://?service=shop"
    tidemark.write_config()("run").expect(EXIT_OK)
    tidemark.connections["source"]["url"] = "postgresql://?service=shpo"
    done = tidemark.write_config()("run").expect(EXIT_CONFIG)
    assert '"shpo" not found' in done.err

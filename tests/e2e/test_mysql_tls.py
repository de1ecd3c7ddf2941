"""TLS to MariaDB and MySQL: who is trusted, and what is said if nobody is.

One server each; its certificate is changed under it.
"""

import socket
import threading

import pytest

import mysql_servers
from bench import EXIT_ACCESS, EXIT_OK, password_connection
from certificates import FAR, make_certificates
from mysql_asker import Asker
from servers import APP, CANARY


class TlsServer:
    """A server with a table, and a user that it takes over TLS alone."""

    def __init__(self, engine, certs):
        self.certs, self.shown = certs, None
        self.put("good")
        (certs / "both.pem").write_bytes(
            (certs / "ours.pem").read_bytes() +
            (certs / "theirs.pem").read_bytes())
        self.server = mysql_servers.SERVERS[engine]([
            f"--ssl-ca={certs}/both.pem", f"--ssl-cert={certs}/server.pem",
            f"--ssl-key={certs}/server.key"])
        self.server.create().start().prepare()
        self.server.create_database("shop")
        self.execute(
            f"CREATE USER secure@'%' IDENTIFIED {self.server.plugin}"
            f"BY '{CANARY}' REQUIRE SSL",
            "GRANT ALL ON shop.* TO secure@'%'",
            "GRANT PROCESS ON *.* TO secure@'%'",
            "CREATE TABLE shop.t (id int PRIMARY KEY)",
            "INSERT INTO shop.t VALUES (1)")

    def execute(self, *statements):
        with self.server.admin() as db, db.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    def put(self, name):
        for kind in ("pem", "key"):
            (self.certs / f"server.{kind}").write_bytes(
                (self.certs / f"{name}.{kind}").read_bytes())
        self.shown = name

    def show(self, name):
        if name != self.shown:
            self.put(name)
            self.execute("ALTER INSTANCE RELOAD TLS"
                         if self.server.name == "mysql" else "FLUSH SSL")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("tls")
    make_certificates(cwd)
    return cwd


# In one worker each, which starts it once.
@pytest.fixture(scope="module", params=[
    pytest.param(engine, marks=pytest.mark.xdist_group("tls-" + engine))
    for engine in ("mariadb", "mysql")])
def tls_server(request, certificates, tmp_path_factory):
    missing = mysql_servers.SERVERS[request.param].missing()
    if missing:
        pytest.skip(missing)
    certs = tmp_path_factory.mktemp(request.param)
    for path in certificates.iterdir():
        (certs / path.name).write_bytes(path.read_bytes())
    made = TlsServer(request.param, certs)
    yield made
    made.server.remove()


def connect(tidemark, tls_server, work_dir, user=APP, host="127.0.0.1",
            tls=None, port=None):
    server = tls_server.server
    url = server.url("shop", user=user, password=None).replace(
        "127.0.0.1", host).replace(f":{server.port}/",
                                   f":{port or server.port}/")
    return run_from(tidemark, work_dir, url, tls)


def run_from(tidemark, work_dir, url, tls=None):
    connection = password_connection(url)
    if tls:
        connection["tls"] = tls
    tidemark.connect("source", connection)
    tidemark.connect("warehouse", f"sqlite:{work_dir}/w.db")
    tidemark.pipeline(
        "t", source={"connection": "source", "table": "shop.t"},
        destination={"connection": "warehouse", "table": "main.t"},
        watermark={"strategy": "sequence", "column": "id"},
        retry={"attempts": 1})
    return tidemark.write_config()("run")


CASES = [
    # mode, certificate, trusted authority, host, what a refusal says
    ("required", "good", None, "127.0.0.1", None),
    ("required", "foreign", None, "127.0.0.1", None),
    ("required", "expired", None, "127.0.0.1", None),
    ("verify-ca", "good", "ours", "127.0.0.1", None),
    ("verify-ca", "elsewhere", "ours", "127.0.0.1", None),
    ("verify-ca", "good", "theirs", "127.0.0.1", "TLS"),
    ("verify-ca", "expired", "ours", "127.0.0.1", "expired"),
    ("verify-full", "good", "ours", "127.0.0.1", None),
    ("verify-full", "good", "ours", "localhost", None),
    ("verify-full", "elsewhere", "ours", "127.0.0.1", "TLS"),
    ("verify-full", "good", "theirs", "127.0.0.1", "TLS"),
    ("verify-full", "foreign", "ours", "127.0.0.1", "TLS"),
    ("verify-full", "expired", "ours", "127.0.0.1", "expired"),
    ("verify-full", "good", None, "127.0.0.1", "TLS"),
    (None, "good", "ours", FAR, None),
    (None, "elsewhere", "ours", FAR, "TLS"),
    (None, "good", None, FAR, "TLS"),
    (None, "foreign", None, "127.0.0.1", None),
]


@pytest.mark.parametrize("mode, shown, trusted, host, refusal", CASES)
def test_who_is_trusted(tidemark, tls_server, work_dir, mode, shown, trusted,
                        host, refusal):
    """The user is taken over TLS alone: without it none of these passes."""
    if shown == "expired" and tls_server.server.name == "mysql":
        return  # the server itself takes none
    tls_server.show(shown)
    tls = {}
    if mode:
        tls["mode"] = mode
    if trusted:
        tls["ca"] = str(tls_server.certs / f"{trusted}.pem")
    done = connect(tidemark, tls_server, work_dir, "secure", host, tls)
    done.expect(EXIT_ACCESS if refusal else EXIT_OK)
    if refusal:
        assert refusal in done.err and "tls." in done.err


class Stripper:
    """Between us and a server with TLS: tells that it has none; and, if `old`,
    that it knows one way of signing in alone."""

    def __init__(self, port, old):
        self.port, self.old, self.sent = port, old, b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            with client, socket.create_connection(
                    ("127.0.0.1", self.port)) as server:
                client.sendall(self.without(server.recv(4096)))
                client.settimeout(2)
                try:
                    self.sent += client.recv(4096)
                except OSError:
                    pass

    def without(self, greeting):
        lower = greeting.index(b"\0", 5) + 1 + 4 + 8 + 1
        changed = bytearray(greeting)
        changed[lower + 1] &= ~0x08  # CLIENT_SSL
        if self.old:
            changed[lower + 5] &= ~0x08  # CLIENT_PLUGIN_AUTH
        return bytes(changed)


@pytest.mark.parametrize("old", (False, True))
@pytest.mark.parametrize("mode", ("required", "verify-ca", "verify-full"))
def test_no_password_without_tls(tidemark, tls_server, work_dir, mode, old):
    """Not even what proves it, to one that takes TLS out of the way."""
    tls_server.show("good")
    between = Stripper(tls_server.server.port, old)
    tls = {"mode": mode}
    if mode != "required":
        tls["ca"] = str(tls_server.certs / "ours.pem")
    done = connect(tidemark, tls_server, work_dir, tls=tls,
                   port=between.listener.getsockname()[1])
    between.listener.close()
    assert done.code == EXIT_ACCESS and not between.sent, done
    assert old or "TLS" in done.err, done


@pytest.mark.parametrize("mode", (None, "required", "verify-ca",
                                  "verify-full"))
@pytest.mark.parametrize("plugin, greets", [
    ("mysql_clear_password", False), ("mysql_clear_password", True),
    ("dialog", False), ("mysql_old_password", False),
    ("auth_gssapi_client", False)])
def test_who_gets_the_password_in_clear(tidemark, certificates, work_dir,
                                        mode, plugin, greets):
    """A server that asks for it, and is verified; nobody else. On loopback
    (None) there is no TLS, and `required` does not ask who it is."""
    verified = mode in ("verify-ca", "verify-full")
    shown = "good" if verified else "foreign"
    asker = Asker(plugin, greets, (certificates, shown) if mode else None)
    tls = {"mode": mode} if mode else {}
    if verified:
        tls["ca"] = str(certificates / "ours.pem")
    done = run_from(tidemark, work_dir,
                    f"mysql://{APP}@127.0.0.1:{asker.port}/shop", tls)
    asker.close()
    done.expect(EXIT_ACCESS)
    clear = plugin in ("mysql_clear_password", "dialog")
    assert (CANARY.encode() in asker.sent) == (verified and clear), done
    if not verified:
        assert "set tls.mode: verify-full" in done.err, done
        assert "hands over the password" in done.err, done


@pytest.mark.parametrize("mode", ("required", "verify-ca"))
def test_server_without_tls(tidemark, make_mysql, work_dir, mode):
    """MariaDB as it comes has none, and takes a user without a password."""
    end = make_mysql("mariadb")
    end.execute("CREATE USER IF NOT EXISTS open@'%'")
    for user in (APP, "open"):
        tidemark.connect("source", {
            **password_connection(end.server.url(end.schema, user=user,
                                                 password=None)),
            "tls": {"mode": mode}})
        tidemark.connect("warehouse", f"sqlite:{work_dir}/w.db")
        tidemark.pipeline(
            "t", source={"connection": "source", "table": "x.t"},
            destination={"connection": "warehouse", "table": "main.t"},
            watermark={"strategy": "sequence", "column": "id"},
            retry={"attempts": 1})
        done = tidemark.write_config()("run")
        assert done.code == EXIT_ACCESS and "TLS" in done.err, done


def test_disabled_is_without(tidemark, tls_server, work_dir):
    connect(tidemark, tls_server, work_dir, "secure",
            tls={"mode": "disabled"}).expect(EXIT_ACCESS)
    connect(tidemark, tls_server, work_dir,
            tls={"mode": "disabled"}).expect(EXIT_OK)


def test_password_that_the_server_has_not_cached(tidemark, tls_server,
                                                 work_dir):
    """caching_sha2_password sends it whole then, under TLS or a key."""
    if tls_server.server.name != "mysql":
        return
    tls_server.show("good")
    ca = str(tls_server.certs / "ours.pem")
    for tls in ({"mode": "verify-full", "ca": ca}, None,
                {"mode": "disabled"}):
        tls_server.execute("FLUSH PRIVILEGES")
        connect(tidemark, tls_server, work_dir, tls=tls).expect(EXIT_OK)

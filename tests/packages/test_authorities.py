"""The wheel finds the authorities of TLS where each distribution keeps them.

Its libraries were built on Debian and know the places of Debian alone. Here these
places are empty. A PostgreSQL, a MySQL and an HTTPS server show certificates.
"""

import pathlib
import shutil
import socketserver
import subprocess
import threading

import pytest

from bench import password_connection
from certificates import FAR, TlsDoor, make_certificates
from servers import APP, CANARY

pytestmark = pytest.mark.xdist_group("wheel")
# Debian and most others; Fedora and RHEL; the newest Fedora; SUSE; Alpine.
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt",
           "/etc/pki/tls/certs/ca-bundle.crt",
           "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem")


class Answers(socketserver.BaseRequestHandler):
    """An HTTP server that is spoken to once the certificate is believed."""

    def handle(self):
        asked = self.request.recv(65536)
        if asked:
            self.server.asked.append(asked)
            self.request.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n"
                                 b"Connection: close\r\n\r\n")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("certificates")
    make_certificates(cwd)
    return cwd


@pytest.fixture(scope="module")
def http_server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answers) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def https_server(http_server, certificates):
    door = TlsDoor(http_server.server_address[1], certificates, "good")
    http_server.port = door.port
    yield http_server
    door.close()


@pytest.fixture
def postgres(own_cluster, certificates):
    """With TLS, without which a password is not sent off this machine."""
    cluster = own_cluster()
    cluster.use_tls(certificates)
    cluster.create_database("shop")
    with cluster.admin("shop") as db:
        db.execute(f"CREATE TABLE t (id int PRIMARY KEY); "
                   f"INSERT INTO t VALUES (1); GRANT SELECT ON t TO {APP}")
    return cluster


@pytest.fixture
def mysql(mysql_family, certificates):
    """The server that other tests of this worker use, with our certificate."""
    server = mysql_family("mysql")
    server.create_database("shop")
    with server.admin("shop") as db, db.cursor() as cursor:
        for name, file in (("ca", "ours.pem"), ("cert", "good.pem"),
                           ("key", "good.key")):
            cursor.execute(f"SET GLOBAL ssl_{name} = '{certificates}/{file}'")
        cursor.execute("ALTER INSTANCE RELOAD TLS")
        cursor.execute("CREATE TABLE t (id int PRIMARY KEY)")
        cursor.execute("INSERT INTO t VALUES (1)")
    return server


@pytest.fixture
def three(wheel_tidemark, work_dir, postgres, mysql, https_server):
    """A pipeline from each of them. The return value of ask() says who was
    believed."""
    sources = {
        "postgres": (f"postgresql://{APP}@{FAR}:{postgres.port}/shop",
                     "public.t"),
        "mysql": (f"mysql://{APP}@{FAR}:{mysql.port}/shop", "shop.t"),
        "https": (f"clickhouses://{APP}@{FAR}:{https_server.port}/shop",
                  "shop.t")}
    wheel_tidemark.connect("warehouse", f"sqlite:{work_dir}/w.db")
    for name, (url, table) in sources.items():
        wheel_tidemark.connect(name, password_connection(url))
        wheel_tidemark.pipeline(
            name, source={"connection": name, "table": table},
            destination={"connection": "warehouse", "table": f"main.{name}"},
            watermark={"strategy": "sequence", "column": "id"},
            retry={"attempts": 1})
    wheel_tidemark.write_config()

    def ask(**env):
        https_server.asked.clear()
        # The breaker counts failures there, and would end the tries.
        pathlib.Path(wheel_tidemark.state_file).unlink(missing_ok=True)
        done = wheel_tidemark("run", "--json", env=env).json()["pipelines"]
        for result in done:
            said = result["error"] and result["error"]["message"]
            assert not said or CANARY not in said
            print(result["pipeline"], said)
        believed = {result["pipeline"] for result in done
                    if result["outcome"] == "caught_up"}
        return believed | ({"https"} if https_server.asked else set())
    return ask


EVERY = {"postgres", "mysql", "https"}


def test_authorities_are_found_where_distributions_keep_them(
        three, installed, certificates, work_dir):
    tree = installed.tree
    ours = work_dir / "ours.pem"
    shutil.copy(certificates / "ours.pem", ours)
    theirs = work_dir / "theirs.pem"
    shutil.copy(certificates / "theirs.pem", theirs)
    # No other test of the tree needs them.
    tree.run("rm", "-rf", "/etc/ssl", "/usr/lib/ssl")
    for bundle in BUNDLES:
        tree.run("install", "-D", "-m", "644", ours, bundle)
        assert three() == EVERY, bundle
        tree.run("rm", bundle)
    assert three() == set()
    tree.run("install", "-D", "-m", "644", theirs, BUNDLES[0])
    assert three() == set()
    assert three(SSL_CERT_FILE=str(ours)) == EVERY
    tree.run("install", "-D", "-m", "644", ours, BUNDLES[0])
    assert three(SSL_CERT_FILE=str(theirs)) == set()
    hashed = work_dir / "hashed"
    hashed.mkdir()
    shutil.copy(ours, hashed)
    subprocess.run(["openssl", "rehash", hashed], check=True)
    # libpq 15 takes no directory.
    assert three(SSL_CERT_FILE=str(theirs), SSL_CERT_DIR=str(hashed)) >= {
        "mysql", "https"}

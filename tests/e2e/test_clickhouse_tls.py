"""TLS to ClickHouse: who is trusted, and what is said if nobody is.

The server is the one of the other suites, behind a door that speaks TLS.
"""

import pytest

import oracle
import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, password_connection,
                   sync_items)
from certificates import FAR, TlsDoor, make_certificates

ROWS = 50


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("tls")
    make_certificates(cwd)
    return cwd


@pytest.fixture
def behind(tidemark, make_source, make_clickhouse, certificates):
    """A pipeline into a server that shows the certificate `name`."""
    doors = []

    def make(name, tls, host="127.0.0.1", scheme="clickhouses"):
        source, destination = make_source("sqlite"), make_clickhouse()
        workload.create_items(source, rows=ROWS)
        sync_items(tidemark, source, destination, "timestamp",
                   retry={"attempts": 1})
        server, port = destination.server, destination.server.port
        if name:
            doors.append(TlsDoor(port, certificates, name))
            port = doors[-1].port
        url = server.url(destination.database, password=None, scheme=scheme)
        connection = password_connection(url.replace(
            f"127.0.0.1:{server.port}", f"{host}:{port}"))
        connection["tls"] = {
            key: str(certificates / value) if key != "mode" else value
            for key, value in tls.items()}
        tidemark.connect("warehouse", connection).write_config()
        return source, destination

    yield make
    for door in doors:
        door.close()


OURS = {"ca": "ours.pem"}


@pytest.mark.parametrize("name, tls, host, code, words", (
    ("good", OURS, "localhost", EXIT_OK, ""),
    ("good", OURS, FAR, EXIT_OK, ""),
    ("good", {}, "127.0.0.1", EXIT_ACCESS, "certificate"),
    ("good", {"ca": "theirs.pem"}, FAR, EXIT_ACCESS, "certificate"),
    ("foreign", OURS, FAR, EXIT_ACCESS, "certificate"),
    ("expired", OURS, "127.0.0.1", EXIT_ACCESS, "expired"),
    ("expired", {**OURS, "mode": "verify-ca"}, FAR, EXIT_ACCESS, "expired"),
    ("elsewhere", OURS, "127.0.0.1", EXIT_ACCESS, "name"),
    ("elsewhere", OURS, FAR, EXIT_ACCESS, "name"),
    ("elsewhere", {**OURS, "mode": "verify-ca"}, FAR, EXIT_OK, ""),
    ("good", {**OURS, "mode": "disabled"}, FAR, EXIT_CONFIG, "tls.mode"),
    (None, OURS, "127.0.0.1", EXIT_ACCESS, "SSL")))
def test_who_is_trusted(tidemark, behind, name, tls, host, code, words):
    """Nobody but the server with that name, of that authority, today; and
    nothing is said to others."""
    source, destination = behind(name, tls, host)
    destination.server.forget()
    done = tidemark.run(expect=code)
    assert words in done.err, done
    assert bool(destination.server.statements()) == (code == EXIT_OK)
    if code == EXIT_OK:
        oracle.check_rows(source.rows("items", oracle.ITEMS), destination.rows(
            f"{destination.schema}.items", oracle.ITEMS))


@pytest.mark.parametrize("said, packed", (
    ("", True), ("?compression=none", False)))
def test_rows_are_packed_for_the_way(tidemark, behind, said, packed):
    """Off this machine, unless the URL says something else."""
    _, destination = behind("good", OURS, FAR)
    tidemark.connections["warehouse"]["url"] += said
    tidemark.write_config()
    destination.server.forget()
    tidemark.run()
    sent = [sql for sql in destination.server.statements()
            if "FORMAT Native" in sql]
    assert sent and all(sql.endswith(" -- zstd") == packed for sql in sent)
    tidemark("verify").expect(0)


def test_no_word_without_tls(tidemark, behind):
    """Off this machine, whoever listens there."""
    _, destination = behind(None, {}, FAR, scheme="clickhouse")
    destination.server.forget()
    done = tidemark.run(expect=EXIT_CONFIG)
    assert "clickhouses://" in done.err
    assert not destination.server.statements()

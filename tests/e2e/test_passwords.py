"""Passwords in URLs: no byte that a command prints, writes or shows in the list
of processes holds one. They have any characters, and may be short.

A short one cannot be told from a letter of another word. So the tests search
for the form in which it would stand in a URL."""

import os
import socket
import sqlite3
import urllib.parse

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_CONFIG

SPECIALS = "?/#@:%&=+ \\"
# Marked by rare letters at both ends; or nothing but itself.
PASSWORDS = [f"Zq7{c}Xv9w" for c in SPECIALS] + [
    "Zq7?#:&=+ \\Xv9w", "q", "?", "#", ":", "&", "Q7", "?Q", "Q7#", "Q:7Z"]
COMMANDS = (
    ("copy",), ("copy", "--dry-run"), ("check",), ("status",), ("runs",),
    ("verify",), ("watermark", "show"), ("dead-letters", "list"), ("pace",),
    ("init",))
# The server there turns each of them away, which is not tried again.
URLS = {"postgres": "postgresql://app:PW@127.0.0.1:PORT/shop",
        "query": "postgresql://app@127.0.0.1:PORT/shop?%70assword=PW",
        "mysql": "mysql://app:PW@127.0.0.1:PORT/shop",
        "clickhouse": "clickhouse://app:PW@127.0.0.1:PORT/shop"}
# With a config, whose URLs hold a reference.
CONFIGURED = (
    ("run",), ("run", "--dry-run"), ("run", "--full-refresh"), ("check",),
    ("verify",), ("status",), ("runs",), ("grants",), ("migrate",),
    ("backfill", "items", "--from", "1", "--to", "9"),
    ("worker", "--once"), ("watermark", "show", "items"),
    ("watermark", "reset", "items"), ("dead-letters", "list"), ("pace",),
    ("dead-letters", "show", "1"), ("dead-letters", "discard", "1"),
    ("dead-letters", "replay", "1"), ("schema",), ("plugins",),
    ("version",))


def some(full, commands, command, kind):
    """All for the first command; a third for each other one, so that all are
    with each kind of URL."""
    at = commands.index(command)
    if full or at == 0:
        return PASSWORDS
    return PASSWORDS[(at + list(URLS).index(kind)) % 3::3]


def forms(password):
    """How it would show: whole if it is long, else beside what is around it."""
    if len(password) > 4:
        pieces = {password, urllib.parse.quote(password, safe="")}
        pieces |= set(password.split(password[3])) if len(password) == 8 else set()
        return {each.encode() for each in pieces}
    return {f"app:{password}@".encode(), f"assword={password}\"".encode(),
            f"assword={password}'".encode()}


def everything(tidemark, done):
    yield "stdout", done.out.encode()
    yield "stderr", done.err.encode()
    for directory, _, names in os.walk(tidemark.dir):
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                yield name, file.read()


@pytest.fixture
def make_url(cluster, mysql_family, clickhouse_server):
    """The URL of a server that turns each of the passwords away."""
    def make(kind):
        if kind == "mysql":
            port = mysql_family("mysql").port
        elif kind == "clickhouse":
            port = clickhouse_server().port
        else:
            port = cluster.port
        return URLS[kind].replace("PORT", str(port))
    return make


@pytest.mark.parametrize("kind", URLS)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_shows_nowhere(tidemark, make_url, full, command, kind):
    url = make_url(kind)
    for password in some(full, COMMANDS, command, kind):
        written = password
        if "?" in url:  # where "&" and "=" end it
            written = urllib.parse.quote(password, safe="?/#@:+ \\")
        ends = [url.replace("PW", written), f"sqlite:{tidemark.dir}/w.db"]
        more = (["-o", f"{tidemark.dir}/made.yaml"] if command[0] == "init" else
                ["--table", "public.t", "--watermark", "sequence:id", "--state",
                 tidemark.top["state"]])
        done = tidemark("-v", *command, *ends, *more)
        assert done.code != 0 or command[0] in ("status", "runs"), done
        for form in forms(password):
            for where, data in everything(tidemark, done):
                assert form not in data, (password, where, done)


@pytest.mark.parametrize("kind", URLS)
@pytest.mark.parametrize("command", CONFIGURED, ids=" ".join)
def test_shows_nowhere_by_a_config(tidemark, make_url, full, command, kind):
    """As source, target and state in turn; the environment has the password."""
    url = make_url(kind).replace("PW", "${PW}")
    here = f"sqlite:{tidemark.dir}/w.db"
    places = [(url, here), (here, url)]
    if "postgres" in url and command[0] not in ("check", "verify"):
        places.append((here, here))
    for password in some(full, CONFIGURED, command, kind):
        for source, target in places:
            tidemark.connect("source", source).connect("warehouse", target)
            if source == target:
                tidemark.top["state"] = {"url": url}
            tidemark.pipeline("items", **{
                "source": {"connection": "source", "table": "public.t"},
                "destination": {"connection": "warehouse", "table": "t"},
                "retry": {"attempts": 1},
                "watermark": {"strategy": "sequence", "column": "id"}})
            done = tidemark.write_config()("-v", *command,
                                           env={"PW": password})
            assert done.code >= 0, done
            for form in forms(password):
                for where, data in everything(tidemark, done):
                    assert form not in data, (password, where, done)


@pytest.mark.parametrize("password", PASSWORDS)
def test_list_of_processes(tidemark, password, work_dir):
    """While it waits for a server that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        running = tidemark.start(
            "copy", f"postgresql://app:{password}@127.0.0.1:{port}/shop",
            f"sqlite:{work_dir}/w.db", "--table", "public.t", "--watermark",
            "sequence:id")
        # Refused before it connects, if the password would end early.
        server.settimeout(0.1)
        peer = None
        while running.alive() and not peer:
            try:
                peer = server.accept()
            except TimeoutError:
                continue
        if peer:
            with open(f"/proc/{running.process.pid}/cmdline", "rb") as line:
                shown = line.read()
            assert b"app:*" in shown
            for form in forms(password):
                assert form not in shown
            peer[0].close()
        running.kill()


def test_taken_and_warned_about_once(tidemark, cluster, source, work_dir):
    workload.create_items(source, rows=3)
    with cluster.admin() as admin:
        admin.execute("DROP ROLE IF EXISTS short_one")
        admin.execute("CREATE ROLE short_one LOGIN SUPERUSER PASSWORD '?#1'")
    url = cluster.url(source.database, user="short_one", password="?#1")
    done = tidemark("copy", url, f"sqlite:{work_dir}/w.db", "--table",
                    "public.items", "--watermark", "sequence:seq").expect(0)
    assert done.err.count("a password on a command line") == 1, done
    done = tidemark("init", url, f"sqlite:{work_dir}/v.db", "-o",
                    f"{work_dir}/made.yaml").expect(0)
    assert done.err.count("a password on a command line") == 1, done
    text = (work_dir / "made.yaml").read_text()
    assert "short_one@" in text and "${SOURCE_PASSWORD}" in text
    with sqlite3.connect(tidemark.dir + "/w.db") as db:
        assert db.execute("SELECT count(*) FROM items").fetchone() == (3,)
    with cluster.admin() as admin:
        admin.execute("DROP ROLE short_one")


@pytest.mark.parametrize("password, fix", (("a/b", "%2F"), ("a@b", "%40"),
                                           ("a%b", "percent-encoded")))
def test_says_how_to_write_it(tidemark, work_dir, password, fix):
    done = tidemark("copy", f"postgresql://app:{password}@127.0.0.1:1/shop",
                    f"sqlite:{work_dir}/w.db", "--table", "public.t",
                    "--watermark", "sequence:id")
    assert done.code in (EXIT_CONFIG, EXIT_ACCESS) and fix in done.err, done


# Places of a reference, and whether a variable's value is a secret there. A
# file's content is one everywhere.
POSITIONS = {
    "database": ("postgresql://app@127.0.0.1:PORT/{}", False),
    "user": ("postgresql://{}@127.0.0.1:PORT/shop", False),
    "option": ("postgresql://app@127.0.0.1:PORT/shop?application_name={}"
               "&sslmode=what", False),
    "password": ("postgresql://app:{}@127.0.0.1:PORT/shop", True),
    "key": ("postgresql://app@127.0.0.1:PORT/shop?sslpassword={}&sslmode=what",
            True),
}


@pytest.mark.parametrize("origin", ("variable", "file"))
@pytest.mark.parametrize("position", POSITIONS)
def test_which_references_are_secrets(tidemark, cluster, work_dir, position,
                                      origin):
    """As docs/passwords.md has it."""
    url, secret = POSITIONS[position]
    held = work_dir / "held"
    held.write_text("Zq7Xv9w")
    held.chmod(0o600)
    reference = "${SEC}" if origin == "variable" else "${file:%s}" % held
    tidemark.connect("source", url.format(reference).replace(
        "PORT", str(cluster.port))).connect("warehouse",
                                            f"sqlite:{work_dir}/w.db")
    tidemark.pipeline("items", **{
        "source": {"connection": "source", "table": "public.t"},
        "destination": {"connection": "warehouse", "table": "t"},
        "retry": {"attempts": 1},
        "watermark": {"strategy": "sequence", "column": "id"}})
    done = tidemark.write_config()("-v", "run", env={"SEC": "Zq7Xv9w"})
    assert done.code in (EXIT_CONFIG, EXIT_ACCESS), done
    assert ("Zq7Xv9w" in done.err) == (
        not secret and origin == "variable"), done
    if origin == "file" and not secret:
        assert "***" in done.err, done

"""The units of packaging/systemd: accepted by systemd, hardened, and with a
sandbox that `tidemark serve` can live in."""

import pathlib
import re
import subprocess

import pytest

from servers import wait_for
from test_serve import configure, fill, outcomes, stop

UNITS = pathlib.Path(__file__).resolve().parents[2] / "packaging/systemd"
NAMES = ("tidemark.service", "tidemark@.service")
each_unit = pytest.mark.parametrize("name", NAMES)
WORST = 1.5


def analyze(*args):
    return subprocess.run(["systemd-analyze", *map(str, args)], text=True,
                          capture_output=True, check=False)


@each_unit
def test_unit_is_hardened(name):
    done = analyze("security", "--offline=true", "--no-pager", UNITS / name)
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)",
                      done.stdout)
    assert level, done
    assert float(level[1]) <= WORST, done.stdout


@each_unit
def test_unit_is_accepted(tidemark_binary, tmp_path, name):
    """With the binary where it is, and without a word."""
    text = (UNITS / name).read_text(encoding="utf-8")
    assert "ExecStart=/usr/bin/tidemark " in text
    unit = tmp_path / name.replace("@.", "@shop.")
    unit.write_text(text.replace("/usr/bin/tidemark", str(tidemark_binary)),
                    encoding="utf-8")
    done = analyze("verify", "--man=no", unit)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_user_is_accepted(tmp_path):
    done = subprocess.run(
        ["systemd-sysusers", "--dry-run", f"--root={tmp_path}",
         "--replace=/usr/lib/sysusers.d/tidemark.conf",
         UNITS / "tidemark.sysusers.conf"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tidemark" in done.stderr + done.stdout


def settings(name, key):
    return re.findall(rf"^{key}=(.*)$",
                      (UNITS / name).read_text(encoding="utf-8"), re.M)


def test_both_units_have_one_sandbox():
    parts = [(UNITS / name).read_text(encoding="utf-8").partition(
        "ProtectSystem")[2] for name in NAMES]
    assert parts[0] == parts[1] and "SystemCallFilter" in parts[0]


def calls_of(group):
    """All system calls of a group of systemd's, with those within it."""
    listed = {line.strip() for line in
              analyze("syscall-filter", "--no-pager", group).stdout.splitlines()
              if line.startswith("    ") and "#" not in line}
    calls = {each for each in listed if not each.startswith("@")}
    return calls.union(*map(calls_of, listed - calls))


def allowed_calls():
    allowed, *rest = settings(NAMES[0], "SystemCallFilter")
    calls = set().union(*map(calls_of, [*allowed.split(), "@default"]))
    for each in rest:
        assert each[0] == "~"
        calls -= set().union(*map(calls_of, each[1:].split())) \
            - calls_of("@default")
    return calls


@pytest.mark.parametrize("kind, engine", (("postgres", "duckdb"),
                                          ("mariadb", "sqlite")))
def test_serve_needs_no_more_than_it_may(tidemark, make_source,
                                         make_destination, tmp_path, kind,
                                         engine):
    """Its system calls are traced, as there is no systemd to forbid them."""
    source, destination = make_source(kind), make_destination(engine)
    tidemark.top["serve"] = {"listen": "127.0.0.1:0"}
    configure(tidemark, source, destination, fill(source, "a", "b"),
              schedule="every 1s")
    trace = tmp_path / "trace"
    running = tidemark.start("serve", under=("strace", "-D", "-f", "-qq", "-o",
                                             str(trace)))
    for table in "ab":
        wait_for(lambda table=table: "caught_up" in outcomes(tidemark, table),
                 what=f"a run of {table}")
    stop(running)
    wait_for(lambda: "exit_group(8" in text_of(trace),
             what="the end of the trace")
    text = text_of(trace)
    used = set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z_0-9]+)[( ]", text, re.M))
    assert {"openat", "connect", "listen"} <= used
    # SQLite gives a file to its owner only as root, which the unit is not.
    assert used - allowed_calls() <= {"fchown"}
    assert not re.search(r"PROT_WRITE\|PROT_EXEC", text)
    families = set(re.findall(r"\bsocket\((AF_[A-Z0-9]+)", text))
    allowed = settings(NAMES[0], "RestrictAddressFamilies")[0].split()
    # Names of hosts are looked up without netlink, too.
    assert families <= {*allowed, "AF_NETLINK"}, families


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")

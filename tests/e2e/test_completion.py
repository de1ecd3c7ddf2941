"""Completion in real shells, and the man page."""

import os
import pty
import select
import subprocess

import pytest

from bench import EXIT_CONFIG
from servers import wait_for

# A password that is not set: names are read, values are not.
CONFIG = """\
version: 1
connections: { shop: "postgresql://app:${NOT_SET_HERE}@127.0.0.1:1/shop" }
defaults: { source: { connection: shop }, destination: { connection: shop } }
pipelines:
  orders: { source: { table: a }, destination: { table: b } }
  other-orders: { source: { table: a }, destination: { table: c } }
  "with: space": { source: { table: a }, destination: { table: d } }
"""


@pytest.fixture
def home(tmp_path, tidemark_binary):
    """A directory with a config, a file, and the program in PATH."""
    (tmp_path / "tidemark.yaml").write_text(CONFIG, encoding="ascii")
    (tmp_path / "elsewhere.yaml").write_text(
        "pipelines: { lines: {} }", encoding="ascii")
    (tmp_path / "bin").mkdir()
    os.symlink(tidemark_binary, tmp_path / "bin/tidemark")
    return tmp_path


def environment(home):
    return {"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": str(home),
            "TERM": "dumb", "LC_ALL": "C.UTF-8", "PS1": "> ",
            "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}


def run(home, *command):
    return subprocess.run(command, cwd=home, env=environment(home), check=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          encoding="utf-8")


def words(home, *line):
    out = run(home, "tidemark", "completion", "words", "--", "tidemark", *line)
    assert not out.stderr
    return [each.split("\t")[0] for each in out.stdout.splitlines()]


PIPELINES = ["orders", "other-orders", "with: space"]
CASES = [
    (("run", ""), PIPELINES),
    (("run", "orders", ""), PIPELINES[1:]),
    (("-c", "elsewhere.yaml", "run", ""), ["lines"]),
    (("--config=elsewhere.yaml", "run", ""), ["lines"]),
    (("--config", "=", "elsewhere.yaml", "run", ""), ["lines"]),
    (("-celsewhere.yaml", "pause", ""), ["lines"]),
    (("-c", "missing.yaml", "run", ""), []),
    (("-c", "", "run", ""), []),
    (("-c", ""), [":file"]),
    (("run", "--metrics-file", ""), [":file"]),
    (("--log-format", ""), ["text", "json", "logfmt"]),
    (("verify", "--deletes", ""), ["report", "apply"]),
    (("run", "--jobs", ""), []),
    (("runs", ""), ["list", "show", "replay"]),
    (("runs", "list", ""), PIPELINES),
    (("runs", "show", ""), []),
    (("watermark", "set", ""), PIPELINES),
    (("completion", ""), ["bash", "zsh", "fish", "words"]),
    (("migrate", ""), []),
    (("nonsense", "run", ""), PIPELINES),
]


@pytest.mark.parametrize("line, wanted", CASES, ids=lambda v: " ".join(v))
def test_words(home, line, wanted):
    assert words(home, *line) == wanted


def test_every_command_and_flag(home):
    commands = words(home, "")
    assert {"run", "serve", "dead-letters", "completion"} <= set(commands)
    assert words(home, "help", "") == commands
    for command in commands:
        flags = words(home, command, "--")
        text = run(home, "tidemark", "help", command).stdout
        assert flags and all(flag in text for flag in flags), command


def test_bad_configs_give_no_words(home):
    for text in ("", "a: [", "pipelines: 7", "pipelines: [a]", "\0", "&a b"):
        (home / "tidemark.yaml").write_text(text, encoding="ascii")
        assert not words(home, "run", "")


def test_nothing_is_written(home):
    before = sorted(os.listdir(home))
    words(home, "run", "")
    words(home, "runs", "show", "")
    assert sorted(os.listdir(home)) == before


def bash(home, *line):
    script = run(home, "tidemark", "completion", "bash").stdout + (
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tidemark 2>/dev/null;'
        ' printf "%s\\n" "${COMPREPLY[@]}"')
    done = run(home, "bash", "--norc", "-c", script, "bash", "tidemark", *line)
    assert not done.stderr
    return done.stdout.splitlines()


def test_bash(home):
    assert bash(home, "ru") == ["run", "runs"]
    assert bash(home, "run", "o") == ["orders", "other-orders"]
    assert bash(home, "run", "w") == [r"with:\ space"]
    assert bash(home, "run", "--ver") == ["--verbose", "--version", "--verify"]
    assert bash(home, "-c", "else") == ["elsewhere.yaml"]
    assert bash(home, "--config", "=", "else") == ["elsewhere.yaml"]


def fish(home, line):
    (home / "t.fish").write_text(
        run(home, "tidemark", "completion", "fish").stdout, encoding="ascii")
    done = run(home, "fish", "--no-config", "-c",
               f"source t.fish; complete -C '{line}'")
    return [each.split("\t")[0] for each in done.stdout.splitlines()]


def test_fish(home):
    assert fish(home, "tidemark ru") == ["run", "runs"]
    assert fish(home, "tidemark run o") == ["orders", "other-orders"]
    assert fish(home, "tidemark -c else") == ["elsewhere.yaml"]
    assert fish(home, "tidemark verify --deletes a") == ["apply"]


class Terminal:
    """A shell that somebody types into."""

    def __init__(self, home, *command):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(home)
            os.execvpe(command[0], command, environment(home))
        self.seen = ""

    def type(self, text, until):
        """Wait for words that come behind `text` was typed."""
        self.seen = ""
        os.write(self.fd, text.encode())
        wait_for(lambda: until in self.read(), what=f"{until!r} of {text!r}")

    def read(self):
        while select.select([self.fd], [], [], 0.05)[0]:
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return self.seen

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def test_zsh(home):
    """Its completion works in a terminal only."""
    (home / "functions").mkdir()
    (home / "functions/_tidemark").write_text(
        run(home, "tidemark", "completion", "zsh").stdout, encoding="ascii")
    shell = Terminal(home, "zsh", "-f", "-i")
    try:
        shell.type("fpath=($HOME/functions $fpath); autoload -U compinit;"
                   " compinit -u; echo re''ady\n", "ready")
        shell.type("\x15tidemark dead-l\t", "dead-letters ")
        shell.type("\x15tidemark run other\t", "other-orders ")
        shell.type("\x15tidemark run wi\t", r"with:\ space ")
        shell.type("\x15tidemark -c elsew\t", "elsewhere.yaml")
        shell.type("\x15tidemark run --ver\t", "--verify")
    finally:
        shell.close()


def test_zsh_by_eval(home):
    shell = Terminal(home, "zsh", "-f", "-i")
    try:
        shell.type("autoload -U compinit; compinit -u; eval \"$(tidemark"
                   " completion zsh)\"; echo re''ady\n", "ready")
        shell.type("\x15tidemark dead-l\t", "dead-letters ")
    finally:
        shell.close()


def test_an_unknown_shell(tidemark):
    tidemark("completion", "csh").expect(EXIT_CONFIG)


def test_man_page(home):
    """groff has nothing to say against it, and each command is there."""
    page = run(home, "tidemark", "help", "--man").stdout
    (home / "tidemark.1").write_text(page, encoding="ascii")
    lint = run(home, "groff", "-man", "-Tutf8", "-ww", "-z", "tidemark.1")
    assert not lint.stderr
    text = run(home, "groff", "-man", "-Tutf8", "-P-c", "-P-b", "-P-u",
               "tidemark.1").stdout
    for command in words(home, ""):
        assert f"tidemark {command}" in text
    assert "--full-refresh" in text and "EXIT STATUS" in text

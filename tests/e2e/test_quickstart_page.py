"""docs/quickstart.md, followed to the letter. Its blocks run as they stand, one
behind the other in one shell at a terminal. They print what the page shows.

From outside come the variables that the page exports, and a free port for serve.
In an output "..." stands for any text of its line; alone on a line it stands for
any lines. How wide a column is does not matter."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios

import pytest

from bench import EXIT_OK, EXIT_STOPPED, assert_no_secret
from conftest import ROOT
from servers import ADMIN, CANARY, PATIENCE, free_port, kill_group

PAGE = ROOT / "docs" / "quickstart.md"
LISTEN = "127.0.0.1:9464"  # by default
SERVE = "tidemark serve\n"
SERVING = r"serving \d+ pipelines\r\n"
CTRL_C = b"\x03"
END = "--- end of block"
ENDED = rf"{END} (\d+)\r\n"
KILLED = 128 + 9


def blocks():
    """The commands of each block, and the output below it, if one is shown."""
    found = []
    for kind, text in re.findall(r"^```(\w*)\n(.*?)^```$",
                                 PAGE.read_text("utf-8"), re.M | re.S):
        if kind == "sh":
            found.append([text, ""])
        else:
            assert kind == "text" and not found[-1][1], f"no command of {text}"
            found[-1][1] = text
    return found


def exported(script):
    """Its variables by name, if it does nothing but export them."""
    lines = script.splitlines()
    if not all(line.startswith("export ") for line in lines):
        return []
    return re.findall(r"(\w+)=", script)


def narrow(line):
    """With one space between two columns."""
    return re.sub(r"(?<=\S)\s+", " ", line.rstrip())


def shown(text):
    """The lines that a terminal ends up with."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        line = line.rpartition("\r")[2].replace("\x1b[K", "")
        # A shell that reads a script says where in it.
        killed = re.search(r"\S+: line \d+: +\d+ (Killed) ", line)
        lines += [line[:killed.start()], killed[1]] if killed else [line]
    return [narrow(line) for line in lines if line.strip()]


def matches(page, printed):
    """Are the lines of a terminal those of the page?"""
    pattern = ""
    for line in page.splitlines():
        words = narrow(line)
        if words == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(map(re.escape, words.split("..."))) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed))


@pytest.mark.parametrize("page, printed, same", (
    ("a: 1 row\n", "a: 1 row", True),
    ("a: 1 row\n", "a: 2 row", False),
    ("a  1 b\n", "a      1 b", True),
    ("a 1 b\n", "  a 1 b", False),
    ("a ... s\n", "a 0.71 s", True),
    ("a ... s\n", "a 0.71 h", False),
    ("a\n", "a\nb", False),
    ("a\nb\n", "a", False),
    ("a\n...\nb\n", "a\nb", True),
    ("a\n...\nb\n", "a\n1\n2\nb", True),
    ("a\n...\nb\n", "a\n1\n2\nb\nc", False),
    ("", "a", False),
    ("Killed\n", "p.sh: line 7:  12 Killed     timeout", True),
    ("a\n", "50 rows\x1b[K\r\x1b[Ka", True),
))
def test_an_output_is_compared(page, printed, same):
    assert bool(matches(page, shown(printed))) == same


class Terminal:
    """A shell at a terminal, which runs a script."""

    def __init__(self, script, cwd, env):
        self.text = ""
        self.end, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 50, 200, 0, 0))
        self.process = subprocess.Popen(
            ["bash", script], cwd=cwd, env=env, stdin=inner, stdout=inner,
            stderr=inner, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(inner)

    def read_until(self, pattern):
        """The text before it, and its match."""
        while not (match := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.end], [], [], PATIENCE)
            assert ready, f"nothing for {PATIENCE} s behind: {self.text}"
            try:
                data = os.read(self.end, 65536)
            except OSError:  # the shell has gone
                data = b""
            assert data, f"no {pattern} in: {self.text}"
            self.text += data.decode(errors="replace")
        before, self.text = self.text[:match.end()], self.text[match.end():]
        return before[:match.start()], match

    def type(self, keys):
        os.write(self.end, keys)

    def close(self):
        kill_group(self.process)
        self.process.wait()
        os.close(self.end)


@pytest.fixture
def shell(work_dir, tidemark_binary, own_cluster):
    """Make the terminal in which a reader with a server follows the page."""
    cluster, made = own_cluster(), []
    folder, script = work_dir / "empty", work_dir / "page.sh"
    folder.mkdir()
    env = {"PATH": os.pathsep.join([os.path.dirname(tidemark_binary),
                                    os.environ["PATH"], cluster.bin]),
           "HOME": str(work_dir), "LC_ALL": "C.UTF-8", "TERM": "xterm",
           "PGHOST": "127.0.0.1", "PGPORT": str(cluster.port),
           "PGUSER": ADMIN, "PGPASSWORD": CANARY}

    def make(scripts):
        script.write_text("".join(
            f"{each}printf '\\n{END} %d\\n' $?\n" for each in scripts))
        made.append(Terminal(str(script), str(folder), env))
        return made[-1], folder, env

    yield make
    for each in made:
        each.close()


def expected_code(script):
    if "timeout -s KILL" in script:
        return KILLED
    return EXIT_STOPPED if script == SERVE else EXIT_OK


def test_quickstart(shell):
    (exports, _), *steps = blocks()
    port = free_port()
    elsewhere = f"echo 'serve: {{ listen: \"127.0.0.1:{port}\" }}' >> tidemark.yaml\n"
    terminal, folder, env = shell([
        script.replace(SERVE, elsewhere + SERVE) for script, _ in steps])
    assert exported(exports) and set(exported(exports)) <= set(env)
    assert SERVE in [script for script, _ in steps]
    for script, page in steps:
        printed = ""
        if script == SERVE:
            page = page.replace(LISTEN, f"127.0.0.1:{port}")
            printed, serving = terminal.read_until(SERVING)
            printed += serving[0]
            terminal.type(CTRL_C)
        rest, ended = terminal.read_until(ENDED)
        printed = printed or rest
        assert_no_secret(printed + rest, script)
        assert int(ended[1]) == expected_code(script), script + printed + rest
        assert matches(page, shown(printed)), (
            f"{script}printed\n" + "\n".join(shown(printed)) +
            f"\nand the page says\n{page}")
    assert not list(folder.iterdir()), "the page cleans up"

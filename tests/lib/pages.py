"""Pages of docs/ whose command blocks are run as they stand, in one shell at a
terminal, and print what the page shows.

A page marks each block by its language and first line:
- "sh" is run. Where its first line is "# as root" or "# with PROGRAM", only its syntax
  is checked. It would change the machine, or take a program that is not here.
- "text" is the output of the block before it. "..." stands for any text of its
  line; alone on a line it stands for any lines. How wide a column is does not
  matter.
- A first line such as "# tidemark.yaml" names a file, which is written before the
  next command. A name that begins with "/" is a file of the system, which stays
  as it is.
- A block of other kinds is a part of something, or an example of others' tools.
"""

import dataclasses
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios

from servers import PATIENCE, kill_group

END = "--- end of block"
ENDED = rf"{END} (\d+)\r\n"
KILLED = 128 + 9
NOT_HERE = ("# as root", "# with ")
CTRL_C = b"\x03"
SERVE = "tidemark serve\n"
LISTEN = "127.0.0.1:9464"  # by default
FILE = re.compile(r"(?:#|--) (/?[\w./@-]+\.\w+|/etc/[\w./@-]+)\n")


@dataclasses.dataclass
class Block:
    kind: str
    text: str
    output: str = ""

    @property
    def file(self):
        """The file that the block is, if it is one."""
        named = FILE.match(self.text)
        return named[1] if named and self.kind not in ("text", "") else ""

    @property
    def runs(self):
        return (self.kind == "sh" and not self.text.startswith(NOT_HERE)
                and not self.file)

    @property
    def exported(self):
        """Its variables by name, if it does nothing but export them."""
        lines = self.text.splitlines()
        if not self.runs or not all(each.startswith("export ") for each in lines):
            return []
        return re.findall(r"(\w+)=", self.text)


def blocks(page):
    """The blocks of a page, each command with the output below it."""
    found = []
    for kind, text in re.findall(r"^```([\w-]*)\n(.*?)^```$",
                                 page.read_text("utf-8"), re.M | re.S):
        if kind != "text":
            found.append(Block(kind, text))
            continue
        assert found[-1].runs and not found[-1].output, f"no command of {text}"
        found[-1].output = text
    return found


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
        elif words:
            pattern += ".*".join(map(re.escape, words.split("..."))) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed))


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


def expected_code(script):
    """`timeout` is how a page kills, and Ctrl-C ends serve with exit 8."""
    if "timeout -s KILL" in script:
        return KILLED
    return 8 if script == SERVE else 0


def as_script(steps, port):
    """Files and commands of a page as one script, which tells each one's end."""
    parts = []
    for step in steps:
        text = step.text.replace(LISTEN, f"127.0.0.1:{port}")
        if step.file and not step.file.startswith("/"):
            text = (f"mkdir -p \"$(dirname '{step.file}')\"\n"
                    f"cat >'{step.file}' <<'END_OF_FILE'\n{text}END_OF_FILE\n")
        elif step.text == SERVE:
            text = (f"grep -q '^serve:' tidemark.yaml || echo 'serve: {{ listen: "
                    f"\"127.0.0.1:{port}\" }}' >>tidemark.yaml\n" + text)
        parts.append(f"{text}printf '\\n{END} %d\\n' $?\n")
    return "".join(parts)


def follow(terminal, steps, port, look=lambda printed, script: None):
    """Compare what each step prints with its page. `look` sees it too."""
    for step in steps:
        page, printed = step.output, ""
        if step.text == SERVE:
            page = page.replace(LISTEN, f"127.0.0.1:{port}")
            last = re.escape(page.splitlines()[-1]).replace(r"\.\.\.", ".*")
            printed, met = terminal.read_until(last + r"\r\n")
            printed += met[0]
            terminal.type(CTRL_C)
        rest, ended = terminal.read_until(ENDED)
        printed = printed or rest
        look(printed + rest, step.text)
        assert int(ended[1]) == expected_code(step.text), (
            step.text + printed + rest)
        assert matches(page, shown(printed)), (
            f"{step.text}printed\n" + "\n".join(shown(printed)) +
            f"\nand the page says\n{page}")

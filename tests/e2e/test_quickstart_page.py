"""docs/quickstart.md, followed to the letter: lib/pages.py says how. From outside
come the variables that the page exports, and a free port for serve."""

import os

import pytest

import pages
from bench import assert_no_secret
from conftest import ROOT
from servers import ADMIN, CANARY, free_port

PAGE = ROOT / "docs" / "quickstart.md"


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
    assert bool(pages.matches(page, pages.shown(printed))) == same


def test_quickstart(work_dir, tidemark_binary, own_cluster):
    cluster, port = own_cluster(), free_port()
    folder, script = work_dir / "empty", work_dir / "page.sh"
    folder.mkdir()
    env = {"PATH": os.pathsep.join([os.path.dirname(tidemark_binary),
                                    os.environ["PATH"], cluster.bin]),
           "HOME": str(work_dir), "LC_ALL": "C.UTF-8", "TERM": "xterm",
           "PGHOST": "127.0.0.1", "PGPORT": str(cluster.port),
           "PGUSER": ADMIN, "PGPASSWORD": CANARY}
    exports, *steps = pages.blocks(PAGE)
    assert exports.exported and set(exports.exported) <= set(env)
    assert pages.SERVE in [step.text for step in steps]
    assert all(step.runs for step in steps)
    script.write_text(pages.as_script(steps, port))
    terminal = pages.Terminal(str(script), str(folder), env)
    try:
        pages.follow(terminal, steps, port, assert_no_secret)
    finally:
        terminal.close()
    assert not list(folder.iterdir()), "the page cleans up"

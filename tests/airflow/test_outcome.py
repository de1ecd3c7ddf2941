"""Programs that end or speak otherwise than Tidemark does."""

import json
import os
import sys

import pytest

from airflow_provider_tidemark import outcome as outcomes
from airflow_provider_tidemark.backfill import (TidemarkBackfillOperator,
                                                TidemarkChunkOperator,
                                                TidemarkFinishBackfillOperator,
                                                TidemarkPlanBackfillOperator)
from airflow_provider_tidemark.operators import (TidemarkRunOperator,
                                                 TidemarkVerifyOperator)
from airflow_provider_tidemark.process import MOST_CHARACTERS, Process
from conftest import ROOT


@pytest.fixture
def script(connect, tidemark_failpoints, tmp_path):
    """Make a shell script the connection's program."""
    def write(text, mode=0o755):
        path = tmp_path / "script"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(mode)
        connect(str(path), config=tidemark_failpoints.write_config().config)
    return write


@pytest.mark.parametrize("kind, arguments", [
    (TidemarkRunOperator, {}), (TidemarkVerifyOperator, {}),
    (TidemarkPlanBackfillOperator, {"pipeline": "items"}),
    (TidemarkChunkOperator, {"chunk": "items/1/1"}),
    (TidemarkFinishBackfillOperator, {"pipeline": "items", "chunks": []}),
    (TidemarkBackfillOperator, {"pipeline": "items"}),
])
def test_a_program_that_tells_nothing(airflow, script, kind, arguments):
    """Success without an answer is none: it may be another program."""
    script("exit 0")
    ended = airflow(kind, **arguments).expect("failed")
    assert "exit code 0, but no JSON" in str(ended.why)


@pytest.mark.parametrize("code, state, words", [
    (137, "retry", "ended by signal 9"), (139, "retry", "ended by signal 11"),
    (143, "retry", "ended by signal 15"), (127, "failed", "exit code 127"),
    (255, "failed", "exit code 255"),
])
def test_exit_codes_of_a_shell(airflow, script, code, state, words):
    """The program may be a script around Tidemark."""
    script(f"exit {code}")
    ended = airflow(TidemarkRunOperator).expect(state)
    assert words in str(ended.why)


@pytest.mark.parametrize("kinds, state", [
    (["different", "transient"], "retry"), (["different", "state"], "deferred"),
    (["different", "data"], "failed"),
])
def test_one_comparison_of_several_may_pass(airflow, script, kinds, state):
    """The JSON of verify has the kinds of errors, without their exit codes."""
    told = json.dumps({"pipelines": [
        {"pipeline": f"p{n}", "error": {"code": kind, "message": "m"}}
        for n, kind in enumerate(kinds)]})
    script(f"echo '{told}'\nexit 7")
    airflow(TidemarkVerifyOperator).expect(state)


def test_the_kinds_are_those_of_the_page():
    page = (ROOT / "docs/exit-codes.md").read_text().partition("## Codes\n")[2]
    rows = [line.split("|") for line in page.partition("\n- ")[0].splitlines()
            if line.startswith("| ") and line[2].isdigit()]
    assert {row[2].strip(" `"): int(row[1]) for row in rows
            if row[1].strip() != "0"} == outcomes.KINDS


def test_lines_that_are_no_log(airflow, script):
    """None of them ends the reader, whose pipe the program writes to."""
    script(r"""printf '\377\376 bad\n[1]\nnull\n{"level":[],"message":"m"}\n' >&2
printf '{"level":"error","message":"\\ud800 half"}\n' >&2
head -c 300000 /dev/zero | tr '\0' x >&2
printf '\n{"level":"error","pipeline":"p","message":"the last"}\n' >&2
exit 3""")
    ended = airflow(TidemarkRunOperator).expect("retry")
    said = str(ended.why)
    assert said.endswith("\np: the last") and "? half" in said
    assert "\ufffd\ufffd bad" in said and "x" * MOST_CHARACTERS in said
    assert len(said) < 2 * MOST_CHARACTERS and "x" * 300000 in ended.log


def test_a_log_that_fails(tmp_path):
    """Airflow's supervisor is away, say: the program goes on."""
    class Broken:
        def log(self, *_):
            raise OSError("no log")

    process = Process(sys.executable, ["-c", "import sys\nfor n in range(9999):"
                      " print('x' * 99, file=sys.stderr)\nprint('{}')"],
                      os.environ, None, Broken())
    ended = process.wait(60)
    assert (ended.code, ended.result) == (0, {})

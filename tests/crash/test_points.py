"""The failpoints themselves, the cases made of them, and the page."""

import re

import pytest

import failpoints
import pairwise
import reliability
from bench import EXIT_CONFIG
from failpoints import DELTA, DESTINATIONS, FAILPOINTS, FIRST, MODES, SERVERS


def test_names_are_those_of_the_code():
    """The header documents, the table knows and the code calls the same points."""
    known = (failpoints.ROOT / "core/base/failpoint.c").read_text(
        encoding="utf-8").split("failpoint_names[] = {")[1].split("}")[0]
    assert re.findall(r'"(\w+)"', known) == failpoints.documented()
    assert failpoints.called() == set(failpoints.documented())
    assert len(set(FAILPOINTS)) == len(FAILPOINTS) == 23


@pytest.mark.parametrize("text, word", (
    ("mid_laod=kill", "did you mean \"mid_load\""),
    ("mid_load=kil", "did you mean \"kill\""), ("mid_load", "name=action"),
    ("mid_load=kill@0", "not a count"), ("mid_load=kill,mid_load=hang",
                                         "twice")))
def test_what_is_unknown_is_refused(stage, text, word):
    done = stage.tidemark("version", failpoints=text).expect(EXIT_CONFIG)
    assert word in done.err and done.out == ""


def reached(done):
    return set(re.findall(r"failpoint (\w+): passed", done.err))


def expected(mode, destination, phase):
    """By the rules that leave cases out."""
    cases = [failpoints.dealt(name, mode, "postgres", destination)
             for name in FAILPOINTS
             if not failpoints.why_not(name, mode, destination)]
    return {case.failpoint for case in cases if phase in failpoints.phases(case)
            # With what a killed refresh has left only: see leave_what().
            and (case.failpoint != "stage_dropped" or destination == "duckdb"
                 or (mode == "replace" and destination in
                     (*SERVERS, "bigquery")))}


@pytest.mark.parametrize("destination", DESTINATIONS)
@pytest.mark.parametrize("mode", MODES)
def test_rules_are_what_happens(play, mode, destination):
    """Where a case was left out, no run comes by; everywhere else it does."""
    at = MODES.index(mode) + DESTINATIONS.index(destination)
    source = failpoints.SOURCES[at % len(failpoints.SOURCES)]
    victim = play(failpoints.dealt("in_recovery", mode, source, destination))
    every = ",".join(f"{name}=note" for name in FAILPOINTS)
    assert reached(victim.tidemark.run(failpoints=every)) == expected(
        mode, destination, FIRST)
    victim.changes()
    assert reached(victim.tidemark.run(failpoints=every)) == expected(
        mode, destination, DELTA)


def test_every_two_choices_meet():
    """Every two choices that a case may have meet in the cases that CI runs."""
    chosen = failpoints.pairs()
    assert set(pairwise.by_pair(chosen)) == set(pairwise.by_pair(
        failpoints.everything()))
    assert len(chosen) < 170


@pytest.mark.parametrize("action", ("hang", "error"))
def test_every_choice_is_met(action):
    """Also where two actions share the pairs."""
    chosen, every = failpoints.cases(action, False), failpoints.everything()
    for values, wanted in zip(zip(*chosen), zip(*every)):
        assert set(values) == set(wanted)


def test_page_names_the_other_tests():
    assert reliability.others() in reliability.PAGE.read_text(encoding="utf-8")
    for _, _, file, name in reliability.OTHERS:
        text = (failpoints.ROOT / "tests" / reliability.suite(file)
                / file).read_text(
            encoding="utf-8")
        assert f"def {name}(" in text, name


def test_page_has_these_cases():
    """docs/reliability.md was written of the cases that the code has now."""
    text = reliability.PAGE.read_text(encoding="utf-8")
    assert reliability.digest(reliability.matrix()) in text, (
        "docs/reliability.md is of other cases: tests/run crash --full, then "
        "tests/crash/reliability.py --write")
    for action in failpoints.ACTIONS:
        cases = failpoints.cases(action, full=True)
        assert f"| {action} | {len(cases):,} |" in text


@pytest.mark.usefixtures("play")
def test_versions(stage, record_property):
    """The versions that the page names."""
    found = stage.versions()
    assert set(found) == set(DESTINATIONS) and all(found.values())
    record_property("versions", found)

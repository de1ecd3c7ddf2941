"""The builds that the suites run: one directory each under build-test/."""

import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build-test"

# A third of the time that -O2 -g takes to compile; lines are still told. Our own
# code takes a hundredth of the processor time of a test.
QUICK = ["-Doptimization=0", "-Dc_args=-g1"]

TESTS = "-Dtests=true"

# name -> (compiler, meson options). plain and fuzz carry -Werror, one with
# each compiler: tools/lint compiles in the same two, with all test programs.
OPTIONS = {
    # It is also what the packages are made of.
    "plain": ("gcc", ["-Dwerror=true", "--prefix=/usr", TESTS]),
    "failpoints": ("gcc", ["-Dfailpoints=true", *QUICK]),
    "sanitize": ("gcc", ["-Dfailpoints=true", TESTS,
                         "-Db_sanitize=address,undefined", *QUICK]),
    "thread": ("gcc", ["-Db_sanitize=thread", *QUICK]),
    "fuzz": ("clang", ["-Dwerror=true", "-Dfuzz=true", TESTS,
                       "-Db_lundef=false",
                       "-Db_sanitize=address,undefined", *QUICK]),
}


PROGRAMS = ["tidemark", "tidemark-duckdb.so"]


class BuildFailed(Exception):
    """The build's own output is the message."""


def run_quietly(command, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **more)
    if done.returncode != 0:
        raise BuildFailed(f"$ {' '.join(map(str, command))}\n{done.stdout}")


def configure(name, extra):
    """`meson setup`, again from nothing when the options have changed."""
    directory = BUILDS / name
    compiler, options = OPTIONS[name]
    line = ["meson", "setup", directory, ROOT, *options, *filter(None, extra)]
    stamp = directory / "options.txt"
    wanted = "\n".join(map(str, [compiler, *line]))
    if (directory / "build.ninja").exists() and stamp.exists() \
            and stamp.read_text() == wanted:
        return
    shutil.rmtree(directory, ignore_errors=True)
    run_quietly(line, cwd=ROOT, env={**os.environ, "CC": compiler})
    stamp.write_text(wanted)


def tests(name, suite):
    """The tests of one suite, as meson has them in a configured build."""
    listed = json.loads(
        (BUILDS / name / "meson-info/intro-tests.json").read_text())
    return [test for test in listed if f"tidemark:{suite}" in test["suite"]]


def holds(name, words):
    """One of the words is in the name, or there are no words."""
    return not words or any(word in name for word in words)


def test_targets(name, suite, words=()):
    """The files that the tests of one suite run or load, or those of them
    whose names hold one of the words."""
    every = json.loads(
        (BUILDS / name / "meson-info/intro-targets.json").read_text())
    needed = {target for test in tests(name, suite) if holds(test["name"], words)
              for target in test["depends"]}
    return [os.path.relpath(file, BUILDS / name) for target in every
            if target["id"] in needed for file in target["filename"]]


def fuzz_targets():
    listed = subprocess.run(["ninja", "-C", BUILDS / "fuzz", "-t", "targets",
                             "all"], capture_output=True, text=True,
                            check=True).stdout.splitlines()
    names = [line.split(":")[0] for line in listed]
    return [name for name in names if name.startswith("tests/fuzz/fuzz_")
            and "." not in name]


def targets(name, suites, words=()):
    """The targets of a configured build that some suites need. With `words`, the
    suite unit alone needs only the programs whose names hold one of them."""
    if name == "fuzz":
        return fuzz_targets()
    if suites == ["unit"]:
        return test_targets(name, "unit", words)
    found = list(PROGRAMS)
    if name == "plain":
        found.append("read_source")
    for suite in {"unit", "contract"}.intersection(suites):
        found += test_targets(name, suite)
    return found


def objects(name):
    """All that is compiled in a configured build."""
    listed = subprocess.run(
        ["ninja", "-C", BUILDS / name, "-t", "targets", "rule", "c_COMPILER"],
        capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.endswith(".o")]


def build(name, extra=(), suites=None, words=()):
    """Configure, and make what the suites need. If none are given, compile
    everything and link nothing: this is what shows warnings."""
    configure(name, extra)
    # The list of targets may have changed since.
    run_quietly(["ninja", "--quiet", "-C", BUILDS / name, "build.ninja"])
    wanted = objects(name) if suites is None else targets(name, suites, words)
    if wanted:  # without a target ninja makes all of them
        run_quietly(["ninja", "--quiet", "-k", "0", "-C", BUILDS / name,
                     *wanted])

"""The builds that the suites run: one directory each under build-test/."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build-test"

# name -> (compiler, meson options). plain and fuzz carry -Werror, one with
# each compiler: tools/lint builds the same two.
OPTIONS = {
    "plain": ("gcc", ["-Dwerror=true"]),
    "failpoints": ("gcc", ["-Dfailpoints=true"]),
    "sanitize": ("gcc", ["-Dfailpoints=true",
                         "-Db_sanitize=address,undefined"]),
    "thread": ("gcc", ["-Db_sanitize=thread"]),
    "fuzz": ("clang", ["-Dwerror=true", "-Dfuzz=true", "-Db_lundef=false",
                       "-Db_sanitize=address,undefined"]),
}


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


def build(name, extra=(), targets=()):
    """Configure and compile; the directory is returned."""
    configure(name, extra)
    run_quietly(["ninja", "-C", BUILDS / name, *targets])
    return BUILDS / name

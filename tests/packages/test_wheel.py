"""The wheel in a Debian without compilers: what is in it, and that it needs
nothing else but Python. A real PostgreSQL and a real MySQL run outside."""

import base64
import csv
import hashlib
import json
import re
import zipfile

import pytest

import oracle
import workload
from bench import EXIT_CONFIG, sync_items
from builds import ROOT

# One worker makes the wheel and installs it, once for all files of the group.
pytestmark = pytest.mark.xdist_group("wheel")
MOST_BYTES = 40 << 20
# The only libraries that a system with glibc and C++ programs must have.
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|resolv|gcc_s"
                    r"|stdc\+\+))\.so\.\d+$")


def test_it_is_small_and_whole(wheel):
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        record = next(name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert {row[0] for row in rows} == names
        for name, digest, size in rows:
            if digest:
                data = archive.read(name)
                hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
                assert digest == "sha256=" + hashed.decode().rstrip("=")
                assert int(size) == len(data)


def test_each_library_has_its_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        licences = next(name for name in names
                        if name.endswith("libraries/README.txt"))
        listed = dict(re.findall(r"^(lib\S+)\s+(\S+) \S+",
                                 archive.read(licences).decode(), re.M))
    beside = licences.rpartition("/")[0]
    carried = {name.rpartition("/")[2] for name in names
               if re.search(r"_program/lib/[^/]+$", name)}
    assert carried == set(listed) and "libpq.so.5" in carried
    for library, package in listed.items():
        licence = "duckdb.txt" if package == "duckdb" else \
            f"{package}.copyright"
        assert f"{beside}/{licence}" in names, library


def test_the_page_names_each_library(wheel):
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    table = page[page.index("\n| for | libraries |"):]
    named = re.findall(r"`(lib[^`]+)`", table[:table.index("\n\n")])
    with zipfile.ZipFile(wheel) as archive:
        carried = {name.rpartition("/")[2] for name in archive.namelist()
                   if re.search(r"_program/lib/[^/]+$", name)}
    assert len(named) == len(set(named)) and set(named) == carried
    oldest = re.search(r"manylinux_(\d+)_(\d+)_", wheel.name).groups()
    assert f"with glibc {'.'.join(oldest)} or newer" in page


def test_no_library_of_the_system_is_used(installed):
    said = installed.tree.run(
        "sh", "-c", 'find "$0" -type f | xargs ldd', installed.program).stdout
    assert not [line for line in said.splitlines() if "not found" in line]
    used = dict(re.findall(r"^\t(\S+) => (\S+)", said, re.M))
    assert used["libcrypto.so.3"].startswith(str(installed.program))
    others = {name for name, path in used.items()
              if not path.startswith(str(installed.program))}
    assert all(SYSTEM.match(name) for name in others), others


def test_libraries_of_somebody_else_are_not_taken(installed):
    """$LD_LIBRARY_PATH often leads to those of a database's own client."""
    installed.tree.write("/strange/libjansson.so.4", "no library")
    done = installed.tree.run("/venv/bin/tidemark", "version",
                              env={"LD_LIBRARY_PATH": "/strange"})
    assert done.stdout.startswith("tidemark ")


def test_sqlite_to_duckdb(wheel_tidemark, make_source, make_destination):
    source, destination = make_source("sqlite"), make_destination("duckdb")
    workload.create_items(source, rows=50)
    sync_items(wheel_tidemark, source, destination, "timestamp").run()
    oracle.check_rows(source.rows("items", oracle.ITEMS), destination.rows(
        f"{destination.schema}.items", oracle.ITEMS))
    wheel_tidemark("verify").expect(0)


@pytest.mark.parametrize("engine", ("postgres", "mysql"))
def test_a_server_to_duckdb(wheel_tidemark, make_source, make_destination, engine):
    """With a password: by SCRAM, and by caching_sha2_password, which is a
    plug-in of the library."""
    source, destination = make_source(engine), make_destination("duckdb")
    workload.create_items(source, rows=50)
    workload.settle(source)
    sync_items(wheel_tidemark, source, destination, "timestamp").run()
    oracle.check_rows(source.rows("items", oracle.ITEMS), destination.rows(
        f"{destination.schema}.items", oracle.ITEMS))
    wheel_tidemark("verify").expect(0)


@pytest.mark.parametrize("file", ("tidemark-duckdb.so", "lib/libduckdb.so"))
def test_a_missing_module_says_where_to_get_it(wheel_tidemark, installed,
                                               make_source, file):
    source, missing = make_source("sqlite"), installed.program / file
    workload.create_items(source, rows=1)
    installed.tree.run("mv", missing, "/aside")
    try:
        done = wheel_tidemark("copy", source.connection(), "duckdb:w.duckdb",
                              "--table", "items")
        done.expect(EXIT_CONFIG)
        assert missing.name in done.err, done
        assert "tidemark-duckdb; or Tidemark's wheel" in done.err, done
    finally:
        installed.tree.run("mv", "/aside", missing)


def test_pip_refuses_a_system_that_is_too_old(installed):
    new = re.sub(r"manylinux_\d+_\d+", "manylinux_2_999", installed.wheel)
    installed.tree.run("cp", installed.wheel, new)
    done = installed.pip("install", "--force-reinstall", new, check=False)
    assert done.returncode and "not a supported wheel" in done.stderr


@pytest.mark.parametrize("glibc, words", (
    ("(2, 999)", "needs glibc 2.999 or newer, and this system has glibc 2.36"),
    ("(2, 36)", "")))
def test_the_command_says_what_is_too_old(installed, glibc, words):
    """Unpacked by hand, or run on after the system was changed."""
    build = installed.package / "_build.py"
    before = installed.tree.run("cat", build).stdout
    installed.tree.write(build, f"VERSION = '1'\nGLIBC = {glibc}\n")
    try:
        done = installed.tree.run("/venv/bin/tidemark", "version", check=False)
        assert done.returncode == (2 if words else 0)
        assert words in done.stderr
        told = installed.python(
            "import tidemark\ntry:\n    tidemark.call('version')\n"
            "except tidemark.Crashed as error:\n    print(error)").stdout
        assert words in told
    finally:
        installed.tree.write(build, before)


def test_a_program_that_is_gone_is_named(installed):
    installed.tree.run("mv", installed.program / "tidemark", "/aside")
    try:
        done = installed.tree.run("/venv/bin/tidemark", "version", check=False)
        assert done.returncode == 2
        assert f"cannot run {installed.program}/tidemark" in done.stderr
    finally:
        installed.tree.run("mv", "/aside", installed.program / "tidemark")


def test_python_s_own_way_to_run_it(installed):
    said = installed.tree.run("/venv/bin/python", "-m", "tidemark", "version",
                              "--json").stdout
    version = json.loads(said)["version"]
    assert installed.python(
        "import tidemark; print(tidemark.__version__)").stdout == f"{version}\n"
    assert f"tidemark-{version}-" in installed.wheel

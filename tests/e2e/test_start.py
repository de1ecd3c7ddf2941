"""A command loads the client libraries of the servers that it talks to, and no
others. The forty of libcurl alone would cost milliseconds of each start."""

import os

import pytest

import workload
from bench import EXIT_CONFIG, sync_items

LIBRARIES = 6
# source, destination -> what a run loads, and what it leaves alone.
LOADED = {
    ("sqlite", "sqlite"): ({"libsqlite3"}, {"libpq", "libmariadb", "libcurl"}),
    ("postgres", "sqlite"): ({"libsqlite3", "libpq"},
                             {"libmariadb", "libcurl"}),
    ("mariadb", "sqlite"): ({"libsqlite3", "libmariadb"}, {"libpq", "libcurl"}),
    ("postgres", "clickhouse"): ({"libpq", "libcurl"}, {"libmariadb"}),
}


@pytest.fixture
def libraries(tidemark):
    """libraries(*args): the names of the libraries that a command loads."""
    def load(*args):
        report = os.path.join(tidemark.dir, "loaded")
        tidemark(*args, env={
            "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": report}).expect(0)
        # Behind the name stands the process.
        [path] = [os.path.join(tidemark.dir, name)
                  for name in os.listdir(tidemark.dir)
                  if name.startswith("loaded.")]
        with open(path, encoding="utf-8") as lines:
            files = [line.split("calling init:")[1] for line in lines
                     if "calling init:" in line]
        os.unlink(path)
        names = {os.path.basename(file.strip()).split(".so")[0]
                 for file in files}
        # The loader is there before it loads anything.
        return {name for name in names if not name.startswith("ld-")}
    return load


def test_version_loads_few_libraries(libraries):
    loaded = libraries("version")
    assert "libc" in loaded
    assert len(loaded) <= LIBRARIES, loaded


@pytest.mark.parametrize("kinds", LOADED, ids="-".join)
def test_a_run_loads_what_its_urls_need(tidemark, make_source,
                                        make_destination, libraries, kinds):
    source, destination = make_source(kinds[0]), make_destination(kinds[1])
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    loaded = libraries("run")
    needed, others = LOADED[kinds]
    assert needed <= loaded and not others & loaded, loaded


@pytest.mark.parametrize("library, package, url", [
    ("libpq.so.5", "libpq5", "postgresql://u@127.0.0.1:1/d"),
    ("libmariadb.so.3", "libmariadb3", "mysql://u@127.0.0.1:1/d"),
    ("libcurl.so.4", "libcurl4", "clickhouse://u@127.0.0.1:1/d"),
    ("libsqlite3.so.0", "libsqlite3-0", "sqlite:none.db"),
])
def test_a_library_that_is_not_there_is_named(tidemark, library, package, url):
    """A broken one comes first in the loader's path."""
    broken = os.path.join(tidemark.dir, "broken")
    os.mkdir(broken)
    with open(os.path.join(broken, library), "wb"):
        pass
    env = {"LD_LIBRARY_PATH": broken}
    tidemark("version", env=env).expect(0)
    done = tidemark("copy", url, "sqlite:copy.db", "--table", "t", env=env)
    done.expect(EXIT_CONFIG)
    assert library in done.err and f"package is {package}" in done.err

"""The example of an outside plug-in: built against the installed headers alone,
and used by a binary that has never heard of it."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_STATE, items_settings
from servers import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          **more)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def plugin_dir(tidemark_binary, tmp_path_factory):
    """The directory of the module that a user has built."""
    prefix = tmp_path_factory.mktemp("installed")
    here = tmp_path_factory.mktemp("plugin")
    call("meson", "install", "-C", os.path.dirname(tidemark_binary),
         "--no-rebuild", "--tags", "devel", "--destdir", str(prefix))
    pc, = prefix.rglob("tidemark.pc")
    shutil.copytree(ROOT / "examples/plugin", here, dirs_exist_ok=True)
    call("make", "-C", str(here), "CFLAGS=-O1 -Wall -Wextra -Werror", env={
        **os.environ, "PKG_CONFIG_PATH": str(pc.parent),
        "PKG_CONFIG_SYSROOT_DIR": str(prefix)})
    return here


class Files:
    def __init__(self, work_dir):
        self.dir = work_dir / "lake"
        self.dir.mkdir()
        self.table = self.dir / "items"
        self.marks = self.table / ".tidemark"

    def batches(self):
        return sorted(self.table.glob("*.ndjson"))

    def rows(self):
        """The newest line of each key."""
        found = {}
        for path in self.batches():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                found[row["id"]] = row
        return found


@pytest.fixture
def files(work_dir):
    return Files(work_dir)


@pytest.fixture
def lake(tidemark, source, plugin_dir, files):
    """tidemark with a pipeline into the files."""
    workload.create_items(source, rows=250)
    tidemark.env["TIDEMARK_PLUGIN_PATH"] = str(plugin_dir)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", f"ndjson:{files.dir}")
    settings = items_settings(source, source, "timestamp", "append",
                              to="items")
    settings["batch"] = {"rows": 100}
    tidemark.pipeline("items", **settings)
    return tidemark.write_config()


def test_it_is_listed(lake, plugin_dir):
    listed = {each["engine"]: each for each in
              lake("plugins", "--json").expect(0).json()["plugins"]}
    assert listed["ndjson"]["destination"] and not listed["ndjson"]["source"]
    assert listed["ndjson"]["from"] == f"{plugin_dir}/tidemark-ndjson.so"


def test_rows_arrive_and_a_second_run_adds_none(lake, source, files):
    assert lake.run().pipeline()["rows_inserted"] == 250
    assert len(files.batches()) == 3
    before = {path: path.read_bytes() for path in files.batches()}
    assert lake.run().pipeline()["rows_read"] == 0
    assert {path: path.read_bytes() for path in files.batches()} == before
    workload.touch_items(source, "id IN (7, 8)")
    workload.settle(source)
    assert lake.run().pipeline()["rows_inserted"] == 2
    told = dict(source.query("SELECT id, quantity FROM items"))
    assert {key: row["quantity"] for key, row in files.rows().items()} == told


def test_a_dry_run_writes_nothing(lake, files):
    done = lake("run", "--dry-run", "--json").expect(0)
    assert done.json()["pipelines"][0]["rows_inserted"] == 250
    assert not list(files.dir.iterdir())


@pytest.mark.parametrize("moment", ["before the mark", "before the file"])
def test_killed_within_a_load(lake, source, files, moment):
    """What each of the two leaves on the disk."""
    lake.run()
    before = files.batches()
    workload.touch_items(source, "id = 7")
    workload.settle(source)
    mark = (files.marks / "items.json").read_bytes()
    lake.run()
    last, = set(files.batches()) - set(before)
    last.rename(files.marks / "items.stage")
    if moment == "before the mark":
        (files.marks / "items.json").write_bytes(mark)
    result = lake.run().pipeline()
    assert result["rows_read"] == (1 if moment == "before the mark" else 0)
    assert len(files.batches()) == len(before) + 1
    told = dict(source.query("SELECT id, quantity FROM items"))
    assert {key: row["quantity"] for key, row in files.rows().items()} == told
    assert not list(files.marks.glob("*.stage"))


def test_a_writer_that_was_overtaken(lake, files):
    lake.pipelines["items"]["pace"] = {"rows_per_second": 50}
    lake.write_config()
    running = lake.start("run", "--json")
    wait_for(files.batches)
    path = files.marks / "items.json"
    mark = json.loads(path.read_text(encoding="utf-8"))
    newer = files.dir / "newer"
    newer.write_text(json.dumps({**mark, "fence": mark["fence"] + 5}),
                     encoding="utf-8")
    newer.rename(path)
    before = files.batches()
    done = running.wait().expect(EXIT_STATE)
    assert "fencing token" in done.err
    assert files.batches() == before and len(before) < 3


def test_forgotten_and_loaded_again(lake, files):
    lake.run()
    before = {path: path.read_bytes() for path in files.batches()}
    lake("watermark", "reset", "items").expect(0)
    assert lake.run().pipeline()["rows_inserted"] == 250
    for path, content in before.items():
        assert path.read_bytes() == content
    assert len(files.batches()) == 6 and len(files.rows()) == 250


@pytest.mark.parametrize("mode", ["upsert", "delete_insert", "replace"])
def test_modes_that_files_cannot_have(lake, files, mode):
    lake.pipelines["items"]["load"] = {"mode": mode}
    lake.write_config()
    done = lake.run(expect=EXIT_CONFIG)
    assert "load: { mode: append }" in done.err + done.out
    assert not list(files.dir.iterdir())


def test_bad_input(lake, files):
    lake.run()
    done = lake("verify", "items").expect(EXIT_CONFIG)
    assert "cannot be a source" in done.err
    lake.connect("warehouse", f"ndjson:{files.dir}/nowhere")
    lake.write_config()
    assert "is no directory" in lake("run").expect(EXIT_ACCESS).err
    lake.env["TIDEMARK_PLUGIN_PATH"] = str(files.dir)
    done = lake("run").expect(EXIT_CONFIG)
    assert 'unknown URL scheme "ndjson"' in done.err
    assert "TIDEMARK_PLUGIN_PATH" in done.err

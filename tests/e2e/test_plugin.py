"""The example of an outside plug-in: built against the installed headers alone,
and used by a binary that has never heard of it."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import workload
from bad_days import fill_up, mounted
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_STATE, EXIT_STOPPED,
                   items_settings)
from servers import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          **more)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tidemark_binary, tmp_path_factory):
    """Install all that a user needs to build a module; return its directory."""
    prefix = tmp_path_factory.mktemp("installed")
    call("meson", "install", "-C", os.path.dirname(tidemark_binary),
         "--no-rebuild", "--tags", "devel", "--destdir", str(prefix))
    return prefix


def test_headers_refer_to_installed_headers(installed):
    """A writer of a plug-in has no others to look into."""
    plugin, = installed.rglob("plugin.h")
    names = re.compile(r"\b(?:cli|clients|connectors|core|destinations|engines"
                       r"|stores)/[\w/]+\.h\b")
    found = [(path.name, name) for path in plugin.parent.rglob("*.h")
             for name in names.findall(path.read_text(encoding="utf-8"))]
    assert len(found) > 20
    assert [each for each in found
            if not (plugin.parent / each[1]).exists()] == []


@pytest.fixture(scope="module")
def build_plugin(installed, tmp_path_factory):
    """Makes the module as a user does; its directory."""
    pc, = installed.rglob("tidemark.pc")

    def build(*replaced):
        here = tmp_path_factory.mktemp("plugin")
        shutil.copytree(ROOT / "examples/plugin", here, dirs_exist_ok=True)
        for old, new in replaced:
            places = [path for path in here.glob("*.c")
                      if old in path.read_text(encoding="utf-8")]
            assert places
            for path in places:
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(old, new), encoding="utf-8")
        call("make", "-C", str(here), "CFLAGS=-O1 -Wall -Wextra -Werror", env={
            **os.environ, "PKG_CONFIG_PATH": str(pc.parent),
            "PKG_CONFIG_SYSROOT_DIR": str(installed)})
        return here
    return build


@pytest.fixture(scope="module")
def plugin_dir(build_plugin):
    return build_plugin()


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
    """The state that each of the two leaves on the disk."""
    lake.run()
    before = files.batches()
    workload.touch_items(source, "id = 7")
    workload.settle(source)
    mark = (files.marks / "items.json").read_bytes()
    lake.run()
    last, = set(files.batches()) - set(before)
    last.rename(files.marks / f"{last.stem}.stage")
    if moment == "before the mark":
        (files.marks / "items.json").write_bytes(mark)
    result = lake.run().pipeline()
    assert result["rows_read"] == (1 if moment == "before the mark" else 0)
    assert len(files.batches()) == len(before) + 1
    told = dict(source.query("SELECT id, quantity FROM items"))
    assert {key: row["quantity"] for key, row in files.rows().items()} == told
    assert not list(files.marks.glob("*.stage"))


def test_a_torn_stage_is_no_batch(lake, files):
    """A batch that somebody has taken away is not one that was never put
    there."""
    lake.run()
    newest = files.batches()[-1].stem
    number = int(newest.rpartition("-")[2])
    for path in files.batches():
        path.unlink()
    for name in ("items", f"items-{number + 1}", f"items-{number - 1}"):
        (files.marks / f"{name}.stage").write_text('{"id": 1, "na',
                                                   encoding="utf-8")
    (files.marks / "items-x-5.stage").write_text("of another pipeline",
                                                 encoding="utf-8")
    assert lake.run().pipeline()["rows_read"] == 0
    assert not files.batches()
    left = {path.name for path in files.marks.glob("*.stage")}
    assert left == {"items.stage", "items-x-5.stage"}


def test_killed_again_and_again(lake, source, files):
    """By SIGKILL amid a batch of big values, while a reader takes away what is
    finished: each row is there once."""
    source.execute("UPDATE items SET name = repeat('x', 2000000) || id "
                   "WHERE id <= 60")
    lake.pipelines["items"]["batch"] = {"rows": 10, "bytes": "20MiB"}
    lake.write_config()
    taken = files.dir / "taken"
    taken.mkdir()
    for finished in (1, 0, 1, 0, 0):
        running = lake.start("run", "--json")
        wait_for(lambda n=finished: len(files.batches()) >= n
                 and list(files.marks.glob("items-*.stage"))
                 or not running.alive(), step=0.001)
        running.kill()
        for path in files.batches():
            path.rename(taken / path.name)
    lake.run()
    lines = [json.loads(line)
             for path in (*taken.iterdir(), *files.batches())
             for line in path.read_text(encoding="utf-8").splitlines()]
    assert sorted(row["id"] for row in lines) == list(range(1, 251))
    assert not list(files.marks.glob("*.stage"))


def test_a_full_disk(lake, source, files):
    """Nothing of the batch is there, and a run with room has it."""
    source.execute("UPDATE items SET name = repeat('x', 100000)")
    files.dir.rmdir()
    with mounted(files.dir, "64m") as why_not:
        if why_not:
            pytest.skip(why_not)
        fill_up(files.dir / "ballast", leave=4 << 20)
        result = lake.run(expect=EXIT_ACCESS).pipeline()
        assert "No space left" in result["error"]["message"]
        assert not list(files.marks.glob("*.stage"))
        (files.dir / "ballast").unlink()
        lake.run()
        assert len(files.rows()) == 250
        assert sum(len(path.read_text(encoding="utf-8").splitlines())
                   for path in files.batches()) == 250


@pytest.mark.parametrize("moment", ["in time", "interrupted", "too long"])
def test_somebody_holds_the_lock(lake, files, moment):
    """Such as a process that was stopped amid a batch."""
    lake.run()
    with open(files.marks / "items.lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = lake.start("run", "--json")
        if moment == "too long":
            done = running.wait().expect(EXIT_STATE)
            assert "items.lock" in done.pipeline()["error"]["message"]
            return
        time.sleep(1.5)
        assert running.alive()
        if moment == "interrupted":
            running.signal(signal.SIGINT)
            running.wait().expect(EXIT_STOPPED)
            return
    running.wait().expect(0)


@pytest.mark.parametrize("pipeline, table, directory", [
    ("../../up", "main.items", "main.items"),
    ("a/b.json", '"a/b.c"', "a%2Fb%2Ec"),
    ("größe 100%", '"main"."../items"', "main.%2E%2E%2Fitems"),
    (".", '".tidemark"', "%2Etidemark"),
    ("x" * 200, '"q""uote"', 'q"uote'),
])
def test_names(lake, files, pipeline, table, directory):
    """Whatever they hold, they stay in the lake."""
    settings = lake.pipelines.pop("items")
    settings["destination"]["table"] = table
    lake.pipeline(pipeline, **settings).write_config()
    before = list(files.dir.parent.iterdir())
    lake.run()
    found = {str(path.relative_to(files.dir).parent)
             for path in files.dir.rglob("*") if path.is_file()}
    assert found == {directory, f"{directory}/.tidemark"}
    assert all(path in before or path.name.startswith("state.db")
               for path in files.dir.parent.iterdir())
    assert lake.run().pipeline(pipeline)["rows_read"] == 0
    lake.pipelines = {"other": settings}
    lake.write_config()
    said = [each["message"] for each in lake("check", "--json", "other")
            .expect(0).pipeline()["problems"]
            if each["code"] == "table-of-others"]
    assert len(said) == 1 and f'"{pipeline}" loads' in said[0]


def test_names_that_no_file_can_have(lake, files):
    lake.pipelines["/" * 200] = lake.pipelines.pop("items")
    lake.write_config()
    assert "too long" in lake.run(expect=EXIT_CONFIG).pipeline()["error"][
        "message"]
    assert not list(files.dir.iterdir())


def test_an_empty_table(lake, source, files):
    source.execute("DELETE FROM items")
    assert lake.run().pipeline()["rows_read"] == 0
    assert not files.batches()
    workload.fill_items(source, 1, 5)
    workload.settle(source)
    assert lake.run().pipeline()["rows_inserted"] == 5


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


def test_what_else_files_cannot_have(lake, files):
    done = lake("run", "--full-refresh").expect(EXIT_CONFIG)
    assert "--full-refresh" in done.err and "mode append" not in done.err
    lake.pipelines["items"]["load"]["soft_delete"] = "gone"
    lake.write_config()
    done = lake("run").expect(EXIT_CONFIG)
    assert "soft_delete" in done.err and "mode append" not in done.err
    assert not list(files.dir.iterdir())


def test_options_that_it_does_not_declare(lake, files, build_plugin):
    lake.connect("warehouse", f"ndjson:{files.dir}?food=1")
    lake.write_config()
    done = lake.run(expect=EXIT_CONFIG)
    assert done.pipeline()["error"]["message"].endswith(
        "ndjson: unknown option food in the URL; it has none")
    lake("check").expect(EXIT_CONFIG)
    assert not list(files.dir.iterdir())
    lake.env["TIDEMARK_PLUGIN_PATH"] = str(build_plugin(
        ("ndjson_options[] = {",
         'ndjson_options[] = {{ "foo", "", "a word" },'
         ' { "level", "", "a number" },')))
    done = lake.run(expect=EXIT_CONFIG)
    assert done.pipeline()["error"]["message"].endswith(
        "ndjson: unknown option food in the URL; allowed: foo, level "
        "(did you mean foo?)")
    lake.connect("warehouse", f"ndjson:{files.dir}?level=3&foo=1")
    lake.write_config()
    lake.run()


def test_built_for_another_abi(lake, files, build_plugin):
    other = build_plugin((".abi = PLUGIN_ABI", ".abi = 999"))
    lake.env["TIDEMARK_PLUGIN_PATH"] = str(other)
    done = lake("run").expect(EXIT_CONFIG)
    assert "ABI 999" in done.err
    assert not list(files.dir.iterdir())
    module = f"{other}/tidemark-ndjson.so"
    listed = lake("plugins", "--json").expect(0).json()
    assert "ndjson" not in {each["engine"] for each in listed["plugins"]}
    refused, = listed["refused"]
    assert refused["engine"] == "ndjson" and refused["code"] == "config"
    assert module in refused["message"] and "ABI 999" in refused["message"]
    out = lake("plugins").expect(0).out
    assert "refused: engine ndjson" in out and "ABI 999" in out


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


def test_its_second_scheme(lake, files):
    """Nothing but the module itself knows it."""
    lake.connect("warehouse", f"jsonl:{files.dir}")
    lake.write_config()
    assert lake.run().pipeline()["rows_inserted"] == 250
    lake.connect("warehouse", f"ndjson:{files.dir}")
    lake.write_config()
    assert lake.run().pipeline()["rows_read"] == 0
    lake.connect("warehouse", "jsonl:")
    lake.write_config()
    assert "write jsonl:FILE" in lake("run").expect(EXIT_CONFIG).err
    lake.connect("warehouse", {"url": f"jsonl:{files.dir}",
                               "password": "${HOME}"})
    lake.write_config()
    assert "takes no password" in lake("run").expect(EXIT_CONFIG).err


# Leaves a file behind when the module is loaded.
TOUCHES = ("const struct plugin tidemark_plugin = {",
           '#include <fcntl.h>\n'
           '__attribute__((constructor)) static void loaded(void)\n'
           '{\n\tclose(open("%s", O_CREAT | O_WRONLY, 0600));\n}\n\n'
           "const struct plugin tidemark_plugin = {")


@pytest.mark.parametrize("scheme", ["ndjson", "jsonl", "unheard"])
@pytest.mark.parametrize("writable", ["the module", "its directory"])
def test_facts_of_a_module_that_others_write(lake, files, work_dir,
                                             build_plugin, scheme, writable):
    """It is not loaded to be asked for its schemes, and the error says why."""
    witness = work_dir / "was-loaded"
    made = build_plugin((TOUCHES[0], TOUCHES[1] % witness))
    (made / "tidemark-ndjson.so" if writable == "the module"
     else made).chmod(0o777)
    lake.env["TIDEMARK_PLUGIN_PATH"] = str(made)
    lake.connect("warehouse", f"{scheme}:{files.dir}")
    lake.write_config()
    done = lake("run").expect(EXIT_CONFIG)
    assert "engine ndjson: its module is not to be trusted" in done.err
    assert (f'unknown URL scheme "{scheme}"' in done.err) == (
        scheme != "ndjson")
    assert not witness.exists()
    (made / "tidemark-ndjson.so").chmod(0o755)
    made.chmod(0o755)
    lake("run").expect(EXIT_CONFIG if scheme == "unheard" else 0)
    assert witness.exists()


def test_no_module_is_loaded_without_need(lake, files, work_dir, source,
                                          build_plugin):
    witness = work_dir / "was-loaded"
    lake.env["TIDEMARK_PLUGIN_PATH"] = str(
        build_plugin((TOUCHES[0], TOUCHES[1] % witness)))
    lake.connect("warehouse", f"sqlite:{work_dir}/w.db")
    lake.pipelines["items"]["destination"]["table"] = "main.items"
    lake.write_config().run()
    assert not witness.exists()
    lake.connect("warehouse", f"jsonl:{files.dir}")
    lake.write_config().run()
    assert witness.exists()


@pytest.mark.parametrize("old, new, said", [
    ('.name = "ndjson",\n\t.schemes', ".schemes", "its facts hold no name"),
    (".schemes = ndjson_schemes,", ".schemes = ndjson_schemes + 2,", "its facts hold no scheme"),
    ('"jsonl"', '"mariadb"',
     'its scheme "mariadb" is that of the engine mysql'),
    ("\t.engine = &ndjson_engine,\n", "", "brings no facts"),
    ("= ENGINE_FILE |", "= ENGINE_SERVER | ENGINE_FILE |",
     "a file and a server"),
])
def test_facts_with_holes(lake, files, build_plugin, old, new, said):
    made = build_plugin((old, new))
    lake.env["TIDEMARK_PLUGIN_PATH"] = str(made)
    for scheme in ("ndjson", "unheard"):
        lake.connect("warehouse", f"{scheme}:{files.dir}")
        lake.write_config()
        done = lake("run").expect(EXIT_CONFIG)
        assert f"engine ndjson ({made}/tidemark-ndjson.so)" in done.err
        assert said in done.err
    refused, = lake("plugins", "--json").expect(0).json()["refused"]
    assert refused["engine"] == "ndjson" and said in refused["message"]


def test_a_password_by_its_own_rule(lake, build_plugin):
    """A server's URL, read as libpq does: the password holds a "?"."""
    lake.env["TIDEMARK_PLUGIN_PATH"] = str(build_plugin(
        ("= ENGINE_FILE | ENGINE_ONE_WRITER",
         "= ENGINE_SERVER | ENGINE_LIBPQ_URL")))
    lake.connect("warehouse", "jsonl://app:8?x=hunter22@nowhere/db")
    lake.write_config()
    done = lake("run")
    told = done.err + lake("check", "--json").out + lake("status").out
    assert "hunter22" not in told
    shown = lake("copy", "jsonl://app:8?x=hunter22@nowhere/db",
                 "jsonl://app:9?x=hunter22@nowhere/db", "--table", "t",
                 "--watermark", "sequence:id").expect(EXIT_CONFIG)
    assert "SOURCE_URL, DESTINATION_URL: a password on a command" in shown.err
    assert "hunter22" not in shown.err + shown.out


def test_one_connection_at_both_ends(lake, files):
    for table in ("items", "main.items", "elsewhere"):
        lake.pipelines["items"]["source"] = {"connection": "warehouse",
                                             "table": table}
        lake.write_config()
        for command in ("run", "check", "verify"):
            done = lake(command).expect(EXIT_CONFIG)
            assert "cannot be a source" in done.err + done.out or \
                "the same table" in done.err


def test_backfill_by_one_writer(lake, files):
    """More than one worker is not for a file that one process writes. The
    chunk is compared behind its load, which nothing can that only writes."""
    lake.run()
    done = lake("backfill", "items", "--workers", "3").expect(EXIT_CONFIG)
    assert (f"ndjson:{files.dir} is a file that one process writes at a time: "
            "one worker") in done.err

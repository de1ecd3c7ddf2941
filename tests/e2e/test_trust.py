"""Files that others own or can write, and secrets that others can read."""

import os
import pathlib
import shlex
import subprocess

import pytest

import workload
from bench import EXIT_CONFIG, sync_items
from servers import CANARY

NOBODY = 65534

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root gives away")


@pytest.fixture
def files(tidemark, work_dir):
    """A pipeline between two files that are not there: exit 3 or more tells
    that config and state were taken."""
    tidemark.connect("source", f"sqlite:{work_dir}/s.db")
    tidemark.connect("warehouse", f"sqlite:{work_dir}/w.db")
    tidemark.pipeline(
        "t", source={"connection": "source", "table": "main.t"},
        destination={"connection": "warehouse", "table": "main.t"},
        watermark={"strategy": "sequence", "column": "id"})
    return tidemark.write_config()


def make_state(files):
    files("migrate").expect(0)
    return pathlib.Path(files.state_file)


@pytest.mark.parametrize("mode", (0o660, 0o606, 0o602))
def test_state_that_others_write(files, mode):
    make_state(files).chmod(mode)
    done = files("migrate").expect(EXIT_CONFIG)
    assert "can be written by others" in done.err and "chmod go-w" in done.err


@as_root
def test_state_of_somebody_else(files):
    os.chown(make_state(files), NOBODY, NOBODY)
    assert "belongs to nobody" in files("migrate").expect(EXIT_CONFIG).err


@pytest.mark.parametrize("mode, code", ((0o777, EXIT_CONFIG), (0o1777, 0),
                                        (0o755, 0)))
def test_directory_of_the_state(files, work_dir, mode, code):
    (work_dir / "open").mkdir()
    (work_dir / "open").chmod(mode)
    files.top["state"] = f"sqlite:{work_dir}/open/below/state.db"
    files.write_config()("migrate").expect(code)


def test_state_in_a_directory_that_all_write(files, work_dir):
    """With the sticky bit, as /tmp: others put a log of theirs beside it."""
    (work_dir / "open").mkdir()
    (work_dir / "open").chmod(0o1777)
    files.top["state"] = f"sqlite:{work_dir}/open/state.db"
    done = files.write_config()("migrate").expect(EXIT_CONFIG)
    assert f"others can make files in the directory {work_dir}/open" in done.err
    assert f"{work_dir}/open/tidemark/state.db" in done.err
    told = files("check", "--json").pipeline()["problems"]
    found, = (each for each in told if each["code"] == "state-config")
    assert "others can make files in the directory" in found["message"]
    assert list((work_dir / "open").iterdir()) == []


@as_root
@pytest.mark.parametrize("below", ("", "below/"))
def test_state_in_a_directory_of_somebody_else(files, work_dir, below):
    (work_dir / "theirs").mkdir(mode=0o755)
    os.chown(work_dir / "theirs", NOBODY, NOBODY)
    files.top["state"] = f"sqlite:{work_dir}/theirs/{below}state.db"
    done = files.write_config()("migrate").expect(EXIT_CONFIG)
    assert f"the directory {work_dir}/theirs belongs to nobody" in done.err


def lay(path, mode=0o600, owner=NOBODY):
    """A file of somebody else's."""
    path.write_bytes(b"")
    path.chmod(mode)
    os.chown(path, owner, owner)


@as_root
@pytest.mark.parametrize("suffix", ("-wal", "-shm", "-journal"))
@pytest.mark.parametrize("mode, owner, said", (
    (0o600, NOBODY, "belongs to nobody"), (0o666, 0, "written by others")))
def test_files_beside_the_state(files, suffix, mode, owner, said):
    state = make_state(files)
    side = pathlib.Path(f"{state}{suffix}")
    lay(side, mode, owner)
    done = files("migrate").expect(EXIT_CONFIG)
    assert said in done.err and str(side) in done.err, done
    side.unlink()
    files("migrate").expect(0)


def test_link_beside_the_state(files, work_dir):
    state = make_state(files)
    pathlib.Path(f"{state}-journal").symlink_to(work_dir / "elsewhere")
    assert "is a link" in files("migrate").expect(EXIT_CONFIG).err


SIDES = [("sqlite", "-wal"), ("sqlite", "-journal"), ("duckdb", ".wal"),
         ("duckdb", ".tmp")]


@as_root
@pytest.mark.parametrize("end", ("source", "destination"))
@pytest.mark.parametrize("engine, suffix", SIDES)
def test_files_beside_source_and_target(tidemark, make_source,
                                        make_destination, engine, suffix, end):
    """Whoever may not write the file may not add to it. Its owner may."""
    source, destination = make_source(engine), make_destination(engine)
    workload.create_items(source, rows=2)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    path = source.path if end == "source" else destination.path
    side = pathlib.Path(path + suffix)
    lay(side)
    done = tidemark("run").expect(EXIT_CONFIG)
    assert f"{side} belongs to nobody" in done.err, done
    os.chown(path, NOBODY, NOBODY)
    if suffix != ".tmp":
        tidemark.run()


@as_root
def test_link_of_somebody_else(files, work_dir):
    make_state(files)
    link = work_dir / "link.db"
    link.symlink_to(files.state_file)
    files.top["state"] = f"sqlite:{link}"
    files.write_config()("migrate").expect(0)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    assert "the link" in files("migrate").expect(EXIT_CONFIG).err


def test_config_that_others_write(files):
    """A warning; with a literal password it is refused."""
    os.chmod(files.config, 0o666)
    assert "not to be trusted" in files("migrate").expect(0).err
    files.connect("more", "postgresql://a:" + "literal@127.0.0.1/x")
    files.write_config()
    os.chmod(files.config, 0o602)
    assert "password is written out" in files("migrate").expect(
        EXIT_CONFIG).err


@pytest.fixture
def secret(files, work_dir):
    path = work_dir / "holds-secret"
    path.write_text(CANARY + "\n")
    files.connect("more", {"url": "postgresql://a@127.0.0.1/x",
                           "password": "${file:%s}" % path})
    files.write_config()
    return path


@pytest.mark.parametrize("mode, code", (
    (0o600, 0), (0o400, 0), (0o640, EXIT_CONFIG), (0o644, EXIT_CONFIG),
    (0o620, EXIT_CONFIG)))
def test_secret_from_a_file(files, secret, mode, code):
    secret.chmod(mode)
    files("migrate").expect(code)


@pytest.mark.parametrize("mode, code", ((0o600, 0), (0o644, EXIT_CONFIG)))
def test_key_of_tls(files, work_dir, mode, code):
    key = work_dir / "key.pem"
    key.write_text("key")
    key.chmod(mode)
    files.connect("more", {"url": "postgresql://a@127.0.0.1/x",
                           "tls": {"cert": str(key), "key": str(key)}})
    files.write_config()("migrate").expect(code)


@as_root
def test_secret_of_a_read_only_mount(files, work_dir):
    """As Kubernetes lays it out: 0644 of root, behind two links."""
    mount = work_dir / "mounted"
    mount.mkdir()
    files.connect("more", {"url": "postgresql://a@127.0.0.1/x",
                           "password": "${file:%s/password}" % mount})
    files.write_config()
    script = (
        f"mount -t tmpfs none {mount} && cd {mount} && mkdir ..1 && "
        "echo kept-secret > ..1/password && chmod 644 ..1/password && "
        "ln -s ..1 ..data && ln -s ..data/password password && "
        f"%s cd {files.dir} && exec {shlex.quote(files.binary)} migrate")
    for remount, code in ((f"mount -o remount,ro {mount} &&", 0),
                          ("", EXIT_CONFIG)):
        done = subprocess.run(["unshare", "-m", "sh", "-c", script % remount],
                              env=files.command_env(), capture_output=True,
                              text=True, check=False)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode == code, done.stderr


@pytest.mark.parametrize("change", ("file", "directory"))
def test_module_that_others_write(files, work_dir, change):
    lib = work_dir / "lib"
    lib.mkdir()
    module = lib / "tidemark-other.so"
    module.write_bytes(b"no module")
    (module if change == "file" else lib).chmod(0o775)
    files.env["TIDEMARK_PLUGIN_PATH"] = str(lib)
    files.connect("source", "other:x")
    done = files.write_config()("run")
    assert "its module is not to be trusted" in done.err, done
    module.chmod(0o644)
    lib.chmod(0o755)
    done = files("run")
    assert "cannot load its module" in done.err, done

"""docs/how-to/dagster-or-prefect.md: its code calls what the module has. With
--full it runs in Dagster and in Prefect, which cost half a minute to install."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import pages
from conftest import ROOT
from servers import ADMIN, CANARY

PAGE = ROOT / "docs/how-to/dagster-or-prefect.md"
SHOP = ROOT / "docs/how-to/README.md"
MODULE = ROOT / "packaging/wheel/tidemark"
PLACE = pathlib.Path(os.environ.get(
    "XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tidemark-tests"
RELEASES = {"dagster": "1.13.*", "prefect": "3.*"}
RUNS = {
    "dagster": "import dagster as dg; from dagster_tables import *\n"
               "done = dg.materialize([orders, orders_are_equal])\n"
               "assert done.success\n"
               "made, = done.asset_materializations_for_node('orders')\n"
               "print(made.metadata['rows read'].value)\n"
               "print(*[each.passed for each in"
               " done.get_asset_check_evaluations()])",
    "prefect": "from prefect.testing.utilities import prefect_test_harness\n"
               "from prefect_tables import *\n"
               "with prefect_test_harness():\n"
               "    print(tables())\n"
               "    print(backfill('orders'))",
}
PRINTED = {"dagster": ["1000", "True"], "prefect": ["1003", "1000"]}


def code(name):
    return next(block.text for block in pages.blocks(PAGE)
                if block.file == f"{name}_tables.py")


@pytest.mark.parametrize("name", RELEASES)
def test_it_calls_what_there_is(name):
    known = ast.parse((MODULE / "__init__.py").read_text("utf-8"))
    names = {alias.asname or alias.name for node in known.body
             if isinstance(node, ast.ImportFrom) for alias in node.names}
    used = {node.attr for node in ast.walk(ast.parse(code(name)))
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name) and node.value.id == "tidemark"}
    assert used and used <= names


def environment(name):
    """A Python that has it; made once."""
    place = PLACE / f"{name}-venv"
    if not (place / "whole").exists():
        shutil.rmtree(place, ignore_errors=True)
        for command in (
                [sys.executable, "-m", "venv", place],
                [place / "bin/pip", "install", "-q",
                 f"{name}=={RELEASES[name]}"]):
            subprocess.run(command, check=True, capture_output=True, text=True)
        (place / "whole").touch()
    return place / "bin/python"


@pytest.mark.xdist_group("orchestrators")
@pytest.mark.parametrize("name", RELEASES)
def test_it_runs_there(full, name, work_dir, tidemark_binary, cluster,
                       make_database):
    if not full:
        pytest.skip("with --full")
    shop, warehouse = make_database("shop"), make_database("warehouse")
    for block in pages.blocks(SHOP):
        if "CREATE TABLE" in block.text:
            with cluster.admin(shop.database) as admin:
                admin.execute(block.text.partition("<<'SQL'\n")[2].rpartition(
                    "SQL\n")[0])
        if block.file == "tidemark.yaml":
            (work_dir / block.file).write_text(
                block.text.replace("///shop", f"///{shop.database}").replace(
                    "///warehouse", f"///{warehouse.database}"))
    site = work_dir / "site"
    shutil.copytree(MODULE, site / "tidemark")
    (site / "tidemark/_program").mkdir()
    (site / "tidemark/_program/tidemark").symlink_to(tidemark_binary)
    (work_dir / f"{name}_tables.py").write_text(code(name))
    done = subprocess.run(
        [environment(name), "-c", RUNS[name]], cwd=work_dir, text=True,
        capture_output=True, check=False, timeout=300, stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(work_dir),
             "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1",
             "DO_NOT_TRACK": "1", "PREFECT_LOGGING_LEVEL": "WARNING",
             "PGHOST": "127.0.0.1", "PGPORT": str(cluster.port),
             "PGUSER": ADMIN, "PGPASSWORD": CANARY, "PGTZ": "UTC"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[-2:] == PRINTED[name], done.stdout

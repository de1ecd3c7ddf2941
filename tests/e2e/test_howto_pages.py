"""docs/how-to and docs/migrating, each page followed to the letter: lib/pages.py
says how. All begin with the shop that docs/how-to/README.md makes."""

import os
import re
import shlex
import subprocess

import pytest
import yaml

import pages
from bench import EXIT_OK, assert_no_secret
from conftest import ROOT
from servers import ADMIN, CANARY, free_port

SHOP = ROOT / "docs" / "how-to" / "README.md"
PAGES = sorted([*ROOT.glob("docs/how-to/*.md"), *ROOT.glob("docs/migrating/*.md")])
MAKING, CLEANING = "CREATE DATABASE shop", "DROP DATABASE shop"
CRON = re.compile(r"(?:[\d*/,-]+ ){5}[a-z]+ (.+)")
each_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")


def named(query, server):
    return {row[0] for row in server.order(query)}


def databases(server):
    return named("SELECT datname FROM pg_database", server)


def roles(server):
    return named("SELECT rolname FROM pg_roles", server)


@pytest.fixture
def server(cluster):
    """The shared one, which has no more databases and roles afterwards."""
    before = databases(cluster), roles(cluster)
    yield cluster
    for name in databases(cluster) - before[0]:
        cluster.drop_database(name)
    for name in roles(cluster) - before[1]:
        cluster.order(f'DROP ROLE "{name}"')


def to_run(page):
    """The shop's steps and the page's own. A page for another tool's users loads
    the shop by itself."""
    shop = [step for step in pages.blocks(SHOP) if CLEANING not in step.text and
            (MAKING in step.text or page.parent == SHOP.parent)]
    own = pages.blocks(page)
    return [step for step in (own if page == SHOP else shop + own)
            if not step.exported and
            (step.runs or step.file and not step.file.startswith("/"))]


@each_page
def test_page(page, work_dir, tidemark_binary, server):
    folder, script, port = work_dir / "empty", work_dir / "page.sh", free_port()
    folder.mkdir()
    env = {"PATH": os.pathsep.join([os.path.dirname(tidemark_binary),
                                    os.environ["PATH"], server.bin]),
           "HOME": str(work_dir), "LC_ALL": "C.UTF-8", "TERM": "xterm",
           "PGHOST": "127.0.0.1", "PGPORT": str(server.port),
           "PGUSER": ADMIN, "PGPASSWORD": CANARY, "PGTZ": "UTC"}
    assert {name for step in pages.blocks(SHOP)
            for name in step.exported} <= set(env)
    steps = to_run(page)
    script.write_text(pages.as_script(steps, port))
    terminal = pages.Terminal(str(script), str(folder), env)
    try:
        pages.follow(terminal, steps, port, assert_no_secret)
    finally:
        terminal.close()
    check_models(folder, server)
    if page == SHOP:
        assert not list(folder.iterdir()), "the page cleans up"


def check_models(folder, server):
    """In dbt's place: the models' SQL runs where their sources are."""
    for model in folder.glob("models/*.sql"):
        sources = yaml.safe_load(
            model.with_name("sources.yml").read_text("utf-8"))["sources"]
        known = {(each["name"], table["name"]): each["schema"]
                 for each in sources for table in each["tables"]}
        sql = re.sub(r"\{\{ source\('(\w+)', '(\w+)'\) \}\}",
                     lambda m: f"{known[m[1], m[2]]}.{m[2]}",
                     model.read_text("utf-8"))
        whole = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", sql)
        first = re.sub(r"\{\{.*?\}\}|\{% if.*?endif %\}", "", sql, flags=re.S)
        for each in (whole, first):
            assert server.psql("warehouse", each).strip()


def is_right(command, folder):
    """Is it what a shell can read, or systemd?"""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          check=False)


@each_page
def test_blocks_that_are_not_run(page, tidemark, tidemark_binary, work_dir):
    """Their syntax is right, and Tidemark knows its own commands in them."""
    units = []
    for block in pages.blocks(page):
        lines = block.text.splitlines()[1:]
        if block.kind == "sh" and not block.runs:
            done = is_right(["bash", "-n", "-c", block.text], work_dir)
            assert not done.returncode, done.stderr
        elif block.kind == "crontab":
            commands = [CRON.fullmatch(line)[1] for line in lines]
            for command in commands:
                done = is_right(["bash", "-n", "-c", command], work_dir)
                assert not done.returncode, done.stderr
            lines = [re.split(r"&& ", each)[-1] for each in commands]
        elif block.file.endswith((".service", ".timer")):
            unit = work_dir / os.path.basename(block.file)
            unit.write_text(block.text.replace("/usr/bin/tidemark",
                                               tidemark_binary))
            units.append(str(unit))
            done = is_right(["systemd-analyze", "verify", "--man=no", *units],
                            work_dir)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
            lines = [line.partition("/usr/bin/")[2] for line in lines]
        else:
            continue
        for line in lines:
            if line.startswith("tidemark "):
                words = shlex.split(line, comments=True)[1:]
                tidemark(*[each for each in words if ">" not in each],
                         "--help").expect(EXIT_OK)


def test_pages_name_their_files_and_links_lead_here():
    """A page of the folder is in its list."""
    for page in PAGES:
        if page.name != "README.md":
            listed = (page.parent / "README.md").read_text("utf-8")
            assert f"({page.name})" in listed, page

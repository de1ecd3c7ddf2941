"""A reader's first steps on README and in docs/. Links lead somewhere, examples
are configs, and the first sync works as README has it."""

import json
import re
import shlex
import subprocess
import xml.etree.ElementTree

import pytest
import yaml

import workload
from bench import EXIT_OK
from conftest import ROOT
from servers import CANARY

README = ROOT / "README.md"
# CHANGELOG names pages of its time.
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
               if page.name != "CHANGELOG.md")
LIMIT = 120  # lines of README
STANDS_FOR = {"connections": {"shop": "postgresql://app@db/shop",
                              "erp": "sqlite:erp.db",
                              "warehouse": "duckdb:warehouse.duckdb"},
              "source": {"connection": "shop", "table": "orders"},
              "destination": {"connection": "warehouse", "table": "orders"},
              "watermark": {"strategy": "timestamp", "column": "updated_at"}}
TOP = {"version", "state", "log", "serve", "notify", "connections", "defaults",
       "pipelines"}


def named(page):
    return str(page.relative_to(ROOT))


def text_of(page):
    return page.read_text(encoding="utf-8")


def without_code(text):
    return re.sub(r"^\s*```.*?^\s*```", "", text, flags=re.M | re.S)


def anchors(page):
    """As a Git host makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", without_code(text_of(page)), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")
            for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text_of(page))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), link
        if anchor:
            assert anchor in anchors(there), link


def test_pictures_are_for_all_eyes():
    """Each has words in its place, and colours for a dark page."""
    shown = {}
    for page in PAGES:
        for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)",
                                      text_of(page)):
            shown[(page.parent / path).resolve()] = words
    pictures = set(ROOT.glob("docs/img/*.svg"))
    assert pictures == set(shown)
    for picture, words in shown.items():
        tree = xml.etree.ElementTree.parse(picture)
        assert tree.find("{http://www.w3.org/2000/svg}title").text, picture
        assert "prefers-color-scheme: dark" in text_of(picture), picture
        assert len(words.split()) > 5, picture


def test_readme_is_short_and_names_every_page():
    text = text_of(README)
    assert len(text.splitlines()) <= LIMIT
    for page in PAGES:
        index = page.with_name("README.md")
        if page not in (README, index) and index != README and index.exists():
            assert f"({page.name})" in text_of(index), f"{page} is not on {index}"
        elif page != README:
            assert f"({named(page)})" in text, f"{page} is not on README"


def test_figures_of_readme_were_measured():
    """Each is on the page that its line names."""
    results = text_of(ROOT / "bench" / "RESULTS.md")
    text = text_of(README)
    for tables, contender, named_as in (
            (40, "tidemark, 4 jobs", "{:.2f} s"), (40, "dlt 1.31", "{:.2f} s"),
            (10, "tidemark, 4 jobs", "{:.2f} s"), (10, "ingestr", "{:.1f} s")):
        seconds, memory = re.search(
            rf"^\| {tables} idle tables, postgres \| {contender} \| ([\d.]+) s "
            r"\|.*\| (\d+ MiB) \|$", results, re.M).groups()
        line, = re.findall(rf"^\| {tables} idle tables, .*$", text, re.M)
        assert f" {named_as.format(float(seconds))}, {memory} |" in line
    for contender in ("tidemark", "reladiff"):
        seconds = re.search(rf"^\| verify, equal \| {contender} \| ([\d.]+) s",
                            results, re.M)[1]
        assert f"{float(seconds):.1f} s" in text
    cases, lost = re.search(r"^\| kill \| ([\d,]+) \|(?: [\d,]+ \|){3} (\d+) \|",
                            text_of(ROOT / "docs" / "reliability.md"),
                            re.M).groups()
    assert f"[{cases} cases]" in text and f"{lost} rows lost" in text


def test_pages_that_sources_name_exist():
    """Messages and help send people to pages."""
    listed = subprocess.run(
        ["git", "grep", "-hoIE", r"docs/[a-z_/-]+\.md", "--", "*.[ch]", "*.py",
         "*.yaml", "*.yml", "*.sql"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in set(listed.split()):
        assert (ROOT / name).exists(), name


def whole(example):
    """A config of a part: of its top, of a pipeline, or pipelines by name."""
    named_pipelines = example.get("pipelines", {})
    if not set(example) & TOP:
        inner = list(example.values())
        several = all(isinstance(each, dict) and "destination" in each
                      for each in inner)
        named_pipelines = example if several else {"orders": example}
        example = {}
    pipelines = {
        name: {**{key: STANDS_FOR[key] for key in
                  ("source", "destination", "watermark")}, **each}
        for name, each in (named_pipelines or {"orders": {}}).items()}
    connections = {**STANDS_FOR["connections"],
                   **example.get("connections", {})}
    return {"version": 1, **example, "connections": connections,
            "pipelines": pipelines}


def examples():
    for page in PAGES:
        blocks = re.findall(r"^```yaml\n(.*?)^```", text_of(page), re.M | re.S)
        for i, block in enumerate(blocks):
            # "on" is a word to Tidemark, and true to this loader.
            found = yaml.safe_load(re.sub(r"\bon:", '"on":', block))
            if {"spec", "config", "backfills"} & set(found):  # Kubernetes'
                continue
            text = block if "version" in found else json.dumps(whole(found))
            yield pytest.param(text, id=f"{named(page)}-{i + 1}")


@pytest.mark.parametrize("example", examples())
def test_examples_are_configs(tidemark, example, work_dir):
    """`grants` reads the whole config and connects to nothing."""
    kept, services = work_dir / "secret", work_dir / "services"
    kept.write_text("secret12secret12", encoding="utf-8")
    kept.chmod(0o600)
    services.write_text("[shop]\nhost=db\ndbname=shop\n", encoding="utf-8")
    text = re.sub(r"\$\{file:[^}]+\}", f"${{file:{kept}}}", example)
    environment = {"PGSERVICEFILE": str(services), **dict.fromkeys(
        re.findall(r"\$\{([A-Z_]+)", text), "secret12")}
    tidemark.write_config(text)("grants", env=environment).expect(EXIT_OK)


def test_first_sync(tidemark, source):
    """README's commands behind the build, with another URL."""
    block = next(block for block in re.findall(
        r"^```sh\n(.*?)^```", text_of(README), re.M | re.S)
        if "tidemark init" in block)
    commands = [shlex.split(line, comments=True)[1:]
                for line in block.splitlines() if line.startswith("tidemark ")]
    assert [command[0] for command in commands] == [
        "init", "check", "run", "verify"]
    workload.create_items(source, rows=20)
    variable = re.search(r"^export (\w+)=", block, re.M).group(1)
    assert "${%s}" % variable in block
    url = source.url().replace("@", ":${%s}@" % variable, 1)
    for command in commands:
        done = tidemark(*(url if word.startswith("postgresql:") else word
                          for word in command), env={variable: CANARY}).expect(EXIT_OK)
    assert "equal" in done.out


@pytest.mark.parametrize("engine", ("postgres", "mysql", "sqlite", "duckdb",
                                    "clickhouse", "bigquery"))
def test_engine_pages_name_every_option(tidemark, engine):
    page = text_of(ROOT / "docs" / "engines" / f"{engine}.md")
    plugins = tidemark("plugins", "--json").expect(EXIT_OK).json()["plugins"]
    options = next(each["options"] for each in plugins
                   if each["engine"] == engine)
    for role in options.values():
        for option in role:
            assert re.search(rf"\b{option['name']}\b", page), option["name"]

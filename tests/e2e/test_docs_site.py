"""The site of docs/, as tools/docs builds it."""

import html.parser
import os
import pathlib
import posixpath
import shutil
import subprocess
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADED = {("script", "src"), ("img", "src"), ("link", "href"),
          ("iframe", "src"), ("source", "src"), ("object", "data")}


class Page(html.parser.HTMLParser):
    """The ids of a page, where its links lead, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs.get("id"), attrs.get("name")} - {None}
        for name in ("href", "src", "data"):
            if (tag, name) in LOADED and attrs.get(name):
                self.loads.append(attrs[name])
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])


def build(root):
    return subprocess.run([root / "tools/docs"], capture_output=True,
                          text=True, check=False,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def copied(work_dir):
    """The repository's pages, with all that they link to."""
    root = work_dir / "tree"
    names = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md",
         "mkdocs.yml", "docs", "tools", "examples", "packaging", "LICENSE"],
        capture_output=True, text=True, check=True).stdout.splitlines()
    for name in set(names):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    subprocess.run(["git", "-C", root, "init", "-q"], check=True)
    return root


@pytest.fixture(name="tree")
def fixture_tree(work_dir):
    return copied(work_dir)


def test_site(tree):
    done = build(tree)
    assert done.returncode == 0 and not done.stderr + done.stdout, \
        done.stderr + done.stdout
    site = tree / "build-docs/site"
    pages = {path.relative_to(site).as_posix(): Page(path)
             for path in site.rglob("*.html")}
    assert len(pages) > 40
    for name, page in pages.items():
        for link in page.links + page.loads:
            look_at(site, pages, name, link)
        for load in page.loads:
            assert not urllib.parse.urlsplit(load).netloc, \
                f"{name} loads {load}, and has to do without a network"


def look_at(site, pages, name, link):
    """A link within the site leads to something that is there."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc or name == "404.html":
        return
    path = posixpath.normpath(posixpath.join(
        posixpath.dirname(name), urllib.parse.unquote(parts.path))) \
        if parts.path else name
    assert (site / path).is_file(), f"{name}: {link} leads nowhere"
    if parts.fragment and not parts.fragment.startswith("__"):
        assert urllib.parse.unquote(parts.fragment) in pages[path].ids, \
            f"{name}: {link} has no such heading"


def test_a_broken_link_ends_the_build(tree):
    links = ["nowhere.md", "running.md#no-such-heading",
             "../packaging/nothing.yml"]
    with open(tree / "docs/verify.md", "a", encoding="utf-8") as page:
        page.writelines(f"\nSee [there]({link}).\n" for link in links)
    done = build(tree)
    assert done.returncode == 1
    for link in links:
        assert link in done.stderr, link

"""tools/check-versions: nothing is wrong here, and each mistake is told."""

import shutil
import subprocess

import pytest

import builds

FILES = ("meson.build", "CHANGELOG.md", "packaging/debian/changelog",
         "packaging/kubernetes/Chart.yaml")
MESON, NOTES, DEBIAN, CHART = FILES
NOTE = """\
# Changelog

## 1.2.3 - 2026-05-04

- New.

## 1.2.2 - 2026-01-02

- Old.
"""
ENTRY = """\
tidemark (1.2.3-1) unstable; urgency=medium

  * New.

 -- Somebody <somebody@example.org>  Mon, 04 May 2026 12:00:00 +0000
"""
CHARTED = """\
name: tidemark
version: 1.2.3
appVersion: "1.2.3"
"""


def check(root):
    return subprocess.run([builds.ROOT / "tools/check-versions", root],
                          capture_output=True, text=True, check=False)


@pytest.fixture
def released(tmp_path):
    for name, text in zip(FILES, ("project('tidemark', 'c',\n  version: '1.2.3',"
                                  "\n  meson_version: '>=1.0.0')\n", NOTE,
                                  ENTRY, CHARTED)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_versions_of_this_tree_agree(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(builds.ROOT / name, tmp_path / name)
    done = check(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_release_is_right(released):
    assert (check(released).returncode, check(released).stdout) == (0, "")


@pytest.mark.parametrize("name, old, new, told", (
    (MESON, "'1.2.3'", "'1.3.0'", "meson.build has 1.3.0"),
    (NOTES, "1.2.3 -", "1.2.4 -", "begins with 1.2.4"),
    (NOTES, "2026-05-04", "unreleased", "2026-05-04, CHANGELOG.md has unreleased"),
    (NOTES, "2026-05-04", "2026-05-05", "CHANGELOG.md has 2026-05-05"),
    (NOTES, "1.2.2 -", "1.2.3 -", "1.2.3 stands above 1.2.3"),
    (NOTES, "2026-01-02", "2026-09-09", "1.2.3 is older than 1.2.2"),
    (NOTES, "2026-01-02", "unreleased", "1.2.2 is unreleased, below 1.2.3"),
    (NOTES, "## 1.2.2 - 2026-01-02", "## Unreleased", '"Unreleased" is not'),
    (DEBIAN, "1.2.3-1", "1.2.4-1", "begins with 1.2.4"),
    (DEBIAN, " unstable", " UNRELEASED", "unreleased, CHANGELOG.md has 2026"),
    (DEBIAN, "04 May", "05 May", "2026-05-05, CHANGELOG.md has 2026-05-04"),
    (DEBIAN, "tidemark", "other", "a version is missing"),
    (CHART, "version: 1.2.3", "version: 1.2.2", "Chart.yaml: version 1.2.2"),
    (CHART, '"1.2.3"', '"1.2.4"', "Chart.yaml: appVersion 1.2.4"),
))
def test_a_mistake_is_told(released, name, old, new, told):
    text = (released / name).read_text(encoding="utf-8")
    assert old in text
    (released / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    done = check(released)
    assert done.returncode == 1 and told in done.stdout, done


def test_a_later_revision_has_a_later_day(released):
    text = (released / DEBIAN).read_text(encoding="utf-8")
    (released / DEBIAN).write_text(
        text.replace("1.2.3-1", "1.2.3-2").replace("04 May", "05 May"),
        encoding="utf-8")
    assert check(released).returncode == 0

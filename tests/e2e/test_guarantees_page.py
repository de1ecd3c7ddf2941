"""docs/guarantees.md quotes the reasons that runs give: each is in the code."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guarantees.md"
FOLDERS = ("connectors", "core", "destinations")
# Text for which a name, a number or a word in quotes stands.
INSERTED = r'\s?(?:"|%|[\w.:*\\-]|$)?.{0,60}?'


def quoted():
    """Spans of code that are sentences: words, and small letters first."""
    spans = re.findall(r"`([^`]+)`", re.sub(
        r"```.*?```", "", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL))
    found = [" ".join(span.split()) for span in spans]
    return [span for span in found
            if re.match(r"(… |ClickHouse |BigQuery |[a-z][\w.,]* )", span)
            and span.count(" ") >= 2 and not re.search("=|--", span)]


def texts():
    """The literals of all sources, as the compiler joins them."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            source = path.read_text(encoding="utf-8")
            yield re.sub(r'"[\s\\]*(?:PRI[a-z]\d+\s*)?"', "", source)


@pytest.fixture(scope="module")
def sources():
    return "\n".join(texts())


def test_there_are_reasons():
    assert len(quoted()) > 20


@pytest.mark.parametrize("reason", quoted())
def test_each_reason_is_in_the_code(sources, reason):
    parts = [re.escape(part.strip()) for part in reason.split("…")]
    pattern = INSERTED.join(part for part in parts if part)
    assert re.search(pattern, sources), reason

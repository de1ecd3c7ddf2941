"""docs/troubleshooting.md and docs/exit-codes.md explain each code that the sources
can print, and none that they cannot. Its messages stand there in the words of the sources."""

import pathlib
import re

import pytest

import printed_codes

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "troubleshooting.md"
# Text for which a name, a number or a word in quotes stands.
INSERTED = r'.{0,90}?'
# Messages that the sources put together, and pieces of them.
PIECES = {"… is not allowed; allowed: …": ['" is not %s;%s', "allowed"]}


def sections(level, text):
    """The parts of a text below its headings of a level, by their titles."""
    parts = re.split(rf"^#{{{level}}} (.*)$", text, flags=re.M)
    assert len(set(parts[1::2])) == len(parts[1::2]), "a heading comes twice"
    return dict(zip(parts[1::2], parts[2::2]))


def rows(text):
    """The cells of the tables of a text, without their heads."""
    lines = [line.replace(r"\|", "¦") for line in text.split("\n") if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = {i + at for i, row in enumerate(cells) if set(row[0]) == {"-"} for at in (-1, 0)}
    return [row for i, row in enumerate(cells) if i not in heads]


def spans(text):
    return re.findall(r"`([^`]+)`", text)


PARTS = sections(2, PAGE.read_text("utf-8"))
MADE = "Unreachable, denied and the like"
CODES = sections(3, PARTS["Codes of check"])
MESSAGES = sections(3, PARTS["Messages"])


def severities(text):
    """The first words of a code's part, as *error, warning.*"""
    found = re.match(r"\s*\*([a-z, ]+)\.\*", text)
    return set(found.group(1).split(", ")) if found else set()


def explained():
    """Each code of the page with its severities."""
    found = {code: severities(text) for code, text in CODES.items() if code != MADE}
    for row in rows(CODES[MADE]):
        for code in spans(row[0]):
            if "-" in code:
                found.setdefault(code, set()).add("error")
    return found


@pytest.fixture(scope="module")
def printed():
    return printed_codes.problem_codes()


def test_the_search_finds_codes_on_every_way(printed):
    """A literal, a macro, a field, a parameter, both, and a code that is made."""
    for code in ("no-key", "mark-notation", "target-loaded-twice", "sequence-spent",
                 "view-exists", "identity-incomplete", "append-only",
                 "destination-unreachable"):
        assert code in printed, code
    assert printed["missing-rights"] == {"error", "warning", "info"}


def test_each_code_is_explained(printed):
    assert set(explained()) == set(printed)


def test_each_code_has_its_severities(printed):
    assert explained() == printed


def test_codes_are_in_the_order_of_the_alphabet():
    codes = [code for code in CODES if code != MADE]
    assert codes == sorted(codes)


@pytest.mark.parametrize("code", [code for code in CODES if code != MADE])
def test_each_code_says_more_than_its_name(code):
    assert len(CODES[code].split()) >= 15


def test_each_exit_status_and_kind_is_explained():
    page = sections(2, (DOCS / "exit-codes.md").read_text("utf-8"))
    found = [(spans(row[1])[0], int(row[0])) for row in rows(page["Codes"])]
    assert sorted(found) == sorted(printed_codes.kinds().values())


def test_each_code_of_the_api_is_explained():
    found = [spans(row[0])[0] for row in rows(PARTS["Codes of the HTTP API"])]
    assert found == sorted(printed_codes.http_codes())


def own_messages():
    """Messages of Tidemark, not those of servers."""
    return [span for title, text in MESSAGES.items() if title != "Words of the servers"
            for row in rows(text) for span in spans(row[0])]


@pytest.fixture(scope="module")
def texts():
    return "\n".join(printed_codes.literal_texts())


def test_there_are_messages():
    assert len(own_messages()) >= 30


@pytest.mark.parametrize("message", own_messages())
def test_each_message_is_in_the_sources(texts, message):
    if message in PIECES:
        assert all(piece in texts for piece in PIECES[message]), message
        return
    parts = [part.strip() for part in message.split("…") if part.strip()]
    assert sum(map(len, parts)) >= 12, "too little to be found by"
    found = re.search(INSERTED.join(map(re.escape, parts)), texts)
    assert found, message


def test_links_within_the_page_lead_somewhere():
    text = PAGE.read_text("utf-8")
    anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
               for title in re.findall(r"^#+ (.*)$", text, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= anchors

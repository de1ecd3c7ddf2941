"""docs/logs.md and docs/metrics.md have what a live Tidemark writes, and nothing
else."""

import pathlib
import re

import json_outputs
import printed_codes
from test_metrics_file import place, served  # noqa: F401
from test_serve_http import Client
from test_serve import stop

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def rows(page, heading):
    """The cells of the table below a heading, without its head."""
    text = (DOCS / page).read_text(encoding="utf-8")
    part = re.split(r"(?m)^## ", text.split(f"\n## {heading}\n", 1)[1])[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in lines[2:]]


def spans(cell):
    return re.findall(r"`([^`]+)`", cell)


def documented_metrics():
    """Type and labels by name."""
    return {spans(row[0])[0]: (row[1], set(spans(row[2])))
            for row in rows("metrics.md", "Metrics")}


def told_types(text):
    """Type by name, in the older form of Prometheus."""
    return dict(re.findall(r"(?m)^# TYPE (\S+) (\S+)$", text))


def told_labels(text):
    """The sets of labels of each metric that has samples."""
    found = {}
    for name, labels in re.findall(r"(?m)^(\w+)(?:\{(.*)\})? ", text):
        name = re.sub(r"_(bucket|sum|count)$", "", name)
        found.setdefault(name, set()).update(
            label for label in re.findall(r'(\w+)="', labels) if label != "le")
    return found


def check_metrics(text, wanted):
    types = told_types(text)
    assert types == {name: "gauge" if kind == "info" else kind
                     for name, (kind, _) in wanted.items()}
    for name, labels in told_labels(text).items():
        assert labels == wanted[name][1], name


def test_metrics(tidemark, served, place):
    wanted = documented_metrics()
    tidemark.top["serve"] = {"listen": "127.0.0.1:0"}
    tidemark.write_config()
    running = tidemark.start("serve")
    check_metrics(Client(running)("/metrics")[1], wanted)
    stop(running)
    tidemark("run", "--metrics-file", str(place))
    del wanted["tidemark_store_up"]
    check_metrics(place.read_text(encoding="utf-8"), wanted)


def test_metrics_with_labels_of_the_sources():
    """Also those that a quiet pipeline does not have."""
    text = printed_codes.source_of("core/serve/metrics.c").text
    labels = set(re.findall(r'metrics_int\(m, "[^"]*",\s*[^,]+,\s*"(\w+)"', text)) \
        | set(re.findall(r'metrics_codes\(&m, "\w+", "(\w+)"', text)) \
        | set(re.findall(r'metrics_int\(m, "", item, "(\w+)"', text))
    wanted = {label for _, found in documented_metrics().values()
              for label in found}
    assert labels - {"le"} == wanted - {"pipeline", "version"}


def events_of_the_sources():
    found = set()
    for source in printed_codes.sources():
        for match in re.finditer(r"struct log_event\b[^;]*?;", source.text):
            found.update(word for word in printed_codes.STRING.findall(match[0])
                         if re.fullmatch(r"[a-z]+_?[a-z]+(_[a-z]+)*", word))
    return found


def test_events():
    events = {spans(row[0])[0]: row for row in rows("logs.md", "Events")}
    assert set(events) == events_of_the_sources()
    schema = json_outputs.schema("log")
    fixed = schema["required"]
    assert fixed == [name for row in rows("logs.md", "JSON and logfmt")
                     for name in spans(row[0])]
    told = {key for row in events.values() for key in spans(row[3])}
    assert told == set(schema["properties"]) - set(fixed)

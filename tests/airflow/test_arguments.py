"""Arguments that templates and XComs make: none silently means another task."""

import pytest

import workload
from airflow_provider_tidemark.backfill import (TidemarkBackfillOperator,
                                                TidemarkChunkOperator,
                                                TidemarkFinishBackfillOperator,
                                                TidemarkPlanBackfillOperator)
from airflow_provider_tidemark.hook import TidemarkHook
from airflow_provider_tidemark.operators import (TidemarkRunOperator,
                                                 TidemarkVerifyOperator)
from bench import sync_items


@pytest.fixture
def program(connect, tidemark_failpoints, tmp_path):
    """In the place of Tidemark's: it notes its words, one a line."""
    path = tmp_path / "tidemark"
    path.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$0.words"\necho "{}"\n')
    path.chmod(0o755)
    connect(str(path), config=tidemark_failpoints.config)
    tidemark_failpoints.write_config()
    return path


@pytest.mark.parametrize("kind", [TidemarkRunOperator, TidemarkVerifyOperator])
@pytest.mark.parametrize("given", [[], (), None, "", [""], ["orders", None],
                                   {"a": 1}, ["a\0b"], ["\ud800"], True])
def test_no_pipelines_are_not_all(airflow, program, kind, given):
    """Such as a list in an XCom: nobody has asked for all of the config."""
    ended = airflow(kind, pipelines=given).expect("failed")
    assert "$ tidemark" not in ended.log and str(ended.why)
    assert not (program.parent / "tidemark.words").exists()


@pytest.mark.parametrize("given, words", [
    ("*", []), (["*"], []), (7, ["7"]), ({"one"}, ["one"]),
    (iter(["a b", "-x", "größe"]), ["a b", "-x", "größe"]),
])
def test_pipelines_that_are_meant(airflow, program, given, words):
    airflow(TidemarkRunOperator, pipelines=given,
            flags=["--jobs", 8]).expect("success")
    said = (program.parent / "tidemark.words").read_text().splitlines()
    assert said[said.index("--jobs"):] == ["--jobs", "8", "--", *words]


@pytest.mark.parametrize("kind, given", [
    (TidemarkRunOperator, {"pipelines": "{{ it }}"}),
    (TidemarkRunOperator, {"config": "{{ it }}"}),
    (TidemarkRunOperator, {"directory": "{{ it }}"}),
    (TidemarkRunOperator, {"flags": "{{ it }}"}),
    (TidemarkVerifyOperator, {"max_deletes": "{{ it }}"}),
    (TidemarkVerifyOperator, {"since": "{{ it }}"}),
    (TidemarkBackfillOperator, {"pipeline": "a", "from_value": "{{ it }}"}),
    (TidemarkPlanBackfillOperator, {"pipeline": "a", "to_value": "{{ it }}"}),
    (TidemarkPlanBackfillOperator, {"pipeline": "{{ it }}"}),
    (TidemarkChunkOperator, {"chunk": "{{ it }}"}),
    (TidemarkFinishBackfillOperator, {"pipeline": "{{ it }}", "chunks": []}),
])
def test_a_template_that_comes_out_empty(airflow, program, kind, given):
    """It would be another window, another config, or all pipelines."""
    task = airflow.operator(kind, **given)
    ended = airflow.run(task, it="").expect("failed")
    name = next(name for name, value in given.items() if value == "{{ it }}")
    assert name in str(ended.why) and "$ tidemark" not in ended.log


def test_none_from_an_xcom(airflow, program):
    """In a DAG with render_template_as_native_obj, or from another task."""
    task = airflow.operator(TidemarkBackfillOperator, pipeline="a",
                            from_value="{{ it }}")
    task.get_dag().render_template_as_native_obj = True
    ended = airflow.run(task, it=None).expect("failed")
    assert "from_value: empty, although given" in str(ended.why)


def test_a_relative_config(connect, tidemark_failpoints, source,
                           make_destination, airflow, tmp_path, monkeypatch):
    """It begins in the directory to run in, not where the worker was started."""
    tidemark = tidemark_failpoints
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("postgres"), "sequence")
    place = tmp_path / "with space"
    place.mkdir()
    tidemark.write_config()
    (place / "my config.yaml").write_bytes(
        open(tidemark.config, "rb").read())
    monkeypatch.chdir(tmp_path)
    connect(tidemark.binary, directory=str(place), config="my config.yaml")
    ended = airflow(TidemarkRunOperator).expect("success")
    assert ended.returned["rows_read"] == 3
    connect(tidemark.binary, config="with space/my config.yaml")
    assert TidemarkHook().call("check").code == 0

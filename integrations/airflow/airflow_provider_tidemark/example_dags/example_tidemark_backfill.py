"""Load a window once more, one chunk a task. Start it by hand."""

from __future__ import annotations

from datetime import datetime

from airflow import DAG

from airflow_provider_tidemark.backfill import tidemark_backfill

with DAG(
    "example_tidemark_backfill",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    params={"first": "2026-01-01", "behind_last": "2026-02-01"},
    tags=["tidemark"],
):
    tidemark_backfill(
        pipeline="orders",
        config="/srv/shop/tidemark.yaml",
        from_value="{{ params.first }}",
        to_value="{{ params.behind_last }}",
        chunk_rows=250_000,
        again=True,
        at_once=8,
        asset="tidemark://tidemark_default/orders",
    )

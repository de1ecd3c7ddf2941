"""Keep all tables of a config equal, and run a DAG for those that got rows."""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow import DAG

from airflow_provider_tidemark.operators import TidemarkRunOperator

with DAG(
    "example_tidemark_schedule",
    schedule=timedelta(minutes=10),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["tidemark"],
):
    # The config may have a wildcard such as `tables: "public.*"`. Each table
    # that got rows is an event of tidemark://tidemark_default/TABLE.
    TidemarkRunOperator(
        task_id="run",
        config="/srv/shop/tidemark.yaml",
        asset_alias="shop",
        retries=3,
        retry_delay=timedelta(minutes=1),
    )

"""Compare all tables each night, mend what differs, and remove deleted rows."""

from __future__ import annotations

from datetime import datetime

from airflow import DAG

from airflow_provider_tidemark.operators import TidemarkVerifyOperator

with DAG(
    "example_tidemark_verify",
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    tags=["tidemark"],
):
    # It fails only if rows differ that cannot be mended, or if more rows are to
    # be deleted than max_deletes allows.
    TidemarkVerifyOperator(
        task_id="verify",
        config="/srv/shop/tidemark.yaml",
        repair=True,
        deletes="apply",
        max_deletes="1%",
        retries=2,
    )
